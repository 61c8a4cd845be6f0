"""What a response's body is: JSON, text, or bytes that are no reading matter."""

import json
import math
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, cast

from pydantic import JsonValue

from practicum_connectors.exchange import HttpResponse

_CHARSET = re.compile(r"charset\s*=\s*\"?([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_FILE_NAME = re.compile(r"filename\s*=\s*(?:\"([^\"]*)\"|([^\s;]+))", re.IGNORECASE)
_LINES_OF_JSON = frozenset(
    {"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"}
)
_TEXT = frozenset(
    {
        "application/xml",
        "application/javascript",
        "application/yaml",
        "application/x-yaml",
        "application/csv",
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
class Json:
    """A body that is JSON, whatever it was called."""

    value: JsonValue


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
    """A body that is described and not shown."""

    media_type: str
    size: int
    name: str | None


def read_content(response: HttpResponse) -> Json | Text | Binary | None:
    """The body by its media type and its looks; None if there is none."""
    if not response.body:
        return None
    media_type = response.media_type
    announced = media_type.endswith(("/json", "+json"))
    if media_type in _LINES_OF_JSON:
        return _json_lines(response)
    if announced or response.body.lstrip()[:1] in {b"{", b"["}:
        parsed = _parse(response.body)
        if parsed is not None:
            return parsed
    return _readable(response, media_type, announced=announced)


def _readable(response: HttpResponse, media_type: str, *, announced: bool) -> Text | Binary:
    if media_type in _HTML:
        return Text(html_to_text(_decode(response)))
    if announced or media_type.startswith("text/") or media_type in _TEXT or media_type.endswith("+xml"):
        return Text(_decode(response), broken=announced)
    if media_type.startswith(_BINARY) or b"\0" in response.body or not _is_utf8(response.body):
        match = _FILE_NAME.search(response.header("content-disposition") or "")
        name = (match[1] or match[2]) if match else None
        return Binary(media_type or "application/octet-stream", len(response.body), name)
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


def _parse(body: bytes) -> Json | None:
    try:
        return Json(cast("JsonValue", json.loads(body, parse_constant=_no_number, parse_float=_finite)))
    except (ValueError, RecursionError):
        return None


def _json_lines(response: HttpResponse) -> Json | Text:
    """One value per line, as a list; a last line that was cut off is left out."""
    values: list[Any] = []
    for line in response.body.splitlines():
        if line.strip():
            parsed = _parse(line)
            if parsed is None and response.complete:
                return Text(_decode(response), broken=True)
            if parsed is not None:
                values.append(parsed.value)
    return Json(values)


def _finite(text: str) -> float | None:
    """A number beyond what floats hold would be written as an infinity again, so it reads as null like one."""
    number = float(text)
    return number if math.isfinite(number) else None


def _no_number(_: str) -> None:
    """NaN and infinities are no JSON and read as null."""


def _decode(response: HttpResponse) -> str:
    match = _CHARSET.search(response.header("content-type") or "")
    try:
        return response.body.decode(match[1] if match else "utf-8", errors="replace")
    except LookupError:
        return response.body.decode(errors="replace")


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
