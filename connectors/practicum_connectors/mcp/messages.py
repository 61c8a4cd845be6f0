"""Messages of the protocol over streamable HTTP: how a request is written, and how its answer is found. Pure."""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from practicum.contracts.base import JsonObject
from practicum.halves import without_halves
from practicum_connectors.document.pointers import Node, as_list, as_node, is_node
from practicum_connectors.exchange import HttpRequest, HttpResponse, Pairs
from practicum_connectors.mcp.events import Events

MODERN: Final = "2026-07-28"
"""The revision in which each request stands alone."""
HANDSHAKES: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Those that begin with a handshake, the newest first."""
UNSUPPORTED_VERSION: Final = -32022
_REFUSALS: Final = {-32700: 400, -32600: 400, -32601: 404, -32602: 400, -32020: 400, -32021: 400, -32022: 400}
"""Codes by which a server says that it did nothing, and the HTTP status that means the same."""
_FAILED = 500
_META = "io.modelcontextprotocol/"
_CLIENT: Final[JsonObject] = {"name": "practicum", "version": "1"}
_AS_IT_IS = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_ENCODED = re.compile(r"=\?base64\?.*\?=")


@dataclass(frozen=True, slots=True)
class Form:
    """How a server is spoken to.

    Attributes:
        version: the revision of the protocol.
        session: the session that a handshake began, if the server keeps any.
    """

    version: str
    session: str | None = None

    @property
    def modern(self) -> bool:
        """Whether each request stands alone."""
        return self.version == MODERN


def written(
    url: str, form: Form, number: int | None, method: str, params: Mapping[str, Any], *, headers: Pairs = ()
) -> HttpRequest:
    """One message as a request.

    Args:
        url: where the server listens.
        form: how it is spoken to.
        number: of the request; None for a notification.
        method: the method of the protocol.
        params: its parameters.
        headers: what goes besides.
    """
    said = dict(params)
    sent: list[tuple[str, str]] = [
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
        ("User-Agent", "practicum"),
    ]
    if method != "initialize":
        sent.append(("MCP-Protocol-Version", form.version))
    if form.modern:
        own: JsonObject = {"protocolVersion": form.version, "clientInfo": _CLIENT, "clientCapabilities": {}}
        said["_meta"] = {**as_node(said.get("_meta")), **{f"{_META}{name}": value for name, value in own.items()}}
        sent.append(("Mcp-Method", method))
        if isinstance(named := said.get("name"), str):
            sent.append(("Mcp-Name", header_text(named)))
    elif form.session is not None:
        sent.append(("Mcp-Session-Id", form.session))
    message: JsonObject = {"jsonrpc": "2.0", "method": method, "params": said}
    if number is not None:
        message["id"] = number
    return HttpRequest("POST", url, (*sent, *headers), json.dumps(message, ensure_ascii=False).encode())


def greeting() -> JsonObject:
    """The parameters of a handshake."""
    return {"protocolVersion": HANDSHAKES[0], "capabilities": {}, "clientInfo": _CLIENT}


def header_text(value: str) -> str:
    """A text as a header carries it, packed where it could not stand there as it is."""
    if _AS_IT_IS.fullmatch(value) and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


@dataclass(frozen=True, slots=True)
class Message:
    """The answer to one request.

    Attributes:
        result: what it gives, if it succeeded.
        error: what went wrong, if it did not.
        own: whether it names the request; an error that names none may be of the connection or the session.
    """

    result: Node | None = None
    error: Node | None = None
    own: bool = True

    @property
    def code(self) -> int:
        """The code of the error, 0 without one."""
        code = None if self.error is None else self.error.get("code")
        return code if isinstance(code, int) else 0

    @property
    def status(self) -> int:
        """The HTTP status that means the same as an error; a code that says nothing means that anything may be."""
        return _REFUSALS.get(self.code, _FAILED)

    @property
    def refuses(self) -> bool:
        """Whether it is an error by which a server says that it did nothing."""
        return self.error is not None and self.code in _REFUSALS


def found_in(response: HttpResponse, number: int) -> Message | None:
    """The answer to a request in what came back; None if it is not there. One that names it comes before any other.

    Args:
        response: what came back.
        number: of the request.
    """
    if response.media_type == "text/event-stream":
        nodes = [node for text in Events().feed(response.body) for node in _nodes(text)]
    elif response.media_type.endswith(("/json", "+json")) and response.complete:
        nodes = list(_nodes(response.body))
    else:
        return None
    nameless = (as_node(node["error"]) for node in nodes if node.get("id") is None and is_node(node.get("error")))
    return _answer(nodes, number) or next((Message(error=error, own=False) for error in nameless), None)


def message_of(text: str, number: int) -> Message | None:
    """A text as the answer that names a request; None if it is none."""
    return _answer(_nodes(text), number)


def _answer(nodes: Iterable[Node], number: int) -> Message | None:
    for node in nodes:
        if node.get("id") != number or isinstance(node.get("id"), bool):
            continue
        result, error = node.get("result"), node.get("error")
        if is_node(result):
            return Message(result=as_node(result))
        if is_node(error):
            return Message(error=as_node(error))
    return None


def _nodes(text: str | bytes) -> Iterator[Node]:
    """The objects of a message, or of several at once."""
    found = parsed(text)
    yield from map(as_node, cast("list[object]", found) if isinstance(found, list) else [found])


def supported(error: Node) -> list[str]:
    """The revisions that a server names where it refuses the one it was asked in."""
    named = as_list(as_node(error.get("data")).get("supported"))
    return [version for version in named if isinstance(version, str)]


def parsed(text: str | bytes) -> object:
    """A text as JSON; None where it is none, or nests too deep."""
    data = text.encode(errors="replace") if isinstance(text, str) else text
    try:
        found: object = json.loads(without_halves(data), parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return found


def _no_number(_: str) -> None:
    """NaN and infinities are no JSON and read as null."""
