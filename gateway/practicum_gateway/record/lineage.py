"""Which call another one continues: by the longest leading tokens where the server told them, else by the messages.

A parent is never guessed: where several calls fit equally well, there is none, and they are listed.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from sqlalchemy import Connection, Row, Table, bindparam, literal, select

from practicum.contracts.messages import Message
from practicum.contracts.models import Attempt, Disagreement, Link, ModelCall, Sampled
from practicum_gateway.record.canonical import fingerprints
from practicum_gateway.record.tokens import PackedTokens, TokenMemory, packed_ids, shared_ids, unpack
from practicum_gateway.store.record_tables import ModelCallRow

CALLS = cast("Table", ModelCallRow.__table__)
_OF = CALLS.c.episode == bindparam("of")
_ACCEPTED = CALLS.c.standing == Attempt.ACCEPTED
_HEAD = ("id", "model", "version", "toolset", "length", "ids_hash")
_HEADS = select(*(CALLS.c[name] for name in _HEAD)).where(_OF, _ACCEPTED)
_SPOKEN = _HEADS.where(CALLS.c.fingerprint.in_(bindparam("spoken", expanding=True)))
_OF_STEP = _HEADS.where(CALLS.c.step == bindparam("at"))
_DRAWN = select(CALLS.c.id, CALLS.c.length, CALLS.c.ids_length, CALLS.c.ids_hash).where(
    _OF, _ACCEPTED, CALLS.c.ids_length <= bindparam("most")
)
_KEPT = ("parent", "prompt_shared", "prompt_ids", "completion_ids", "logprobs")
_FIRST = (
    select(literal(0).label("depth"), *(CALLS.c[name] for name in _KEPT))
    .where(CALLS.c.id == bindparam("call"))
    .cte("chain", recursive=True)
)
_CHAIN = _FIRST.union_all(
    select(_FIRST.c.depth + 1, *(CALLS.c[name] for name in _KEPT))
    .join(_FIRST, CALLS.c.id == _FIRST.c.parent)
    .where(_FIRST.c.prompt_shared > 0)
)
_LINKS = select(_CHAIN).order_by(_CHAIN.c.depth.desc())


@dataclass(frozen=True, slots=True)
class Continued:
    """The call that another one continues by its messages.

    Attributes:
        call: its id.
        model: alias of the model that answered it.
        version: model and adapter version that answered it.
        toolset: digest of the tool definitions it was offered.
        covered: how many messages its conversation has, response included.
        sampled: its tokens, where the server gave them.
    """

    call: str
    model: str
    version: str
    toolset: str
    covered: int
    sampled: Sampled | None


@dataclass(frozen=True, slots=True)
class Before:
    """What is known before a model is asked: the calls whose conversation is the longest first part of this one.

    Attributes:
        calls: their ids; several where the same was asked and answered more than once.
        covered: how many messages the conversation of each has, response included.
        silent: those of them whose server told no tokens.
        one: the call, where there is exactly one.
        asked: fingerprint of the conversation that is asked; empty where it was not made.
    """

    calls: tuple[str, ...] = ()
    covered: int = 0
    silent: tuple[str, ...] = ()
    one: Continued | None = None
    asked: str = ""


NOTHING = Before()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call stands in the graph of its episode.

    Attributes:
        parent: the call it continues.
        by: by what that is known.
        candidates: the calls that it could continue equally well; there is no parent then.
        disagreement: where tokens and messages say otherwise.
        covered: how many leading messages are the parent's conversation.
        sampled: the parent's tokens.
    """

    parent: str | None = None
    by: Link | None = None
    candidates: tuple[str, ...] = ()
    disagreement: Disagreement | None = None
    covered: int = 0
    sampled: Sampled | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """A call whose tokens are the first ones of a prompt.

    Attributes:
        call: its id.
        covered: how many messages its conversation has, response included.
    """

    call: str
    covered: int


def before_step(connection: Connection, memory: TokenMemory, episode: str, step: int) -> Before:
    """What the turn of a step continues: the accepted turn of the step before."""
    return _before(connection, memory, connection.execute(_OF_STEP, {"of": episode, "at": step - 1}).all())


def before_chat(connection: Connection, memory: TokenMemory, episode: str, messages: Sequence[Message]) -> Before:
    """What a conversation continues: the calls whose conversation, response included, is its longest first part."""
    marks = list(fingerprints(messages))
    spoken = [mark for message, mark in zip(messages, marks, strict=True) if message.role == "assistant"]
    if not spoken:
        return NOTHING
    rows = connection.execute(_SPOKEN, {"of": episode, "spoken": spoken}).all()
    longest = max((row.length for row in rows), default=0)
    return replace(_before(connection, memory, [row for row in rows if row.length == longest]), asked=marks[-1])


def tokens_of(connection: Connection, memory: TokenMemory, call: str) -> Sampled | None:
    """The tokens of a call, put together from those of the calls it continues."""
    sampled = memory.get(call)
    if sampled is not None:
        return sampled
    for link in connection.execute(_LINKS, {"call": call}):
        sampled = unpacked(link, sampled)
    memory.keep(call, sampled)
    return sampled


