"""Rows one behind the other, after one copy of the tokens with which all of them begin.

Nothing is padded and nothing is read twice: each row sees the common beginning and its own past, as if it stood alone.
For rows of a step, which share the system message with its tools, that is a third of the work.
"""

from dataclasses import dataclass
from typing import Any

from practicum.stages._trl import libraries
from practicum.stages._trl.attention import Attend, attending
from practicum.stages._trl.models import Loaded

LONG = 1 << 16
"""Pairs of tokens in one row's attention from which on it is computed twice instead of kept."""


@dataclass(frozen=True)
class Pack:
    """Rows as one sequence.

    Attributes:
        ids: their tokens, of shape (1, tokens).
        positions: the position of each within its own row.
        shared: how many of them are the common beginning.
        spans: where each row's own tokens begin and end.
    """

    ids: Any
    positions: Any
    shared: int
    spans: tuple[tuple[int, int], ...]

    def before(self, row: int, place: int) -> int:
        """Where the token stands that precedes a place of a row."""
        return place - 1 if place <= self.shared else self.spans[row][0] + place - 1 - self.shared


def pack(ids: Any, attention: Any, shared: int) -> Pack:
    """Put rows that are padded on the right behind one copy of their common beginning."""
    torch = libraries.torch()
    lengths: list[int] = attention.sum(1).tolist()
    parts, positions, spans = [ids[0, :shared]], [torch.arange(shared)], list[tuple[int, int]]()
    end = shared
    for row, length in enumerate(lengths):
        parts.append(ids[row, shared:length])
        positions.append(torch.arange(shared, length))
        spans.append((end, end + length - shared))
        end += length - shared
    return Pack(torch.cat(parts)[None], torch.cat(positions)[None].to(ids.device), shared, tuple(spans))


def shared_length(ids: Any, attention: Any, wanted: Any) -> int:
    """How many tokens all rows begin with, none of them wanted."""
    alike = ((ids == ids[:1]) & attention.bool() & ~wanted.bool()).all(0)
    different = (~alike).nonzero()
    return int(different[0]) if len(different) else int(ids.shape[1])


def states(loaded: Loaded, packed: Pack) -> Any:
    """The model's last hidden state at each token of a pack."""
    with attending(loaded, _within(packed)):
        out = loaded.plain.base_model(input_ids=packed.ids, position_ids=packed.positions, use_cache=False)
    return out.last_hidden_state[0]


def _within(packed: Pack) -> Attend:
    """Attention of each row to the common beginning and to its own past."""
    torch = libraries.torch()
    futures: dict[tuple[int, int], Any] = {}

    def future(before: int, length: int, like: Any) -> Any:
        if (before, length) not in futures:
            hidden = torch.full((length, length), float("-inf"), device=like.device).triu(1)
            futures[before, length] = torch.cat([torch.zeros(length, before, device=like.device), hidden], 1)
        return futures[before, length]

    def attend(query: Any, key: Any, value: Any, before: int) -> Any:
        """Queries of several heads share a head of keys; what they weigh is summed in float32."""
        length, size = query.shape[1], query.shape[2]
        grouped = query.reshape(key.shape[0], -1, size)
        scores = (grouped @ key.transpose(1, 2)).float().view(key.shape[0], -1, length, key.shape[1])
        weights = torch.softmax(scores + future(before, length, scores), -1).to(value.dtype)
        return (weights.view(key.shape[0], -1, key.shape[1]) @ value).view(query.shape)

    def sparing(query: Any, key: Any, value: Any, before: int) -> Any:
        """What long rows weigh is computed again for the gradient: kept, it would fill the memory of a machine."""
        if not torch.is_grad_enabled() or query.shape[1] * key.shape[1] < LONG:
            return attend(query, key, value, before)
        again = torch.utils.checkpoint.checkpoint
        return again(attend, query, key, value, before, use_reentrant=False, preserve_rng_state=False)

    def each_row(_layer: int, query: Any, key: Any, value: Any) -> Any:
        query, key, value, shared = query[0], key[0], value[0], packed.shared
        shared_key, shared_value = key[:, :shared], value[:, :shared]
        outputs = [sparing(query[:, :shared], shared_key, shared_value, 0)] if shared else []
        for begin, end in packed.spans:
            if end > begin:
                keys = torch.cat([shared_key, key[:, begin:end]], 1)
                values = torch.cat([shared_value, value[:, begin:end]], 1)
                outputs.append(sparing(query[:, begin:end], keys, values, shared))
        return torch.cat(outputs, 1)[None]

    return each_row
