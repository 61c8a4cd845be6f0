"""What a model has read of many conversations: keys and values of each layer.

What all conversations begin with is kept once and looked at by all of them in one product; what each went on with is
kept in a row of its own, without holes, however different their lengths.
"""

from collections.abc import Sequence
from typing import Any

from practicum.stages._trl import libraries
from practicum.stages._trl.attention import attending
from practicum.stages._trl.models import Loaded

_GROWTH = 64
"""Tokens by which the rows are made longer when they are full."""


class Memory:
    """Conversations under way, in the state of a model that does not change meanwhile."""

    def __init__(self, loaded: Loaded, prompts: Sequence[tuple[int, ...]]) -> None:
        """Begin conversations, of which nothing is read yet but what all of them begin with.

        Args:
            loaded: the model.
            prompts: how they begin, one row each; at least one token of each is left to read.
        """
        self._loaded = loaded
        self.device = loaded.model.device
        self._own: dict[int, tuple[Any, Any]] = {}
        self._shared: dict[int, tuple[Any, Any]] = {}
        common = list(prompts[0][: common_length(prompts)])
        self.read: list[list[int]] = [[]]
        if common:
            self.after([0], [common])
            self._shared = {layer: (keys[0], values[0]) for layer, (keys, values) in self._trimmed(len(common)).items()}
        self._own = {}
        self._begun = len(common)
        self.read = [list(common) for _ in prompts]

    def select(self, rows: Sequence[int]) -> None:
        """Keep these rows, in this order and as often as they are named."""
        chosen = libraries.torch().tensor(list(rows), device=self.device)
        self._own = {layer: (keys[chosen], values[chosen]) for layer, (keys, values) in self._own.items()}
        self.read = [list(self.read[row]) for row in rows]

    def after(self, rows: Sequence[int], added: Sequence[Sequence[int]]) -> Any:
        """Read more of some rows, at least a token of each.

        Returns:
            The logits after the last token of each.
        """
        torch = libraries.torch()
        passing = _Pass(self, rows, [len(tokens) for tokens in added])
        width = passing.width
        ids = torch.tensor([[0] * (width - len(tokens)) + list(tokens) for tokens in added], device=self.device)
        with attending(self._loaded, passing.attend):
            hidden = self._loaded.plain.base_model(
                input_ids=ids, position_ids=(passing.places + self._shared_length).clamp(min=0), use_cache=False
            ).last_hidden_state
        for row, tokens in zip(rows, added, strict=True):
            self.read[row] += tokens
        return self._loaded.plain.get_output_embeddings()(hidden[:, -1])

    @property
    def _shared_length(self) -> int:
        return next(iter(self._shared.values()))[0].shape[1] if self._shared else 0

    def _trimmed(self, length: int) -> dict[int, tuple[Any, Any]]:
        return {layer: (keys[:, :, :length], values[:, :, :length]) for layer, (keys, values) in self._own.items()}

    def own_length(self, row: int) -> int:
        """How many tokens of a row are its own."""
        return len(self.read[row]) - self._shared_length

    def shared(self, layer: int) -> tuple[Any, Any] | None:
        """Keys and values of what all begin with, of shape (heads, tokens, size)."""
        return self._shared.get(layer)

    def own(self, layer: int, like: Any, length: int) -> tuple[Any, Any]:
        """Keys and values of all rows, of shape (rows, heads, places, size), with room for so many tokens at least."""
        torch = libraries.torch()
        keys, values = self._own.get(layer, (None, None))
        have = 0 if keys is None else keys.shape[2]
        if have < length:
            more = (length - have + _GROWTH - 1) // _GROWTH * _GROWTH
            room = torch.zeros(
                (len(self.read), like.shape[1], more, like.shape[3]), dtype=like.dtype, device=like.device
            )
            keys = room if keys is None else torch.cat([keys, room], 2)
            values = room.clone() if values is None else torch.cat([values, room], 2)
            self._own[layer] = (keys, values)
        return keys, values


class _Pass:
    """One forward pass over new tokens of some rows, which stand in the last places of their line."""

    def __init__(self, memory: Memory, rows: Sequence[int], counts: Sequence[int]) -> None:
        torch = libraries.torch()
        device = memory.device
        self.width = max(counts)
        lengths = [memory.own_length(row) for row in rows]
        self._memory = memory
        self._rows = torch.tensor(list(rows), device=device)
        self._all = list(rows) == list(range(len(memory.read)))
        ahead = torch.arange(self.width, device=device)[None] - self.width
        first = torch.tensor([length + count for length, count in zip(lengths, counts, strict=True)], device=device)
        # The place of each token in its row; negative or taken where the line is filled up in front.
        self.places = first[:, None] + ahead
        self._new = self.places >= torch.tensor(lengths, device=device)[:, None]
        self._longest = int(first.max())
        seen = torch.arange(self._longest, device=device)[None, None] <= self.places.clamp(min=0)[..., None]
        self._hidden = torch.where(seen, 0.0, float("-inf"))[:, None, None]

    def attend(self, layer: int, query: Any, key: Any, value: Any) -> Any:
        """Attention to what all begin with and to the row's own past."""
        torch = libraries.torch()
        count, heads, width, size = query.shape
        keys, values = self._stored(layer, key, value)
        grouped = query.reshape(count, key.shape[1], -1, size)
        scores = (grouped @ keys.transpose(2, 3)).float().view(count, key.shape[1], -1, width, self._longest)
        scores = (scores + self._hidden).view(count, key.shape[1], -1, self._longest)
        if (shared := self._memory.shared(layer)) is None:
            return (torch.softmax(scores, -1).to(values.dtype) @ values).reshape(query.shape)
        together = grouped.transpose(0, 1).reshape(key.shape[1], -1, size)
        common = (together @ shared[0].transpose(1, 2)).float()
        common = common.view(key.shape[1], count, -1, common.shape[2]).transpose(0, 1)
        weights = torch.softmax(torch.cat([common, scores], -1), -1).to(values.dtype)
        begun, went_on = weights[..., : common.shape[3]], weights[..., common.shape[3] :]
        of_all = begun.transpose(0, 1).reshape(key.shape[1], -1, common.shape[3]) @ shared[1]
        of_all = of_all.view(key.shape[1], count, -1, size).transpose(0, 1)
        return (went_on @ values + of_all).reshape(count, heads, width, size)

    def _stored(self, layer: int, key: Any, value: Any) -> tuple[Any, Any]:
        """Put what is new into the rows; all that they hold then."""
        keys, values = self._memory.own(layer, key, self._longest)
        rows = self._rows[:, None].expand_as(self.places)[self._new]
        places = self.places[self._new]
        keys[rows, :, places] = key.transpose(1, 2)[self._new]
        values[rows, :, places] = value.transpose(1, 2)[self._new]
        if self._all:
            return keys[:, :, : self._longest], values[:, :, : self._longest]
        return keys[self._rows, :, : self._longest], values[self._rows, :, : self._longest]


def common_length(prompts: Sequence[tuple[int, ...]]) -> int:
    """How many tokens all begin with, one at least left of each."""
    first, shortest = prompts[0], min(len(prompt) for prompt in prompts)
    length = 0
    while length < shortest - 1 and all(prompt[length] == first[length] for prompt in prompts):
        length += 1
    return length
