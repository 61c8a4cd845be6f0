"""The operations of a document, each read on its own: one that cannot be read does not lose the others."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, cast
from urllib.parse import quote

from practicum.contracts.base import JsonObject
from practicum.errors import DocumentError
from practicum_connectors.document.load import Document
from practicum_connectors.document.pointers import BrokenReferenceError, Node, as_list, as_node, is_node, text_of
from practicum_connectors.document.structure import Tokens

Location = Literal["path", "query", "header", "cookie"]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
LOSSES = "x-practicum-losses"
"""An extension of operations and parameters: what a conversion to OpenAPI 3 could not say."""
REFUSED = "x-practicum-refused"
"""An extension of operations: why there is none, where what the document was made of has no use for it."""

_METHOD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_DEFAULT_STYLE: dict[Location, str] = {"path": "simple", "header": "simple", "query": "form", "cookie": "form"}
_STYLES: dict[Location, frozenset[str]] = {
    "path": frozenset({"simple", "label", "matrix"}),
    "header": frozenset({"simple"}),
    "query": frozenset({"form", "spaceDelimited", "pipeDelimited", "deepObject"}),
    "cookie": frozenset({"form", "cookie"}),
}
# OpenAPI says that these are described elsewhere (media types and security schemes) and ignored as parameters.
_IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})
# What the sender or the connection owns; a model must not reach it.
_RESERVED_HEADERS = frozenset(
    {"host", "content-length", "connection", "transfer-encoding", "upgrade", "trailer", "expect", "cookie"}
    | {"te"}  # codespell:ignore te
)
VARIABLE = re.compile(r"\{([^{}/]+)\}")
"""A variable in a path template."""
_ESCAPED = re.compile(r"%[0-9a-fA-F]{2}")
_LITERAL = "/?&=:@!$'()*+,;~"  # what may stand in a path or, behind a question mark, in a query as it is


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter with its serialisation spelled out.

    Attributes:
        name: the name on the wire.
        location: where it goes.
        required: whether a request without it is invalid.
        schema: its schema as it stands in the document.
        style: serialisation style.
        explode: whether items and properties are written apart.
        allow_reserved: whether reserved characters stay as they are.
        media_type: for a parameter described by `content`: how its value is encoded.
        description: what the document says of it.
    """

    name: str
    location: Location
    required: bool
    schema: object
    style: str
    explode: bool
    allow_reserved: bool
    media_type: str | None
    description: str


@dataclass(frozen=True, slots=True)
class Body:
    """A request body.

    Attributes:
        required: whether a request without it is invalid.
        content: media type objects by media type, in the document's order.
        description: what the document says of it.
    """

    required: bool
    content: dict[str, Node]
    description: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation, its parameters merged, its own references followed; schemas are left as they stand.

    Attributes:
        operation_id: as the document has it, None if there is none.
        method: upper case.
        path: the path template.
        summary: one line.
        description: more lines.
        deprecated: whether the document advises against it.
        parameters: path item's and operation's, merged by name and location.
        body: its request body, if it has one.
        responses: response objects or references to them, by status.
        servers: its own or its path's servers, None where the document's hold.
        security: alternatives of schemes, None where nothing is said.
        extensions: its `x-` fields.
        losses: what of it had to be left out.
    """

    operation_id: str | None
    method: str
    path: str
    summary: str
    description: str
    deprecated: bool
    parameters: tuple[Parameter, ...]
    body: Body | None
    responses: Node
    servers: list[Node] | None
    security: list[Node] | None
    extensions: Node
    losses: tuple[str, ...] = ()

    @property
    def wire_path(self) -> str:
        """The path template as it goes over the wire: literal text encoded, variables open, no fragment."""
        return wire_path(self.path)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An operation that cannot be read, and why.

    Attributes:
        operation_id: as the document has it, None if there is none.
        method: upper case.
        path: the path template.
        reason: why it cannot be read.
        mend: RFC 6902 operations on the document after which it can be, if they are known.
    """

    operation_id: str | None
    method: str
    path: str
    reason: str
    mend: tuple[JsonObject, ...] = ()


def wire_path(template: str) -> str:
    """A path template as it goes over the wire.

    Args:
        template: as the document writes it.
    """
    parts = VARIABLE.split(template.partition("#")[0])
    parts[::2] = [_encoded(part) for part in parts[::2]]
    parts[1::2] = [f"{{{name}}}" for name in parts[1::2]]
    return "".join(parts)


def _encoded(text: str) -> str:
    """Literal text of a path; what is encoded already stays."""
    found, place = list[str](), 0
    for match in _ESCAPED.finditer(text):
        found += (quote(text[place : match.start()], safe=_LITERAL), match[0])
        place = match.end()
    return "".join((*found, quote(text[place:], safe=_LITERAL)))


