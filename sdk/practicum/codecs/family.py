"""What the codecs of the known chat templates share: the order of a conversation, thoughts, and how a turn is read."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from practicum.codecs.codec import Piece, Turn
from practicum.codecs.probe import hash_of
from practicum.codecs.reading import Found
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tools import Tool

Opening = tuple[tuple[Piece, ...], Sequence[Message]]
"""The beginning of a prompt, and the messages that it does not hold yet."""


class Family(ABC):
    """A codec of which only that is written down which one family does in its own way.

    Attributes:
        name: as registrations ask for it.
        stops: the control tokens that end a turn, the usual one first.
        marks: the control tokens within a turn.
        begins: the texts with which calls begin; where there are none, a turn that begins with one of `leads` may be
            calls from its first letter on.
        leads: see `begins`.
        thinking: the marks around a thought, with the white space that belongs to them; None for a family that does
            not think aloud.
    """

    name: str
    stops: tuple[str, ...]
    marks: tuple[str, ...] = ()
    begins: tuple[str, ...] = ()
    leads: tuple[str, ...] = ()
    thinking: tuple[str, str] | None = None

    @property
    def template_hash(self) -> str:
        """SHA-256 of what it renders for conversations with every kind of message, and of the grammar it holds to."""
        return hash_of(self)

    def render(self, messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[Piece, ...]:
        """The prompt of a conversation, up to where the assistant speaks next."""
        first = messages[0] if messages and messages[0].role == "system" else None
        system = "" if first is None else first.content or ""
        opening, rest = self._opening(system, tools, messages if first is None else messages[1:])
        before = "user" if len(rest) < len(messages) - (first is not None) else "system"
        return (*opening, *self._spoken(rest, before, names_of(messages)))

    def suffix(self, answer: Message, messages: Sequence[Message], *, ended: str | None) -> tuple[Piece, ...]:
        """What follows a sampled turn, up to where the assistant speaks next."""
        end = () if ended in self.stops else (self._broken_off(),)
        return (*end, *self._between(), *self._spoken(messages, "assistant", names_of((answer, *messages))))

    def turn(self, message: Message, thought: str | None = None) -> tuple[Piece, ...]:
        """An assistant's message as the model would have sampled it, the end of the turn included."""
        body = (*self._thought(thought), *self._said(message.content or "", message.tool_calls))
        return (*joined(body), Piece(self._stop(message), control=True))

    def parse(self, text: str, tools: Sequence[Tool], calls_before: int) -> Turn:
        """What a sampled turn says; what cannot be read as a call is kept as malformed."""
        thought, rest = self._parted(text)
        prose: list[str] = []
        calls: list[ToolCall] = []
        for part in self._read(rest, tools):
            if isinstance(part, str):
                prose.append(part)
            else:
                calls.append(part.call(f"call_{calls_before + len(calls) + 1}"))
        content = "".join(prose).strip()
        message = Message(role="assistant", content=content or (None if calls else ""), tool_calls=tuple(calls))
        return Turn(message, thought or None)

    def visible(self, text: str) -> str:
        """The part of a turn sampled so far that is surely text for the reader and no part of a thought or a call."""
        if self.thinking is not None and self.thinking[0].strip().startswith(text.lstrip()):
            return ""
        _, rest = self._parted(text)
        if any(lead.startswith(rest.lstrip()) or rest.lstrip().startswith(lead) for lead in self.leads):
            return ""
        cut = min((place for begin in self.begins if (place := rest.find(begin)) >= 0), default=len(rest))
        if cut == len(rest):
            cut -= max((_overlap(rest, begin) for begin in self.begins), default=0)
        return rest[:cut].strip()

    def grammar(self, tools: Sequence[Tool]) -> str | None:
        """None: what this family writes is not held to a grammar."""
        del tools
        return None

    @abstractmethod
    def _opening(self, system: str, tools: Sequence[Tool], rest: Sequence[Message]) -> Opening:
        """System message and tools; a family without a place for them puts them before the first user's words."""

    @abstractmethod
    def _heard(self, message: Message) -> Iterator[Piece]:
        """What a user says, or a system message that comes later."""

    @abstractmethod
    def _results(self, run: Sequence[Message], names: Mapping[str, str]) -> Iterator[Piece]:
        """The results of calls that follow each other.

        Args:
            run: the messages.
            names: the tools' names by the ids of the calls.
        """

    @abstractmethod
    def _answering(self, before: str) -> tuple[Piece, ...]:
        """What stands before an assistant's turn, after a message of this role."""

    @abstractmethod
    def _said(self, content: str, calls: Sequence[ToolCall]) -> Iterator[Piece]:
        """Words and calls of a turn."""

    @abstractmethod
    def _read(self, text: str, tools: Sequence[Tool]) -> Iterator[Found | str]:
        """The calls and the prose of a turn without its thought."""

    def _stop(self, message: Message) -> str:
        del message
        return self.stops[0]

    def _broken_off(self) -> Piece:
        return Piece(self.stops[0], control=True)

    def _between(self) -> tuple[Piece, ...]:
        """What stands after the end of a turn."""
        return ()

    def _thought(self, thought: str | None) -> Iterator[Piece]:
        if thought is not None and self.thinking is not None:
            for mark, text in ((self.thinking[0], thought), (self.thinking[1], "")):
                yield from marked(mark, self.marks)
                yield Piece(text)

    def _parted(self, text: str) -> tuple[str | None, str]:
        """The thought, and what was said after it. A mark at the end without one at the beginning counts, too."""
        if self.thinking is None:
            return None, text
        opening, closing = (mark.strip() for mark in self.thinking)
        if text.lstrip().startswith(opening):
            head, _, tail = text.partition(closing)
            return head.lstrip().removeprefix(opening).strip(), tail
        if (ended := self._outside(closing, text)) is not None:
            return text[:ended].strip(), text[ended + len(closing) :]
        begun = self._outside(opening, text)
        if begun is not None and any(begin in text[begun:] for begin in self.begins):
            return text[begun + len(opening) :].strip(), text[:begun]
        return None, text

    def _outside(self, mark: str, text: str) -> int | None:
        """Where a mark stands that is no part of a call: within its arguments, it is text."""
        first = text.find(mark)
        if first < 0 or not any(begin in text[:first] for begin in self.begins):
            return first if first >= 0 else None
        place = -1
        for part in self._read(text, ()):
            for _ in range((part if isinstance(part, str) else part.text).count(mark)):
                place = text.find(mark, place + 1)
                if isinstance(part, str):
                    return place
        return None

    def _spoken(self, messages: Sequence[Message], before: str, names: Mapping[str, str]) -> Iterator[Piece]:
        for role, group in groupby(messages, key=lambda message: message.role):
            run = tuple(group)
            if role == "tool":
                yield from self._results(run, names)
            for message in run if role != "tool" else ():
                if role == "assistant":
                    yield from (*self._answering(before), *self.turn(message), *self._between())
                else:
                    yield from self._heard(message)
                before = role
            before = role
        yield from self._answering(before)


def names_of(messages: Sequence[Message]) -> dict[str, str]:
    """The tools' names by the ids of calls."""
    return {call.id: call.name for message in messages for call in message.tool_calls}


def control(*names: str) -> tuple[Piece, ...]:
    """Control tokens."""
    return tuple(Piece(name, control=True) for name in names)


def marked(text: str, marks: Sequence[str]) -> Iterator[Piece]:
    """A text in which control tokens stand, cut into pieces."""
    for mark in marks:
        before, found, after = text.partition(mark)
        if found:
            yield from marked(before, marks)
            yield Piece(mark, control=True)
            yield from marked(after, marks)
            return
    if text:
        yield Piece(text)


def joined(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Texts that follow each other as one, without empty ones."""
    for controls, group in groupby(pieces, key=lambda piece: piece.control):
        if controls:
            yield from group
        elif text := "".join(piece.text for piece in group):
            yield Piece(text)


def _overlap(text: str, begin: str) -> int:
    """How many letters of a mark a text may end with that goes on."""
    return next((length for length in range(min(len(begin) - 1, len(text)), 0, -1) if text.endswith(begin[:length])), 0)
