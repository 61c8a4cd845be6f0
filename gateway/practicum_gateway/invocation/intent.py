"""What the pipeline is asked, and to whom it reports."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from pydantic import JsonValue
from sqlalchemy import Connection

from practicum.contracts.base import JsonObject
from practicum.contracts.episodes import EpisodeMode, EventType
from practicum.errors import CallError
from practicum_gateway.access.principals import Principal


@dataclass(frozen=True)
class Intent:
    """One call that somebody wants to be made, once.

    Attributes:
        principal: on whose behalf. For a durable episode this is the episode's own principal, with the role agent,
            whoever drives it.
        tool: exposed name of the tool.
        arguments: its arguments.
        key: idempotency key, unique within the episode or, outside one, within the principal.
        episode: the episode it belongs to.
        step: the step within the episode.
        call: the index within the step.
        mode: training never reaches a live connector.
        raise_call_errors: raise what is wrong with the call itself instead of telling it in an observation.
        compensates: the call that this one undoes, by its id in the ledger.
        fresh: the key was drawn for this call; that somebody used the same before by hand is found when it is claimed.
    """

    principal: Principal
    tool: str
    arguments: JsonObject
    key: str
    episode: str | None = None
    step: int | None = None
    call: int | None = None
    mode: EpisodeMode = EpisodeMode.LIVE
    raise_call_errors: bool = False
    compensates: str | None = None
    fresh: bool = False

    @property
    def scope(self) -> str:
        """Whose keys `key` is one of."""
        return scope_of(self.principal, self.episode)

    @cached_property
    def arguments_hash(self) -> str:
        """What an approval of this call is bound to.

        Raises:
            CallError: the arguments hold something that is no JSON.
        """
        return hash_of_arguments(self.arguments)

    def asks_the_same_as(self, other: "Intent") -> bool:
        """Whether another intent of the same key wants the same call."""
        wanted = (other.tool, other.arguments, other.compensates)
        return (self.tool, self.arguments, self.compensates) == wanted

    def require_json(self) -> None:
        """Go on only if the arguments can travel: a JSON parser lets through NaN and half characters.

        Raises:
            CallError: they cannot.
        """
        _ = self.arguments_hash


def scope_of(principal: Principal, episode: str | None) -> str:
    """Whose keys and artifacts something is one of: an episode's, or a principal's outside episodes."""
    return f"episode:{episode}" if episode else f"principal:{principal.name}"


def hash_of_arguments(arguments: Mapping[str, JsonValue]) -> str:
    """SHA-256 of the arguments in their canonical form: keys sorted, no spaces, UTF-8.

    Raises:
        CallError: they hold something that is no JSON, such as NaN, or no Unicode, such as half a surrogate pair.
    """
    try:
        canonical = json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        encoded = canonical.encode()
    except (ValueError, RecursionError) as error:
        raise CallError(
            f"The arguments are no JSON ({type(error).__name__}).", mend="Give plain JSON values."
        ) from None
    return hashlib.sha256(encoded).hexdigest()


class EventSink(Protocol):
    """Where the events of an episode go."""

    async def event(self, episode: str, kind: EventType, step: int | None, data: dict[str, JsonValue], /) -> object:
        """Append one event to the episode's record."""
        ...

    def event_on(
        self, connection: Connection, episode: str, kind: EventType, step: int | None, data: dict[str, JsonValue], /
    ) -> None:
        """Append one event within a transaction."""
        ...

    def announce(self, episode: str, /) -> None:
        """Wake those who follow, once a transaction that appended events is committed."""
        ...
