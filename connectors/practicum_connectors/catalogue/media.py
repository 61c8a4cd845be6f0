"""Which of a body's media types is spoken, and what is said of the single fields of a form."""

from dataclasses import dataclass
from typing import get_args

from practicum_connectors.catalogue.conventions import kinds_of
from practicum_connectors.catalogue.files import content_types, means_bytes, with_files
from practicum_connectors.catalogue.plan import BodyKind, Encoding
from practicum_connectors.document.operations import Body
from practicum_connectors.document.pointers import Node, Pointers, as_list, as_node, text_of

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
_JSON = {"application/json": 0, "application/merge-patch+json": 1, "text/json": 1}
_ANY = frozenset({"*/*", "application/*"})
_ORDER: tuple[BodyKind, ...] = get_args(BodyKind)
LINES = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"})
"""Media types whose text is one JSON value a line."""

_TEXTS = LINES | {
    "application/graphql",
    "application/javascript",
    "application/json-seq",
    "application/jwt",
    "application/sql",
    "application/toml",
    "application/x-yaml",
    "application/yaml",
}
_BYTES = ("image/", "audio/", "video/", "font/", "model/")
_STYLES = frozenset({"form", "spaceDelimited", "pipeDelimited", "deepObject"})


@dataclass(frozen=True, slots=True)
class Spoken:
    """A media type under which a body can be sent.

    Attributes:
        declared: as the document has it.
        media_type: as it is sent; a range only where the file itself says what it is.
        kind: how it is made.
    """

    declared: str
    media_type: str
    kind: BodyKind


def spoken_by(body: Body, pointers: Pointers) -> list[Spoken]:
    """The media types under which a body can be sent, the best first.

    Args:
        body: the body.
        pointers: follows its references.

    Raises:
        DocumentError: a reference on the way is broken.
    """
    ranked: list[tuple[int, bool, int, str, Spoken]] = []
    for declared, media in body.content.items():
        name = declared.partition(";")[0].strip().lower()
        kind = _kind(name, media.get("schema"), pointers)
        if kind is None:
            continue
        concrete = declared if "*" not in name or kind == "binary" else "application/json"
        files = holds_files(media, pointers) if kind in {"form", "multipart"} else False
        rank = _ORDER.index("multipart") if kind == "form" and files else _ORDER.index(kind)
        ranked.append((rank, kind == "form" and files, _json_rank(name), declared, Spoken(declared, concrete, kind)))
    return [spoken for *_, spoken in sorted(ranked, key=lambda entry: entry[:-1])]


def holds_files(media: Node, pointers: Pointers) -> bool:
    """Whether fields of a body are files.

    Args:
        media: the media type object.
        pointers: follows its references.

    Raises:
        DocumentError: a reference on the way is broken.
    """
    raw = media.get("schema", {})
    return with_files(raw, pointers, content_types(media)) is not raw


def encodings_of(media: Node, pointers: Pointers) -> dict[str, Encoding]:
    """What the document says of single fields, by name.

    Args:
        media: the media type object.
        pointers: follows its references.

    Raises:
        DocumentError: a reference on the way is broken.
    """
    found: dict[str, Encoding] = {}
    for name, raw in as_node(media.get("encoding")).items():
        said = as_node(raw)
        styled = said.keys() & {"style", "explode", "allowReserved"}
        style = text_of(said.get("style")) or "form"
        explode = said.get("explode")
        found[name] = Encoding(
            content_type=text_of(said.get("contentType")) or None if not styled else None,
            style=(style if style in _STYLES else "form") if styled else None,
            explode=explode if isinstance(explode, bool) else style in {"form", "deepObject"},
            allow_reserved=said.get("allowReserved") is True,
            headers=_constant_headers(said, pointers),
        )
    return found


def _constant_headers(said: Node, pointers: Pointers) -> dict[str, str]:
    """Headers of a part whose value the document fixes; others cannot be asked for."""
    found: dict[str, str] = {}
    for name, raw in as_node(said.get("headers")).items():
        schema = as_node(pointers.follow(raw).get("schema"))
        values = as_list(schema.get("enum"))
        value = schema.get("const", schema.get("default", values[0] if len(values) == 1 else None))
        if isinstance(value, str) and value.isascii() and value.isprintable() and name.lower() != "content-type":
            found[name] = value
    return found


def _json_rank(name: str) -> int:
    return _JSON.get(name, 3 if name in _ANY else 2)


def _kind(name: str, schema: object, pointers: Pointers) -> BodyKind | None:
    kind: BodyKind | None
    if name == FORM:
        kind = "form" if "object" in (kinds_of(schema, pointers) or {"object"}) else "text"
    elif name.startswith("multipart/"):
        kind = "multipart" if name == MULTIPART else None
    elif name in _JSON or name.endswith("+json") or name in _ANY:
        kind = "binary" if name in _ANY and means_bytes(schema, pointers) else "json"
    elif name.startswith(_BYTES) or means_bytes(schema, pointers):
        kind = "binary"
    elif name in {"application/xml", "text/xml"} or name.endswith("+xml"):
        kind = "text" if kinds_of(schema, pointers) == frozenset({"string"}) else "xml"
    else:  # a file can be given as text too
        kind = "text" if name.startswith("text/") or name in _TEXTS or name.endswith("+yaml") else "binary"
    return kind
