"""What a server lists, as a document: an operation for each tool, which an overlay can change like any other.

::

    paths:
      /refund:
        post:
          operationId: refund
          description: Give money back.
          requestBody: {content: {application/json: {schema: ...}}}     inputSchema
          responses: {"200": {content: {application/json: ...}}}        outputSchema
          x-practicum-effect: money                                     from its hints and its words
          x-mcp-tool: {name: refund, annotations: {...}}

So `$.paths['/refund'].post` is where an overlay states what the server does not.
"""

import copy
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast
from urllib.parse import quote

from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Effect
from practicum_connectors.catalogue.effect_words import CLEAR_DEEDS, SENDING
from practicum_connectors.catalogue.effects import classify
from practicum_connectors.catalogue.stated import EFFECT
from practicum_connectors.catalogue.stemming import split_words
from practicum_connectors.document.operations import REFUSED, Body, Operation
from practicum_connectors.document.pointers import Node, Pointers, as_list, as_node, is_node, text_of

OF_TOOL: Final = "x-mcp-tool"
"""The extension that holds what the protocol says of a tool: its name, its hints, what goes into headers."""
_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_CARE: Final = list(Effect)
_MOST_NAME: Final = 200
_MOST_DEPTH: Final = 60
_MOST_SCHEMA_PARTS: Final = 20_000
_DIGITS: Final = 16
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.-]+")
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9_-]+")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_DEEDS: Final = CLEAR_DEEDS | SENDING
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""What a model reads and nobody sees who looks at it: controls, turned directions, empty signs, tags."""
_WORDS: Final = ("title", "description")
_IN_HEADERS: Final = frozenset({"string", "integer", "boolean"})


def document_for(title: str, version: str, url: str, tools: Sequence[object], schemes: JsonObject) -> JsonObject:
    """The document of a server.

    Args:
        title: its name.
        version: its version.
        url: where it listens, without a slash at its end.
        tools: what it lists, as it stands there.
        schemes: security schemes by name: where it gives tokens, if that was found out.
    """
    named = [(text_of(as_node(tool).get("name")), as_node(tool)) for tool in tools]
    times = Counter(name for name, _ in named)
    paths: JsonObject = {}
    for number, (name, tool) in enumerate(sorted(named, key=lambda each: each[0]), 1):
        fault = _fault(name, tool, times[name])
        path = _path(name) if 0 < len(name) <= _MOST_NAME else f"/unnamed/{number}"
        paths[path] = {"post": _operation(name, tool, path, fault)}
    made: JsonObject = {
        "openapi": "3.1.0",
        "info": {"title": title or "MCP server", "version": version},
        "servers": [{"url": url}],
        "paths": paths,
    }
    return {**made, "components": {"securitySchemes": schemes}} if schemes else made


def _path(name: str) -> str:
    """Where the operation of a tool stands: at its name, or where no path can hold that, at one that is its own."""
    if _PLAIN.fullmatch(name) and name.strip("."):
        return f"/{name}"
    digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:_DIGITS]
    return f"/named/{_NOT_PLAIN.sub('-', name).strip('-.') or 'tool'}-{digest}"


def _fault(name: str, tool: Node, times: int) -> str | None:
    """Why something that is listed cannot become a tool."""
    if not name or len(name) > _MOST_NAME:
        return f"Its name has {len(name)} characters; from 1 to {_MOST_NAME} are taken."
    if times > 1:
        return f"The server lists {times} tools of this name, so that nobody knows which is meant."
    schema = tool.get("inputSchema")
    if not is_node(schema) or as_node(schema).get("type", "object") != "object":
        return "Its `inputSchema` is no schema of an object."
    for given in (schema, tool.get("outputSchema")):
        if _is_too_big(given):
            return (
                f"A schema of it nests deeper than {_MOST_DEPTH} levels, or has more than {_MOST_SCHEMA_PARTS} parts."
            )
    return None


def _operation(name: str, tool: Node, path: str, fault: str | None) -> JsonObject:
    if fault is not None:
        return {"operationId": name[:_MOST_NAME] or path[1:], REFUSED: fault}
    hints = as_node(tool.get("annotations"))
    said: JsonObject = {"name": name, "annotations": {key: hints[key] for key in _HINTS if _is_flag(hints.get(key))}}
    headers = list(_headers(as_node(tool.get("inputSchema"))))
    if headers:
        said["headers"] = cast("Any", headers)
    given = _placed(tool["inputSchema"], path, "requestBody/content")
    made: JsonObject = {
        "operationId": name,
        "summary": _visible(text_of(tool.get("title")) or text_of(hints.get("title"))),
        "description": _visible(text_of(tool.get("description"))) or f"The tool {name}.",
        "responses": {"200": {"description": "What the tool gives."}},
        EFFECT: _effect(name, given, said).value,
        OF_TOOL: said,
    }
    if _takes_something(given):
        made["requestBody"] = {"required": True, "content": {"application/json": {"schema": given}}}
    if is_node(tool.get("outputSchema")):
        schema = _placed(tool["outputSchema"], path, "responses/200/content")
        content: JsonObject = {"application/json": {"schema": schema}}
        made["responses"] = {"200": {"description": "What the tool gives.", "content": content}}
    return made


def _visible(text: str) -> str:
    """A text without what cannot be seen in it."""
    return _HIDDEN.sub("", text)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _takes_something(schema: JsonObject) -> bool:
    """Whether a tool has arguments at all; one that has none has no body."""
    rest = schema.keys() - {"type", "properties", "required", "additionalProperties", "$schema", "title", "description"}
    free = schema.get("additionalProperties", False) not in (False, {"not": {}})
    return bool(schema.get("properties")) or free or bool(rest)


def _effect(name: str, schema: JsonObject, said: JsonObject) -> Effect:
    """What a call does to the world: the server's hints are its claim, and words that ask for more care count too.

    Where it says nothing a tool is not taken to read, nor to add only: these are the protocol's own defaults. A name
    that begins with a plain deed is believed more than a hint that it reads.
    """
    hints = as_node(said["annotations"])
    if _DEEDS.intersection(split_words(name)[:1]):
        hints = {key: hints[key] for key in hints if key != "readOnlyHint"}
    claimed: JsonObject = {**said, "annotations": {"readOnlyHint": False, **hints}}
    operation = Operation(
        operation_id=name,
        method="POST",
        path=f"/{quote(name, safe='')}",  # whatever its path is: here it is read for its words
        summary="",
        description="",
        deprecated=False,
        parameters=(),
        body=Body(required=True, content={"application/json": {"schema": schema}}, description=""),
        responses={},
        servers=None,
        security=None,
        extensions={OF_TOOL: claimed},
    )
    found = classify(operation, Pointers({}))
    adds_only = hints.get("readOnlyHint") is True or hints.get("destructiveHint") is False
    return found if adds_only else max(found, Effect.UPDATE, key=_CARE.index)


def _placed(schema: object, path: str, place: str) -> JsonObject:
    """A copy of a schema whose references to itself lead to where it stands in the document."""
    base = f"#/paths/{path.replace('/', '~1')}/post/{place}/application~1json/schema"
    copied = copy.deepcopy(cast("JsonObject", schema))
    for node in _schemas_in(copied):
        reference = node.get("$ref")
        if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
            cast("dict[str, Any]", node)["$ref"] = f"{base}{reference[1:]}"
        for keyword in _WORDS:
            if isinstance(node.get(keyword), str):
                cast("dict[str, Any]", node)[keyword] = _visible(node[keyword])
        for keyword in ("$id", "$schema"):  # it stands in another document now
            if isinstance(node.get(keyword), str):
                del cast("dict[str, Any]", node)[keyword]
    return copied


def _schemas_in(value: object) -> Iterator[Mapping[str, Any]]:
    """Every object in a schema, whatever it stands for."""
    waiting: list[object] = [value]
    while waiting:
        found = waiting.pop()
        if is_node(found):
            yield as_node(found)
            waiting.extend(as_node(found).values())
        else:
            waiting.extend(as_list(found))


def _is_too_big(value: object) -> bool:
    """Whether something has too many parts or levels, found without descending into them."""
    layer: list[object] = [value]
    count = 0
    for _ in range(_MOST_DEPTH):
        inside: list[object] = []
        for outer in layer:
            inside.extend(as_node(outer).values() or as_list(outer))
        count += len(inside)
        if count > _MOST_SCHEMA_PARTS:
            return True
        layer = [inner for inner in inside if is_node(inner) or as_list(inner)]
        if not layer:
            return False
    return True


def _headers(schema: Node) -> Iterator[JsonObject]:
    """The arguments that are to be repeated in headers: those that a chain of properties leads to, of plain kinds."""
    waiting: list[tuple[tuple[str, ...], Node]] = [((), schema)]
    taken: set[str] = set()
    while waiting:
        path, node = waiting.pop()
        header = node.get("x-mcp-header")
        fits = isinstance(header, str) and _TOKEN.fullmatch(header) and node.get("type") in _IN_HEADERS
        if path and fits and text_of(header).lower() not in taken:
            taken.add(text_of(header).lower())
            yield {"path": cast("Any", list(path)), "header": text_of(header)}
        waiting.extend(((*path, name), as_node(inner)) for name, inner in as_node(node.get("properties")).items())
