"""Handles of next pages: what a model gives back in the argument `next` to go on where an answer ended.

A handle holds the whole call, so that it is enough alone and nothing is kept on the server; it is sealed with a key and
bound to its tool, so that nobody writes one, and it ends after an hour. It is packed small, for a model copies it.
"""

import base64
import binascii
import hashlib
import hmac
import json
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, cast

from practicum.contracts.base import JsonObject
from practicum.contracts.problems import FieldProblem
from practicum.contracts.tools import Tool
from practicum.errors import CallError
from practicum_connectors.exchange import HttpRequest

NEXT = "next"
"""The argument that takes a handle, in the tools that are paged."""

_LIFE_SECONDS = 3600
_SEAL_BYTES = 12
_EXPIRY_BYTES = 5
_MOST_CHARACTERS = 4000
_PURPOSE = b"practicum next page 1"


@dataclass(frozen=True, slots=True)
class Step:
    """A call as it goes on from an answer.

    Attributes:
        arguments: its arguments, all of them.
        query: the query of the system's own link to the page, where no arguments can say it.
        skip: how many items of the page's list were shown already.
        at: where in the answer that list is, by member names.
    """

    arguments: JsonObject
    query: str | None = None
    skip: int = 0
    at: tuple[str, ...] = ()

    def ask(self, request: HttpRequest) -> HttpRequest:
        """The request of the arguments as it asks for this page."""
        if self.query is None:
            return request
        return replace(request, url=f"{request.url.partition('?')[0]}?{self.query}")


@dataclass(frozen=True, slots=True)
class Handles:
    """Seals steps into handles and opens them again.

    Attributes:
        key: the secret of the seal; whoever shares it opens the same handles.
        clock: seconds since 1970.
    """

    key: bytes = field(repr=False)
    clock: Callable[[], float] = time.time

    def seal(self, tool: Tool, step: Step) -> str | None:
        """The handle of a step; None if it would be too long to be copied.

        Args:
            tool: the tool that it goes on with.
            step: the step.
        """
        said = [step.arguments, step.query, step.skip, step.at]
        packed = _deflate(json.dumps(said, separators=(",", ":")).encode())
        sealed = int(self.clock() + _LIFE_SECONDS).to_bytes(_EXPIRY_BYTES, "big") + packed
        handle = base64.urlsafe_b64encode(self._seal(tool, sealed) + sealed).rstrip(b"=").decode()
        return handle if len(handle) <= _MOST_CHARACTERS else None

    def step(self, tool: Tool, arguments: JsonObject) -> Step:
        """What a call asks for: its arguments as they are, or what the handle in them holds.

        Args:
            tool: the tool that is called.
            arguments: its arguments; `next` beside others is taken only if those are what the handle holds too.

        Raises:
            CallError: the handle was not given by this tool, has expired, or says something else than the arguments.
        """
        if not tool.paged or NEXT not in arguments:
            return Step(arguments)
        others = {key: value for key, value in arguments.items() if key != NEXT}
        handle = arguments[NEXT]
        if handle in (None, ""):  # how many models say that there is none yet
            return Step(others)
        opened = self._open(tool, handle)
        if any(key not in opened.arguments or opened.arguments[key] != value for key, value in others.items()):
            _refuse(tool, "holds all arguments of the next page: give it alone")
        return opened

    def _open(self, tool: Tool, handle: object) -> Step:
        raw = _decode(handle) if isinstance(handle, str) else b""
        seal, sealed = raw[:_SEAL_BYTES], raw[_SEAL_BYTES:]
        if not hmac.compare_digest(seal, self._seal(tool, sealed)):
            _refuse(tool, "must be exactly what the last answer of this tool gave")
        if int.from_bytes(sealed[:_EXPIRY_BYTES], "big") < self.clock():
            _refuse(tool, "has expired: call the tool again without it")
        said: Any = json.loads(_inflate(sealed[_EXPIRY_BYTES:]))
        arguments, query, skip, at = said
        return Step(cast("JsonObject", arguments), query, skip, tuple(at))

    def _seal(self, tool: Tool, sealed: bytes) -> bytes:
        text = b"\0".join((_PURPOSE, tool.name.encode(), sealed))
        return hmac.digest(self.key, text, hashlib.sha256)[:_SEAL_BYTES]


def _refuse(tool: Tool, what: str) -> NoReturn:
    raise CallError(
        f"The next page of {tool.name} cannot be fetched.",
        mend="Copy `next` from the last answer, or call the tool without it.",
        errors=(FieldProblem(where=NEXT, what=what),),
    )


def _decode(handle: str) -> bytes:
    try:
        return base64.b64decode(handle + "=" * (-len(handle) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""


def _deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def _inflate(data: bytes) -> bytes:
    return zlib.decompress(data, -zlib.MAX_WBITS)
