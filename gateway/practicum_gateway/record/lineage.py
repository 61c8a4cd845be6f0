"""Which call another one continues: by the longest leading tokens where the server told them, else by the messages.

A parent is never guessed: where several calls fit equally well, there is none, and they are listed.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from sqlalchemy import Connection, Row, Table, bindparam, literal, literal_column, select

from practicum.contracts.messages import Message
from practicum.contracts.models import Attempt, Disagreement, Link, Sampled
from practicum_gateway.record.canonical import fingerprints
from practicum_gateway.record.tokens import PackedTokens, TokenMemory, Tokens, shared_ids, unpack
from practicum_gateway.store.prepared import Prepared
from practicum_gateway.store.record_tables import ModelCallRow

CALLS = cast("Table", ModelCallRow.__table__)
_OF = CALLS.c.episode == bindparam("of")
ACCEPTED = CALLS.c.standing == literal_column(f"'{Attempt.ACCEPTED}'")
_HEAD = ("id", "model", "version", "toolset", "length", "ids_hash")
_HEADS = select(*(CALLS.c[name] for name in _HEAD)).where(_OF, ACCEPTED)
_SPOKEN = _HEADS.where(CALLS.c.fingerprint.in_(bindparam("spoken", expanding=True)))
HEADS_SPOKEN = Prepared(_HEADS.where(CALLS.c.fingerprint == bindparam("mark")))
"""The calls of an episode (`of`) whose conversation, response included, has a fingerprint (`mark`)."""
HEADS_OF_STEP = Prepared(_HEADS.where(CALLS.c.step == bindparam("at")))
"""The accepted call of an episode (`of`) at a step (`at`)."""
DRAWN = Prepared(
    select(CALLS.c.id, CALLS.c.length, CALLS.c.ids_length, CALLS.c.ids_hash).where(
        _OF, ACCEPTED, CALLS.c.ids_length <= bindparam("most")
    )
)
"""The calls of an episode (`of`) that have tokens, and no more than so many (`most`)."""
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
_LINKS = Prepared(select(_CHAIN).order_by(_CHAIN.c.depth.desc()))


@dataclass(frozen=True, slots=True)
class Continued:
    """The call that another one continues by its messages.

    Attributes:
        call: its id.
        model: alias of the model that answered it.
        version: model and adapter version that answered it.
        toolset: digest of the tool definitions it was offered.
        covered: how many messages its conversation has, response included.
        tokens: its tokens, where the server gave them.
    """

    call: str
    model: str
    version: str
    toolset: str
    covered: int
    tokens: Tokens | None

    @property
    def sampled(self) -> Sampled | None:
        """Its tokens as the server gave them."""
        return None if self.tokens is None else self.tokens.sampled


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
        tokens: the parent's tokens.
    """

    parent: str | None = None
    by: Link | None = None
    candidates: tuple[str, ...] = ()
    disagreement: Disagreement | None = None
    covered: int = 0
    tokens: Tokens | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """A call whose tokens are the first ones of a prompt.

    Attributes:
        call: its id.
        covered: how many messages its conversation has, response included.
    """

    call: str
    covered: int


@dataclass(frozen=True, slots=True)
class Spoken:
    """A conversation, as it is looked for among the calls of an episode.

    Attributes:
        marks: fingerprints of it up to each message of the assistant, in their order.
        asked: fingerprint of all of it.
    """

    marks: tuple[str, ...]
    asked: str

    @classmethod
    def of(cls, messages: Sequence[Message]) -> "Spoken":
        """A conversation."""
        marks = list(fingerprints(messages))
        spoken = (mark for message, mark in zip(messages, marks, strict=True) if message.role == "assistant")
        return cls(tuple(spoken), marks[-1] if marks else "")


def before_step(connection: Connection, memory: TokenMemory, heads: Sequence[Any]) -> Before:
    """What the turn of a step continues: the accepted turn of the step before, which the heads are."""
    return _before(connection, memory, heads, "")


def before_chat(
    connection: Connection, memory: TokenMemory, episode: str, spoken: Spoken, heads: Sequence[Any]
) -> Before:
    """What a conversation continues: the calls whose conversation, response included, is its longest first part.

    Args:
        connection: where to look for those that end before its last answer.
        memory: of tokens.
        episode: the episode.
        spoken: the conversation.
        heads: the calls whose conversation ends with its last answer.
    """
    earlier = spoken.marks[:-1]
    if not heads and earlier:
        rows = connection.execute(_SPOKEN, {"of": episode, "spoken": earlier}).all()
        longest = max((row.length for row in rows), default=0)
        heads = [row for row in rows if row.length == longest]
    return _before(connection, memory, heads, spoken.asked)


