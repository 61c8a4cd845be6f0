"""What a response's body is: JSON, a stream of it, a table, text, or bytes that are no reading matter."""

import re
from dataclasses import dataclass
from html.parser import HTMLParser

from pydantic import JsonValue

from practicum_connectors.exchange import HttpResponse
from practicum_connectors.response.json_values import Json, parse_beginning, parse_json
from practicum_connectors.response.streams import Kind, read_events, read_lines, stream_kind

_CHARSET = re.compile(r"charset\s*=\s*\"?([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_BEGINNING = 256 * 1024
"""As much of JSON without an end is read; what is shown is far shorter."""
_TABLES = frozenset({"text/csv", "application/csv", "text/x-csv", "application/x-csv", "text/tab-separated-values"})
_TEXT = frozenset(
    {
        "application/xml",
        "application/javascript",
        "application/yaml",
        "application/x-yaml",
        "application/x-www-form-urlencoded",
        "application/graphql",
        "application/sql",
        "application/toml",
        "image/svg+xml",
    }
)
_BINARY = ("image/", "audio/", "video/", "font/", "application/zip", "application/pdf", "application/gzip")
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_UNSEEN = frozenset({"script", "style", "head", "title", "template", "noscript", "svg"})
_BREAKING = frozenset({"p", "br", "div", "li", "tr", "h1", "h2", "h3", "h4", "section", "article", "pre", "table"})


@dataclass(frozen=True, slots=True)
class Streamed:
    """A body that came item by item.

    Attributes:
        items: the whole ones.
        kind: what kind of stream it was.
    """

    items: list[JsonValue]
    kind: Kind


@dataclass(frozen=True, slots=True)
class Table:
    """A body that is rows of text."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A body that can be read.

    Attributes:
        text: what it says.
        broken: whether it was announced as JSON and is none.
    """

    text: str
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Binary:
    """A body that is kept and not shown."""


Content = Json | Streamed | Table | Text | Binary


def read_content(response: HttpResponse) -> Content | None:
    """The body by its media type and its looks; None if there is none."""
    kind = stream_kind(response.header("content-type") or "")
    if not response.body and (kind is None or response.complete):
        return None
    media_type = response.media_type
    announced = media_type.endswith(("/json", "+json"))
    if kind is not None:
        return _streamed(response, kind)
    if announced or response.body.lstrip()[:1] in {b"{", b"["}:
        parsed = parse_json(response.body) if response.complete else parse_beginning(_beginning(response))
        if parsed is not None:
            return parsed
    return _readable(response, media_type, announced=announced)


def _streamed(response: HttpResponse, kind: Kind) -> Content:
    if kind == "events":
        return Streamed(read_events(_decode(response), complete=response.complete), kind)
    if response.media_type == "application/json":  # where only a parameter says that it is a stream
        parsed = parse_json(response.body)
        if parsed is not None:
            return parsed
    values = read_lines(_decode(response), complete=response.complete)
    return Text(_decode(response), broken=True) if values is None else Streamed(values, kind)


def _readable(response: HttpResponse, media_type: str, *, announced: bool) -> Content:
    if media_type in _HTML:
        return Text(html_to_text(_decode(response)))
    if media_type in _TABLES:
        return Table(_decode(response))
    if announced or media_type.startswith("text/") or media_type in _TEXT or media_type.endswith("+xml"):
        return Text(_decode(response), broken=announced)
    if media_type.startswith(_BINARY) or b"\0" in response.body or not _is_utf8(response):
        return Binary()
    return Text(_decode(response))


def html_to_text(html: str) -> str:
    """What a browser would show of a page, without its looks."""
    reader = _HtmlReader()
    reader.feed(html)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.parts).splitlines())
    return "\n".join(line for line in lines if line)


class _HtmlReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag in _BREAKING:
            self.parts.append("\n")
        elif tag == "body":
            self._unseen = 0  # an unclosed head hides nothing

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag in _BREAKING:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.parts.append(data)


def _decode(response: HttpResponse) -> str:
    return _text_of(response, response.body)


def _beginning(response: HttpResponse) -> str:
    return _text_of(response, response.body[:_BEGINNING])


def _text_of(response: HttpResponse, body: bytes) -> str:
    match = _CHARSET.search(response.header("content-type") or "")
    try:
        return body.decode(match[1] if match else "utf-8", errors="replace")
    except LookupError:
        return body.decode(errors="replace")


def _is_utf8(response: HttpResponse) -> bool:
    try:
        response.body.decode()
    except UnicodeDecodeError as error:
        return not response.complete and error.end >= len(response.body)  # cut within a character
    return True