def unpacked(row: Row[Any] | ModelCallRow, parent: Sampled | None) -> Sampled | None:
    """The tokens that a row holds beside those of its parent."""
    if row.prompt_ids is None or row.completion_ids is None or row.logprobs is None:
        return None
    return unpack(PackedTokens(row.prompt_shared, row.prompt_ids, row.completion_ids, row.logprobs), parent)


def token_hash(ids: Sequence[int]) -> str:
    """By which a call is known as the beginning of a later one's prompt."""
    return hashlib.sha256(packed_ids(ids)).hexdigest()


def own_place(call: ModelCall, before: Before) -> Place:
    """The place of an own turn, which continues the turn before it whatever the tokens say."""
    return Place() if before.one is None else _by_messages(call, before.one)


def place(connection: Connection, memory: TokenMemory, episode: str, call: ModelCall, before: Before) -> Place:
    """The place of a foreign agent's call, answered or failed.

    Args:
        connection: within the transaction that writes the call.
        memory: of tokens.
        episode: the episode.
        call: the call.
        before: what it continues by its messages.
    """
    fits: tuple[Fit, ...] = ()
    if call.sampled is not None and call.sampled.prompt_ids:
        fits = _fits(connection, episode, call.sampled.prompt_ids)
    found = decided(call, fits, before)
    if found.parent is None or (before.one is not None and found.parent == before.one.call):
        return found
    return Place(
        parent=found.parent,
        by=found.by,
        disagreement=found.disagreement,
        covered=found.covered,
        sampled=tokens_of(connection, memory, found.parent),
    )


def decided(call: ModelCall, fits: Sequence[Fit], before: Before) -> Place:
    """The place of a call, without its parent's tokens where messages alone do not name the parent. Pure.

    Args:
        call: the call.
        fits: the calls whose tokens are the longest first part of its prompt.
        before: what it continues by its messages.
    """
    if not fits:
        return _by_messages(call, before.one) if before.one is not None else Place(candidates=_sorted(before.calls))
    contenders = {fit.call: fit.covered for fit in fits}
    # Tokens cannot speak of a call whose server told none: it counts where its messages reach as far.
    if before.silent and before.covered >= fits[0].covered:
        heard = contenders if before.covered == fits[0].covered else {}
        contenders = heard | dict.fromkeys(before.silent, before.covered)
    # The same prompt may have been answered with the same tokens twice; the ids of tool calls can tell which is meant.
    meant = [one for one in contenders if one in before.calls]
    if len(contenders) > 1 and len(meant) != 1:
        return Place(candidates=_sorted(meant or contenders))
    (parent,) = meant if len(contenders) > 1 else contenders
    if before.one is not None and before.one.call == parent:
        return _by_messages(call, before.one)
    if parent in before.calls:
        return Place(parent, Link.MESSAGES if parent in before.silent else Link.TOKENS, covered=before.covered)
    return Place(parent, Link.TOKENS, disagreement=_disagreement(call, before.one))


def _sorted(calls: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(calls))


def _by_messages(call: ModelCall, one: Continued) -> Place:
    """The place of a call whose parent the messages name: by its tokens too, where these say the same."""
    by, disagreement = Link.MESSAGES, None
    if call.sampled is not None and one.sampled is not None and call.sampled.prompt_ids and one.sampled.prompt_ids:
        theirs = one.sampled.prompt_ids + one.sampled.completion_ids
        if call.sampled.prompt_ids[: len(theirs)] == theirs:
            by = Link.TOKENS
        else:
            disagreement = _disagreement(call, one)
    return Place(one.call, by, disagreement=disagreement, covered=one.covered, sampled=one.sampled)


def _disagreement(call: ModelCall, one: Continued | None) -> Disagreement:
    if one is None:
        return Disagreement(call=None)
    if call.sampled is None or one.sampled is None:
        return Disagreement(call=one.call)
    of = len(one.sampled.prompt_ids) + len(one.sampled.completion_ids)
    return Disagreement(call=one.call, shared=shared_ids(call.sampled.prompt_ids, one.sampled), of=of)


def _before(connection: Connection, memory: TokenMemory, rows: Sequence[Any]) -> Before:
    if not rows:
        return NOTHING
    covered, one = rows[0].length + 1, None
    if len(rows) == 1:
        (row,) = rows
        one = Continued(row.id, row.model, row.version, row.toolset, covered, tokens_of(connection, memory, row.id))
    silent = tuple(row.id for row in rows if row.ids_hash is None)
    return Before(tuple(row.id for row in rows), covered, silent, one)


def _fits(connection: Connection, episode: str, ids: Sequence[int]) -> tuple[Fit, ...]:
    """The calls whose tokens, prompt and completion, are the longest first part of a prompt."""
    rows = connection.execute(_DRAWN, {"of": episode, "most": len(ids)}).all()
    data, done, running, hashes = packed_ids(ids), 0, hashlib.sha256(), dict[int, str]()
    for length in sorted({row.ids_length for row in rows}):
        running.update(data[4 * done : 4 * length])
        hashes[length], done = running.copy().hexdigest(), length
    fitting = [row for row in rows if hashes[row.ids_length] == row.ids_hash]
    longest = max((row.ids_length for row in fitting), default=0)
    return tuple(Fit(row.id, row.length + 1) for row in fitting if row.ids_length == longest)