def list_operations(document: Document) -> Iterator[Operation | Unreadable]:
    """Each operation of the document, in its order."""
    for path, item in as_node(document.root.get("paths")).items():
        if path.startswith("x-") or item is None:
            continue
        try:
            merged = _path_item(document, item)
        except DocumentError as error:
            yield Unreadable(None, "GET", path, f"The path item cannot be read: {error.detail}")
            continue
        for method in METHODS:
            if merged.get(method) is not None:
                yield _read(document, path, method.upper(), merged[method], merged)
        for method, node in as_node(merged.get("additionalOperations")).items():
            if method.lower() in METHODS or not _METHOD.fullmatch(method):
                yield Unreadable(None, method.upper(), path, f"`{method}` cannot be a method of additionalOperations.")
            else:
                yield _read(document, path, method, node, merged)


def _path_item(document: Document, item: object) -> Node:
    target = document.pointers.follow(item)
    own = {key: value for key, value in as_node(item).items() if key != "$ref"}
    return {**target, **own} if own and target is not item else target


def _read(document: Document, path: str, method: str, raw: object, item: Node) -> Operation | Unreadable:
    node = as_node(raw)
    operation_id = text_of(node.get("operationId")).strip() or None
    try:
        if text_of(node.get(REFUSED)):
            return Unreadable(operation_id, method, path, text_of(node.get(REFUSED)))
        if not is_node(raw):
            raise DocumentError("The operation is not an object.")  # noqa: TRY301 (one way out for every cause)
        return _operation(document, path, method, item, node)
    except BrokenReferenceError as error:
        return Unreadable(operation_id, method, path, error.detail, error.operations)
    except DocumentError as error:
        return Unreadable(operation_id, method, path, error.detail)


def _operation(document: Document, path: str, method: str, item: Node, node: Node) -> Operation:
    if {".", ".."} & set(path.partition("#")[0].partition("?")[0].split("/")):
        raise DocumentError("The path climbs (`..`).")
    at = (path, method.lower()) if method.lower() in METHODS else (path, "additionalOperations", method)
    losses = [text_of(loss) for loss in as_list(node.get(LOSSES))]
    if "#" in path:
        losses.append(
            f"The path's fragment `#{path.partition('#')[2]}` is not sent, as no request carries one; "
            "where the system asks for it otherwise, an overlay can add it as a parameter."
        )
    servers = as_list(node.get("servers")) or as_list(item.get("servers"))
    security = node.get("security", document.root.get("security"))
    return Operation(
        operation_id=text_of(node.get("operationId")).strip() or None,
        method=method,
        path=path if path.startswith("/") else f"/{path}",
        summary=text_of(node.get("summary")).strip() or text_of(item.get("summary")).strip(),
        description=text_of(node.get("description")).strip() or text_of(item.get("description")).strip(),
        deprecated=node.get("deprecated") is True,
        parameters=_parameters(document, at, item, node, losses),
        body=_body(document, at, node, losses),
        responses=as_node(node.get("responses")),
        servers=[as_node(server) for server in servers] or None,
        security=[as_node(entry) for entry in cast("list[object]", security)] if isinstance(security, list) else None,
        extensions={key: value for key, value in node.items() if key.startswith("x-")},
        losses=tuple(dict.fromkeys(losses)),
    )


def _parameters(document: Document, at: Tokens, item: Node, node: Node, losses: list[str]) -> tuple[Parameter, ...]:
    path = at[0]
    merged: dict[tuple[str, str], Parameter] = {}
    met: set[tuple[Tokens, object, object]] = set()
    for raw, place in (*_listed(item, (path,), losses), *_listed(node, at, losses)):
        found = _followed(document, raw, place)
        mark = (place[:-1], found.get("in"), text_of(found.get("name")))
        if mark in met:
            losses.append(f"The {mark[1]} parameter `{mark[2]}` is described twice; the last description holds.")
        met.add(mark)
        if found.get("in") == "querystring":
            made = _querystring(document, found, losses)
        else:
            made = [parameter] if (parameter := _parameter(document, found, losses)) is not None else []
        merged.update({(parameter.name, parameter.location): parameter for parameter in made})
    template = path.partition("#")[0].partition("?")[0]
    variables = dict.fromkeys(VARIABLE.findall(template))
    for key in [key for key in merged if key[1] == "path" and key[0] not in variables]:
        losses.append(f"The path parameter `{key[0]}` does not occur in the path and is left out.")
        del merged[key]
    for name in variables:
        if (name, "path") not in merged:
            losses.append(f"The path parameter `{name}` is not described; it is taken as text.")
            merged[name, "path"] = Parameter(
                name, "path", True, {"type": "string"}, "simple", False, False, None, description=""
            )
    return tuple(merged.values())


def _listed(node: Node, above: Tokens, losses: list[str]) -> Iterator[tuple[Node, Tokens]]:
    """The parameters that an object lists, with the keys that lead to each from `paths` on."""
    if not isinstance(node.get("parameters", []), list | None):
        losses.append("`parameters` is not a list and is left out.")
    for number, parameter in enumerate(as_list(node.get("parameters"))):
        if is_node(parameter):
            yield as_node(parameter), (*above, "parameters", str(number))
        else:
            losses.append("A parameter that is not an object is left out.")


