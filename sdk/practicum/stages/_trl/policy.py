"""A model in this process as a `Sampler`: many turns at once, in its own numbers, with its own log-probabilities.

What was read is remembered: a conversation that goes on costs its new tokens alone. The memory belongs to one
`LocalPolicy`; whoever changes the weights makes another, or else the old weights would speak.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from practicum.codecs.codec import Codec, Piece
from practicum.stages._trl import libraries
from practicum.stages._trl.attention import check_attention
from practicum.stages._trl.memory import Memory
from practicum.stages._trl.models import Loaded, tokenise
from practicum.stages.sampler import Drawn


@dataclass
class _Turn:
    """A turn while it is drawn.

    Attributes:
        row: its conversation's row in the memory.
        room: the most tokens that it may have.
    """

    row: int
    room: int
    ids: list[int]
    logprobs: list[float]
    closed: bool = False

    @property
    def going(self) -> bool:
        return not self.closed and len(self.ids) < self.room


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

        Raises:
            ConfigurationError: the model attends in a way that is not known here.
        """
        check_attention(loaded)
        self._loaded = loaded
        self._version = version
        self._temperature = temperature
        self._turn_tokens = turn_tokens
        self._memory: Memory | None = None
        device = loaded.model.device
        self._generator = libraries.torch().Generator(device=device).manual_seed(seed)
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
        """What sampled tokens say, without control tokens other than the marks that its codec reads."""
        tokenizer = self._loaded.tokenizer
        silent = set(tokenizer.all_special_ids) - set(tokenizer.convert_tokens_to_ids(list(self.codec.marks)))
        kept = [token for token in ids if token not in silent]
        text: str = tokenizer.decode(kept, skip_special_tokens=False, clean_up_tokenization_spaces=False)
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
        memory, rows, logits = self._read(prompts)
        room = [min(self._turn_tokens, self.context - len(prompt)) for prompt in prompts]
        turns = [_Turn(row, most, [], []) for row, most in zip(rows, room, strict=True)]
        going = turns
        while going:
            self._draw(logits, going)
            # A turn that is over is not carried along until the longest one is.
            going = [turn for turn in going if turn.going]
            if going:
                logits = memory.after([turn.row for turn in going], [turn.ids[-1:] for turn in going])
        return tuple(Drawn(tuple(turn.ids), tuple(turn.logprobs), turn.closed) for turn in turns)

    def _draw(self, logits: Any, turns: Sequence[_Turn]) -> None:
        """Draw the next token of each turn."""
        torch = libraries.torch()
        plain = torch.log_softmax(logits.float(), dim=-1)
        if self._temperature:
            shares = torch.softmax(logits.float() / self._temperature, dim=-1).cumsum(-1)
            # A point in (0, 1] of the whole falls into a token's share, never into a token without one.
            point = 1 - torch.rand((len(turns), 1), generator=self._generator, device=shares.device)
            drawn = torch.searchsorted(shares, point * shares[:, -1:])
        else:
            drawn = plain.argmax(-1, keepdim=True)
        likely: list[float] = plain.gather(-1, drawn)[:, 0].tolist()
        found: list[int] = drawn[:, 0].tolist()
        for turn, token, logprob in zip(turns, found, likely, strict=True):
            turn.ids.append(token)
            turn.logprobs.append(logprob)
            turn.closed = token in self._loaded.stops

    def _read(self, prompts: Sequence[tuple[int, ...]]) -> tuple[Memory, list[int], Any]:
        """Read what is new in the prompts: where they are remembered, their rows, and the logits after each."""
        rows = self._known(prompts)
        if rows is not None and self._memory is not None:
            memory = self._memory
            added = [prompt[len(memory.read[row]) :] for prompt, row in zip(prompts, rows, strict=True)]
            return memory, rows, memory.after(rows, added)
        # What all share is read once, what a group shares once, and then the rest.
        distinct = list(dict.fromkeys(prompts))
        memory = self._memory = Memory(self._loaded, distinct)
        begun = len(memory.read[0])
        logits = memory.after(range(len(distinct)), [prompt[begun:] for prompt in distinct])
        places = [distinct.index(prompt) for prompt in prompts]
        memory.select(places)
        return memory, list(range(len(prompts))), logits[libraries.torch().tensor(places, device=logits.device)]

    def _known(self, prompts: Sequence[tuple[int, ...]]) -> list[int] | None:
        """For each prompt a row of its own that it goes on from; None unless all of them go on."""
        if self._memory is None:
            return None
        free: dict[tuple[int, ...], list[int]] = {}
        for row, tokens in enumerate(self._memory.read):
            free.setdefault(tuple(tokens), []).append(row)
        lengths = sorted({len(tokens) for tokens in free}, reverse=True)
        rows: list[int] = []
        for prompt in prompts:
            found = next((free[prompt[:n]] for n in lengths if n < len(prompt) and free.get(prompt[:n])), None)
            if found is None:
                return None
            rows.append(found.pop())
        return rows
