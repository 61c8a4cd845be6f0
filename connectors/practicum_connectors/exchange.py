"""HTTP as values: what is sent and what comes back, with nothing that could print a secret."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol, Self, TypeAlias
from urllib.parse import quote, unquote_plus, urlsplit

Pairs = tuple[tuple[str, str], ...]

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY"})
"""Methods that ask the system to change nothing."""


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL, with the port always written out."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    host = (parts.hostname or "").lower()
    return f"{parts.scheme.lower()}://{f'[{host}]' if ':' in host else host}:{port}"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it goes over the wire. Its repr shows neither headers nor query nor body.

    Attributes:
        method: upper case.
        url: absolute, everything percent-encoded already.
        headers: in order, names as they are sent.
        body: bytes, or None for no body at all.
    """

    method: str
    url: str
    headers: Pairs = ()
    body: bytes | None = None

    def __repr__(self) -> str:
        return f"HttpRequest({self.method} {self.url.partition('?')[0]})"

    @property
    def safe(self) -> bool:
        """Whether its method asks the system to change nothing."""
        return self.method in SAFE_METHODS

    @property
    def origin(self) -> str:
        """Where it goes: scheme, host and port."""
        return origin_of(self.url)

    def header(self, name: str) -> str | None:
        """The first value of a header, case-insensitively."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def with_header(self, name: str, value: str) -> Self:
        """The request with this header instead of any of the same name."""
        kept = tuple(pair for pair in self.headers if pair[0].lower() != name.lower())
        return replace(self, headers=(*kept, (name, value)))

    def with_query(self, name: str, value: str) -> Self:
        """The request with this query parameter, encoded here, instead of any of the same name."""
        path, _, query = self.url.partition("?")
        kept = [pair for pair in query.split("&") if pair and unquote_plus(pair.partition("=")[0]) != name]
        pair = f"{quote(name, safe='')}={quote(value, safe='')}"
        return replace(self, url=f"{path}?{'&'.join((*kept, pair))}")

    def with_cookie(self, name: str, value: str) -> Self:
        """The request with one more cookie."""
        present = self.header("Cookie")
        pair = f"{name}={value}"
        return self.with_header("Cookie", f"{present}; {pair}" if present else pair)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response, its body read to the end or to the limit.

    Attributes:
        status: HTTP status.
        headers: in order, names in lower case.
        body: content-decoded bytes.
        complete: whether the whole body is there; False when it was longer than the limit.
    """

    status: int
    headers: Pairs = ()
    body: bytes = field(default=b"", repr=False)
    complete: bool = True

    def header(self, name: str) -> str | None:
        """The first value of a header, case-insensitively."""
        return next((value for key, value in self.headers if key == name.lower()), None)

    @property
    def media_type(self) -> str:
        """The content type in lower case without its parameters, empty if there is none."""
        return (self.header("content-type") or "").partition(";")[0].strip().lower()


class Stream(Protocol):
    """Counts one answer that comes as a stream, which may never end.

    Attributes:
        seconds: how long it is read at most, from its headers on.
    """

    seconds: float

    def enough(self, chunk: bytes) -> bool:
        """Whether enough has come with this chunk."""
        ...


Watch: TypeAlias = Callable[[str], Stream | None]
"""Says by its content type whether an answer is read as a stream; None where it is read to its end."""


class Delivery(StrEnum):
    """How far a request came."""

    ANSWERED = "answered"
    """The system answered, whatever it said."""
    NOT_SENT = "not_sent"
    """Surely nothing of it reached the system."""
    LOST = "lost"
    """It was sent, wholly or in part, and no complete answer came back."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What came of one request.

    Attributes:
        delivery: how far it came.
        response: the answer, if there is one.
        reason: why there is none, in words.
        mend: what can be done about it.
        attempts: how often it was tried.
        retry_after: seconds that the system asks to wait before the next try.
        tried: whether anything was tried over the network; False where it was refused on this side.
        payloads: bytes that came beside the answer, where a system sends several things at once.
    """

    delivery: Delivery
    response: HttpResponse | None = None
    reason: str | None = None
    mend: str | None = None
    attempts: int = 1
    retry_after: float | None = None
    tried: bool = True
    payloads: "tuple[Payload, ...]" = ()


@dataclass(frozen=True, slots=True)
class Payload:
    """Bytes on their way to or from an artifact.

    Attributes:
        media_type: what they are.
        name: their file name, if they have one.
        content: the bytes themselves.
        complete: whether they are there to the end.
    """

    media_type: str
    name: str | None
    content: bytes = field(repr=False)
    complete: bool = True
