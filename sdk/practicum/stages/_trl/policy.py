"""A model in this process as a `Sampler`: many turns at once, in its own numbers, with its own log-probabilities.

What was read stays in a cache of keys and values. A conversation that goes on costs its new tokens alone, and the
beginning that several conversations share is read once. The cache belongs to one `LocalPolicy`; whoever changes the
weights makes another, or else the old weights would speak.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from practicum.codecs.codec import Codec, Piece
from practicum.stages._trl import libraries
from practicum.stages._trl.models import Loaded, tokenise
from practicum.stages.sampler import Drawn


@dataclass
class _Memory:
    """What was read so far, one row for each conversation.

    Attributes:
        cache: keys and values; conversations of different lengths leave holes in it.
        there: where a row has a token and no hole, of shape (rows, places).
        covered: the tokens of each row that were read.
    """

    cache: Any
    there: Any
    covered: list[tuple[int, ...]]


@dataclass
class _Turns:
    """Turns while they are drawn."""

    ids: list[list[int]]
    logprobs: list[list[float]]
    going: list[bool]
    closed: list[bool] = field(default_factory=list[bool])


class LocalPolicy:
    """Samples from a loaded model."""

    def __init__(self, loaded: Loaded, *, version: str, temperature: float, turn_tokens: int, seed: int) -> None:
        """Take the model as its weights are now.

        Args:
            loaded: the model.
            version: what trajectories call it.
            temperature: at which to draw; 0 takes the likeliest token.
            turn_tokens: the most tokens of one turn.
            seed: makes the draws repeatable.
        """
        torch = libraries.torch()
        self._loaded = loaded
        self._version = version
        self._temperature = temperature
        self._turn_tokens = turn_tokens
        self._memory: _Memory | None = None
        self._device = loaded.model.device
        self._generator = torch.Generator(device=self._device).manual_seed(seed)
        self._pieces: dict[Piece, tuple[int, ...]] = {}

    @property
    def codec(self) -> Codec:
        """How its conversations are rendered and read."""
        return self._loaded.codec

    @property
    def version(self) -> str:
        """What a trajectory records as the model's version."""
        return self._version

    @property
    def temperature(self) -> float:
        """At which it draws."""
        return self._temperature

    @property
    def context(self) -> int:
        """The most tokens that a prompt and its turn may have together."""
        return self._loaded.context

    def tokenise(self, pieces: Sequence[Piece]) -> tuple[int, ...]:
        """The ids of rendered pieces; a list of tools is the same for every task, so pieces are remembered."""
        for piece in pieces:
            if piece not in self._pieces:
                self._pieces[piece] = tokenise(self._loaded, (piece,))
        return tuple(token for piece in pieces for token in self._pieces[piece])

    def text(self, ids: Sequence[int]) -> str:
        """What sampled tokens say, without control tokens."""
        text: str = self._loaded.tokenizer.decode(
            list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text

    def sample(self, prompts: Sequence[tuple[int, ...]]) -> tuple[Drawn, ...]:
        """The next turn of each conversation."""
        torch, model = libraries.torch(), self._loaded.model
        was_training = model.training
        model.eval()
        try:
            with torch.no_grad(), self._loaded.computing():
                return self._sample(prompts)
        finally:
            model.train(was_training)

    def _sample(self, prompts: Sequence[tuple[int, ...]]) -> tuple[Drawn, ...]:
        logits = self._read(prompts)
        room = [min(self._turn_tokens, self.context - len(prompt)) for prompt in prompts]
        turns = _Turns([[] for _ in prompts], [[] for _ in prompts], [True] * len(prompts), [False] * len(prompts))
        while any(turns.going):
            tokens = self._draw(logits, turns, room)
            if any(turns.going):
                logits = self._forward([[token] if token is not None else [] for token in tokens])
        return tuple(
            Drawn(tuple(ids), tuple(logprobs), closed)
            for ids, logprobs, closed in zip(turns.ids, turns.logprobs, turns.closed, strict=True)
        )

    def _draw(self, logits: Any, turns: _Turns, room: Sequence[int]) -> list[int | None]:
        """Draw a token for each turn that goes on; None for the others and for one that it ended."""
        torch = libraries.torch()
        plain = torch.log_softmax(logits.float(), dim=-1)
        if self._temperature:
            shares = torch.softmax(logits.float() / self._temperature, dim=-1)
            # The first of so many clocks to ring: a draw by shares, several times as fast as `multinomial`.
            clocks = torch.empty_like(shares).exponential_(generator=self._generator)
            drawn = (shares / clocks).argmax(-1, keepdim=True)
        else:
            drawn = plain.argmax(-1, keepdim=True)
        likely: list[float] = plain.gather(-1, drawn)[:, 0].tolist()
        found: list[int] = drawn[:, 0].tolist()
        tokens: list[int | None] = [None] * len(found)
        for row, (token, logprob) in enumerate(zip(found, likely, strict=True)):
            if not turns.going[row]:
                continue
            turns.ids[row].append(token)
            turns.logprobs[row].append(logprob)
            turns.closed[row] = token == self._loaded.stop
            turns.going[row] = not turns.closed[row] and len(turns.ids[row]) < room[row]
            if turns.going[row]:
                tokens[row] = token
        return tokens

    def _read(self, prompts: Sequence[tuple[int, ...]]) -> Any:
        """Read what is new in the prompts; the logits after each of them."""
        rows = self._known(prompts)
        if rows is None:
            return self._read_anew(prompts)
        self._select(rows)
        covered = self._remembered.covered
        return self._forward([list(prompt[len(known) :]) for prompt, known in zip(prompts, covered, strict=True)])

    def _known(self, prompts: Sequence[tuple[int, ...]]) -> list[int] | None:
        """For each prompt the row that it goes on from; None unless all of them go on."""
        if self._memory is None:
            return None
        places = {covered: row for row, covered in enumerate(self._memory.covered)}
        lengths = sorted({len(covered) for covered in places}, reverse=True)
        rows: list[int] = []
        for prompt in prompts:
            found = next((places[prompt[:n]] for n in lengths if n < len(prompt) and prompt[:n] in places), None)
            if found is None:
                return None
            rows.append(found)
        return rows

    def _read_anew(self, prompts: Sequence[tuple[int, ...]]) -> Any:
        """Read prompts of which nothing is known: what all share once, what a group shares once, then the rest."""
        torch = libraries.torch()
        distinct = list(dict.fromkeys(prompts))
        shared = _common(distinct)
        self._memory = _Memory(
            libraries.transformers().DynamicCache(config=self._loaded.plain.config),
            torch.zeros((1, 0), dtype=torch.long, device=self._device),
            [()],
        )
        if shared:
            self._forward([list(distinct[0][:shared])])
        self._select([0] * len(distinct))
        logits = self._forward([list(prompt[shared:]) for prompt in distinct])
        rows = [distinct.index(prompt) for prompt in prompts]
        self._select(rows)
        return logits[torch.tensor(rows, device=self._device)]

    @property
    def _remembered(self) -> _Memory:
        if self._memory is None:
            raise RuntimeError("Nothing was read yet.")
        return self._memory

    def _select(self, rows: list[int]) -> None:
        """Keep these rows, in this order and as often as they are named."""
        memory = self._remembered
        if rows != list(range(len(memory.covered))):
            chosen = libraries.torch().tensor(rows, device=self._device)
            memory.cache.batch_select_indices(chosen)
            memory.there = memory.there[chosen]
            memory.covered = [memory.covered[row] for row in rows]

    def _forward(self, added: Sequence[list[int]]) -> Any:
        """Read more of each row; the logits after it, which say nothing for a row to which nothing was added."""
        torch, memory = libraries.torch(), self._remembered
        width = max(len(tokens) for tokens in added)
        # Padded on the left, so that every row's last token stands in the last place.
        ids = torch.tensor([[0] * (width - len(tokens)) + tokens for tokens in added], device=self._device)
        there = torch.tensor([[0] * (width - len(tokens)) + [1] * len(tokens) for tokens in added], device=self._device)
        before = memory.there.sum(1, keepdim=True)
        memory.there = torch.cat([memory.there, there], dim=1)
        places = (before + there.cumsum(1) - 1).clamp(min=0)
        backbone = self._loaded.plain.base_model
        hidden = backbone(
            input_ids=ids,
            attention_mask=memory.there,
            position_ids=places,
            use_cache=True,
            **_as_argument(backbone, memory.cache),
        ).last_hidden_state
        memory.covered = [(*known, *tokens) for known, tokens in zip(memory.covered, added, strict=True)]
        return self._loaded.plain.get_output_embeddings()(hidden[:, -1])


def _as_argument(backbone: Any, cache: Any) -> dict[str, Any]:
    """The cache as an argument of the model, whose name changed in the course of transformers 5."""
    forward: Any = backbone.forward
    return {"cache" if "cache" in inspect.signature(forward).parameters else "past_key_values": cache}


def _common(prompts: Sequence[tuple[int, ...]]) -> int:
    """How many tokens all begin with, one at least left of each."""
    first, shortest = prompts[0], min(len(prompt) for prompt in prompts)
    length = 0
    while length < shortest - 1 and all(prompt[length] == first[length] for prompt in prompts):
        length += 1
    return length