def _followed(document: Document, raw: object, place: Tokens) -> Node:
    """What an object of an operation refers to; where it refers to nothing, the way out is to leave it away."""
    try:
        return document.pointers.follow(raw)
    except BrokenReferenceError as error:
        path = "".join(f"/{token.replace('~', '~0').replace('/', '~1')}" for token in ("paths", *place))
        known = _at_place(document.root, ("paths", *place)) == raw
        operations: tuple[JsonObject, ...] = ({"op": "remove", "path": path},) if known else ()
        raise BrokenReferenceError(error.detail, mend=error.mend, operations=operations) from None


def _at_place(root: Node, tokens: Tokens) -> object:
    value: object = root
    for token in tokens:
        value = as_node(value).get(token) if is_node(value) else dict(enumerate(as_list(value))).get(int(token))
    return value


def _querystring(document: Document, raw: Node, losses: list[str]) -> list[Parameter]:
    """The parameters that a whole query string is made of, described as a form is (OpenAPI 3.2)."""
    media_type, described = next(iter(as_node(raw.get("content")).items()), ("nothing", None))
    name = text_of(raw.get("name")) or "query"
    if media_type.partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        if raw.get("required") is True:
            raise DocumentError(f"Its query string is {media_type} as a whole, which cannot be built.")
        losses.append(f"The query string as a whole (`{name}`, {media_type}) is left out: it cannot be built.")
        return []
    media = document.pointers.follow(described)
    schema = media.get("schema", {})
    whole = Parameter(
        name=name,
        location="query",
        required=raw.get("required") is True,
        schema=schema,
        style="form",
        explode=True,
        allow_reserved=False,
        media_type=None,
        description=text_of(raw.get("description")).strip(),
    )
    node: Node = document.pointers.follow(schema) if is_node(schema) else as_node(None)
    properties = as_node(node.get("properties"))
    if not properties or node.get("additionalProperties", False) is not False or "allOf" in node:
        return [whole]
    asked = as_list(node.get("required")) if whole.required else []
    encoding = as_node(media.get("encoding"))
    made: list[Parameter] = []
    for key, value in properties.items():
        said = as_node(encoding.get(key))
        style = text_of(said.get("style"))
        style = style if style in _STYLES["query"] else "form"
        explode = said.get("explode")
        made.append(
            replace(
                whole,
                name=key,
                required=key in asked,
                schema=value,
                style=style,
                explode=explode if isinstance(explode, bool) else style in {"form", "deepObject"},
                allow_reserved=said.get("allowReserved") is True,
                description="",
            )
        )
    return made


def _parameter(document: Document, raw: Node, losses: list[str]) -> Parameter | None:
    name, location = raw.get("name"), raw.get("in")
    losses.extend(text_of(loss) for loss in as_list(raw.get(LOSSES)))
    if not isinstance(name, str) or not name or location not in _DEFAULT_STYLE:
        losses.append(f"A parameter named {name!r} in {location!r} is not understood and left out.")
        return None
    place: Location = location
    if place == "header" and name.lower() in _IGNORED_HEADERS:
        return None
    if place == "header" and name.lower() in _RESERVED_HEADERS:
        losses.append(f"The header `{name}` belongs to the connection and is left out.")
        return None
    style = text_of(raw.get("style")) or _DEFAULT_STYLE[place]
    if style not in _STYLES[place]:
        losses.append(f"The style {style!r} is unknown for the {place} parameter `{name}`; the default is used.")
        style = _DEFAULT_STYLE[place]
    explode = raw.get("explode")
    media_type, schema = _parameter_schema(document, raw)
    return Parameter(
        name=name,
        location=place,
        required=raw.get("required") is True or place == "path",
        schema=schema,
        style=style,
        explode=explode if isinstance(explode, bool) else style in {"form", "deepObject", "cookie"},
        allow_reserved=raw.get("allowReserved") is True,
        media_type=media_type,
        description=text_of(raw.get("description")).strip(),
    )


def _parameter_schema(document: Document, raw: Node) -> tuple[str | None, object]:
    content = as_node(raw.get("content"))
    if "schema" in raw or not content:
        return None, raw.get("schema", {})
    media_type, media = next(iter(content.items()))
    return media_type, document.pointers.follow(media).get("schema", {})


def _body(document: Document, at: Tokens, node: Node, losses: list[str]) -> Body | None:
    if node.get("requestBody") is None:
        return None
    raw = _followed(document, node["requestBody"], (*at, "requestBody"))
    content: dict[str, Node] = {}
    for media_type, media in as_node(raw.get("content")).items():
        if is_node(media):
            content[media_type] = document.pointers.follow(media)
        else:
            losses.append(f"The body's media type `{media_type}` has no description and is left out.")
    if not content:
        losses.append("The request body has no content and is left out.")
        return None
    return Body(raw.get("required") is True, content, text_of(raw.get("description")).strip())