def tokens_of(connection: Connection, memory: TokenMemory, call: str) -> Tokens | None:
    """The tokens of a call, put together from those of the calls it continues."""
    tokens = memory.get(call)
    if tokens is not None:
        return tokens
    sampled: Sampled | None = None
    for link in _LINKS(connection, {"call": call}):
        sampled = unpacked(link, sampled)
    tokens = None if sampled is None else Tokens.of(sampled)
    memory.keep(call, tokens)
    return tokens


def unpacked(row: Row[Any] | ModelCallRow, parent: Sampled | None) -> Sampled | None:
    """The tokens that a row holds beside those of its parent."""
    if row.prompt_ids is None or row.completion_ids is None or row.logprobs is None:
        return None
    return unpack(PackedTokens(row.prompt_shared, row.prompt_ids, row.completion_ids, row.logprobs), parent)


def token_hash(ids: bytes) -> str:
    """By which a call is known as the beginning of a later one's prompt."""
    return hashlib.sha256(ids).hexdigest()


def own_place(tokens: Tokens | None, before: Before) -> Place:
    """The place of an own turn, which continues the turn before it whatever the tokens say."""
    return Place() if before.one is None else _by_messages(tokens, before.one)


def place(
    connection: Connection, memory: TokenMemory, tokens: Tokens | None, before: Before, drawn: Sequence[Any]
) -> Place:
    """The place of a foreign agent's call, answered or failed.

    Args:
        connection: within the transaction that writes the call.
        memory: of tokens.
        tokens: of the call.
        before: what it continues by its messages.
        drawn: the calls of its episode that have tokens, and no more than its prompt.
    """
    found = decided(tokens, () if tokens is None else _fits(drawn, tokens.prompt), before)
    if found.parent is None or (before.one is not None and found.parent == before.one.call):
        return found
    return replace(found, tokens=tokens_of(connection, memory, found.parent))


def decided(tokens: Tokens | None, fits: Sequence[Fit], before: Before) -> Place:
    """The place of a call, without its parent's tokens where messages alone do not name the parent. Pure.

    Args:
        tokens: of the call.
        fits: the calls whose tokens are the longest first part of its prompt.
        before: what it continues by its messages.
    """
    if not fits:
        return _by_messages(tokens, before.one) if before.one is not None else Place(candidates=_sorted(before.calls))
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
        return _by_messages(tokens, before.one)
    if parent in before.calls:
        return Place(parent, Link.MESSAGES if parent in before.silent else Link.TOKENS, covered=before.covered)
    return Place(parent, Link.TOKENS, disagreement=_disagreement(tokens, before.one))


def _sorted(calls: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(calls))


def _by_messages(tokens: Tokens | None, one: Continued) -> Place:
    """The place of a call whose parent the messages name: by its tokens too, where these say the same."""
    by, disagreement = Link.MESSAGES, None
    if tokens is not None and one.tokens is not None and tokens.prompt and one.tokens.prompt:
        if tokens.prompt.startswith(one.tokens.whole):
            by = Link.TOKENS
        else:
            disagreement = _disagreement(tokens, one)
    return Place(one.call, by, disagreement=disagreement, covered=one.covered, tokens=one.tokens)


def _disagreement(tokens: Tokens | None, one: Continued | None) -> Disagreement:
    if one is None:
        return Disagreement(call=None)
    if tokens is None or one.tokens is None:
        return Disagreement(call=one.call)
    return Disagreement(call=one.call, shared=shared_ids(tokens, one.tokens), of=one.tokens.length)


def _before(connection: Connection, memory: TokenMemory, rows: Sequence[Any], asked: str) -> Before:
    if not rows:
        return Before(asked=asked)
    covered, one = rows[0].length + 1, None
    if len(rows) == 1:
        (row,) = rows
        tokens = tokens_of(connection, memory, row.id)
        one = Continued(row.id, row.model, row.version, row.toolset, covered, tokens)
    silent = tuple(row.id for row in rows if row.ids_hash is None)
    return Before(tuple(row.id for row in rows), covered, silent, one, asked)


def _fits(drawn: Sequence[Any], prompt: bytes) -> tuple[Fit, ...]:
    """The calls whose tokens, prompt and completion, are the longest first part of a prompt."""
    done, running, hashes = 0, hashlib.sha256(), dict[int, str]()
    for length in sorted({row.ids_length for row in drawn}):
        running.update(prompt[4 * done : 4 * length])
        hashes[length], done = running.copy().hexdigest(), length
    fitting = [row for row in drawn if hashes[row.ids_length] == row.ids_hash]
    longest = max((row.ids_length for row in fitting), default=0)
    return tuple(Fit(row.id, row.length + 1) for row in fitting if row.ids_length == longest)
