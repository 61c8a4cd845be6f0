"""The entries that a step consists of: a turn or chat call begun, how it was answered, how the calls of tools ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from sqlalchemy import Connection, Table, bindparam, func, select

from practicum.contracts.base import utc_now
from practicum.contracts.episodes import EpisodeStatus
from practicum.contracts.models import Attempt
from practicum.contracts.tools import CallStatus
from practicum.errors import EpisodeError
from practicum_gateway.record.call_rows import Answered, chat_row, own_row
from practicum_gateway.record.journal import Owner, Page
from practicum_gateway.record.lineage import (
    ACCEPTED,
    CALLS,
    DRAWN,
    HEADS_OF_STEP,
    HEADS_SPOKEN,
    NOTHING,
    Before,
    Spoken,
    before_chat,
    before_step,
    own_place,
    place,
)
from practicum_gateway.record.tokens import TokenMemory
from practicum_gateway.store.prepared import Ask, Prepared, Written
from practicum_gateway.store.record_tables import MessageRow

_LINES = cast("Table", MessageRow.__table__)
_AT_STEP = (CALLS.c.episode == bindparam("of"), CALLS.c.step == bindparam("at"))
_TRIES = Prepared(select(func.count().label("made")).where(*_AT_STEP))
_TAKEN = Prepared(select(CALLS.c.id).where(*_AT_STEP, ACCEPTED))
_STATUS = Prepared(
    select(_LINES.c.status).where(_LINES.c.episode == bindparam("of"), _LINES.c.position == bindparam("at"))
)
_ENDED = frozenset(status.value for status in EpisodeStatus if status.ended)


@dataclass(frozen=True, slots=True)
class TurnBegun:
    """An own turn is begun; gives which try of its step it is, and what it continues.

    It need not last by itself: the answer will, and what was written before that lasts with it.

    Attributes:
        episode: the episode.
        step: its step.
        attempt: which try of the step it is, as far as the caller knows.
        memory: of tokens.
    """

    lasting: ClassVar[bool] = False
    episode: str
    step: int
    attempt: int
    memory: TokenMemory

    def asks(self) -> Sequence[Ask]:
        """How often it was tried, and what it continues."""
        tries = (_TRIES, {"of": self.episode, "at": self.step})
        return (tries, (HEADS_OF_STEP, {"of": self.episode, "at": self.step - 1})) if self.step else (tries,)

    def write(self, connection: Connection, owner: Owner, found: Sequence[list[Any]], page: Page) -> tuple[int, Before]:
        """Place it on a page."""
        number = max(self.attempt, found[0][0].made + 1)
        before = before_step(connection, self.memory, found[1]) if self.step else NOTHING
        page.event(owner, "turn.started", self.step, {"attempt": number})
        return number, before


@dataclass(frozen=True, slots=True)
class ChatBegun:
    """A chat call is begun; gives its running number, from 0, and what it continues by its messages.

    Attributes:
        episode: the episode.
        spoken: its conversation.
        memory: of tokens.
    """

    lasting: ClassVar[bool] = False
    episode: str
    spoken: Spoken
    memory: TokenMemory

    def asks(self) -> Sequence[Ask]:
        """The calls whose conversation ends with the last answer in this one."""
        return tuple((HEADS_SPOKEN, {"of": self.episode, "mark": mark}) for mark in self.spoken.marks[-1:])

    def write(self, connection: Connection, owner: Owner, found: Sequence[list[Any]], page: Page) -> tuple[int, Before]:
        """Place it on a page."""
        heads = found[0] if found else ()
        before = before_chat(connection, self.memory, self.episode, self.spoken, heads)
        # Tool calls made before the first chat call share step 0 with it, so they go on being counted there.
        owner.placed = owner.placed if owner.chats == 0 else 0
        owner.chats += 1
        page.event(owner, "turn.started", owner.chats - 1, {"attempt": 1})
        return owner.chats - 1, before


@dataclass(frozen=True, slots=True)
class TurnAnswered:
    """An own turn is answered, and accepted if the episode can still go on with it; gives its standing.

    Attributes:
        episode: the episode.
        answered: the attempt.
        before: the call it continues.
        position: where its message goes in the transcript.
    """

    lasting: ClassVar[bool] = True
    episode: str
    answered: Answered
    before: Before
    position: int

    def asks(self) -> Sequence[Ask]:
        """Whether its step was taken already."""
        return ((_TAKEN, {"of": self.episode, "at": self.answered.call.step}),)

    def write(self, connection: Connection, owner: Owner, found: Sequence[list[Any]], page: Page) -> Attempt:
        """Place it on a page; accepting and appending the message to the transcript are one."""
        _ = connection
        answered, step = self.answered, self.answered.call.step
        row = own_row(self.episode, answered, own_place(answered.tokens, self.before))
        if owner.status in _ENDED or found[0]:
            page.calls.append(row | {"standing": Attempt.SUPERSEDED})
            return Attempt.SUPERSEDED
        if owner.chats:
            raise EpisodeError("The episode is driven by an agent's own chat calls; it has no turns.")
        page.calls.append(row | {"standing": Attempt.ACCEPTED})
        page.lines.append(_line(self.episode, self.position, answered.response, step))
        page.event(owner, "turn.finished", step, answered.event)
        return Attempt.ACCEPTED


@dataclass(frozen=True, slots=True)
class CallOver:
    """A chat call is answered or failed, or an own turn failed; gives its standing.

    Attributes:
        episode: the episode.
        answered: the call.
        before: what it continues.
        memory: of tokens; None for an own turn, of which the parent is known.
    """

    lasting: ClassVar[bool] = True
    episode: str
    answered: Answered
    before: Before
    memory: TokenMemory | None = None

    def asks(self) -> Sequence[Ask]:
        """The calls that a chat call could continue by its tokens."""
        tokens = self.answered.tokens
        if self.memory is None or tokens is None or not tokens.sampled.prompt_ids:
            return ()
        return ((DRAWN, {"of": self.episode, "most": len(tokens.sampled.prompt_ids)}),)

    def write(self, connection: Connection, owner: Owner, found: Sequence[list[Any]], page: Page) -> Attempt:
        """Place it on a page, and in the graph."""
        call, tokens = self.answered.call, self.answered.tokens
        if self.memory is None:
            row = own_row(self.episode, self.answered, own_place(tokens, self.before))
        else:
            where = place(connection, self.memory, tokens, self.before, found[0] if found else ())
            row = chat_row(self.episode, self.answered, where, asked=self.before.asked)
        if owner.status in _ENDED:
            # Nothing follows the event of an episode's end, and nothing that came after it was accepted.
            late = Attempt.SUPERSEDED if call.standing is Attempt.ACCEPTED else call.standing
            page.calls.append(row | {"standing": late})
            return late
        page.calls.append(row)
        page.event(owner, "turn.failed" if call.response is None else "turn.finished", call.step, self.answered.event)
        return call.standing


@dataclass(frozen=True, slots=True)
class CallPlaced:
    """A tool call made with an episode key; gives the latest chat call and its number since then.

    It need not last by itself: a call that does names it, and what was written before that lasts with it.
    """

    lasting: ClassVar[bool] = False
    episode: str

    def asks(self) -> Sequence[Ask]:
        """Nothing."""
        return ()

    def write(self, connection: Connection, owner: Owner, found: Sequence[list[Any]], page: Page) -> tuple[int, int]:
        """Count it."""
        _ = connection, found, page
        owner.placed += 1
        return max(owner.chats - 1, 0), owner.placed - 1


@dataclass(frozen=True, slots=True)
class CallSettled:
    """A call of an own turn has ended; gives the status that stands, which is the first.

    Attributes:
        episode: the episode.
        position: the place kept for it in the transcript.
        message: what the model is told.
        step: the step of its turn.
        call: its index within the turn.
        status: how it ended.
        observation: what the gateway itself answered, where no system did.
    """

    lasting: ClassVar[bool] = True
    episode: str
    position: int
    message: Written
    step: int | None
    call: int
    status: CallStatus
    observation: Written | None

    def asks(self) -> Sequence[Ask]:
        """Whether it is settled already."""
        return ((_STATUS, {"of": self.episode, "at": self.position}),)

    def write(self, connection: Connection, owner: Owner, found: Sequence[list[Any]], page: Page) -> CallStatus:
        """Place it on a page."""
        _ = connection, owner
        if found[0]:
            return CallStatus(found[0][0].status or self.status)
        line = _line(self.episode, self.position, self.message, self.step)
        line.update(call=self.call, status=self.status, observation=self.observation)
        page.lines.append(line)
        return self.status


def _line(episode: str, position: int, message: Written | None, step: int | None) -> dict[str, Any]:
    return {
        "episode": episode,
        "position": position,
        "message": message,
        "step": step,
        "call": None,
        "status": None,
        "observation": None,
        "created": utc_now(),
    }
