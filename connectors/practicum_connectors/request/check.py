"""The proof before sending: openapi-core reads the built request against the document and must find what was asked for.

Each operation gets a document of its own, made of the schemas that its tool shares with others; nothing is copied per
operation or per call. What openapi-core reads is kept and compared with the arguments, so that a value which a style
cannot carry (a `|` in a piped list) is refused instead of arriving as something else.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from jsonschema.exceptions import ValidationError
from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.problems import FieldProblem
from practicum.errors import CallError
from practicum_connectors.catalogue.plan import Argument, ToolPlan
from practicum_connectors.document.operations import VARIABLE, Parameter
from practicum_connectors.exchange import HttpRequest
from practicum_connectors.patterns import BoundedValidator
from practicum_connectors.request.arguments import explain
from practicum_connectors.request.formats import FORMATS
from practicum_connectors.request.parse import Described, RawValues, Shape, cookie_pairs, query_pairs
from practicum_connectors.request.reader import NOTHING, BuiltRequest, Found, RequestReader, SharedFormats
from practicum_connectors.request.same import same, same_text
from practicum_connectors.request.views import SchemaView

_LOCATIONS = ("path", "query", "header", "cookie")
_LIFTING: dict[str, frozenset[str]] = {
    "path": frozenset(),
    "query": frozenset({"form", "spaceDelimited", "pipeDelimited"}),
    "header": frozenset(),
    "cookie": frozenset({"cookie"}),
}
"""The styles in which members of an exploded object have names of their own."""


class RequestCheck:
    """Reads back the requests of one operation; made once for many calls."""

    def __init__(self, plan: ToolPlan, base_url: str, view: SchemaView) -> None:
        """Make the operation's own document.

        Args:
            plan: the operation.
            base_url: where its calls go.
            view: looks into its schemas.
        """
        self._plan = plan
        template, _, fixed = plan.operation.wire_path.partition("?")
        self._fixed = query_pairs(fixed)
        self._variables = {name: f"p{number}" for number, name in enumerate(dict.fromkeys(VARIABLE.findall(template)))}
        self._parameters = [
            (argument, self._variables[argument.name] if argument.place == "path" else argument.name)
            for argument in plan.arguments.values()
            if argument.parameter is not None
        ]
        self._header_names = {name.lower(): name for argument, name in self._parameters if argument.place == "header"}
        self._described = {location: self._describe(location, view) for location in _LOCATIONS}
        validators = SharedFormats(BoundedValidator, FORMATS)
        self._reader = RequestReader(self._document(base_url, template, view), self._described, plan.body, validators)

    def check(self, request: HttpRequest, sent: Mapping[str, JsonValue], body: JsonValue, *, has_body: bool) -> None:
        """Read a request back.

        Args:
            request: the built request, without credentials.
            sent: the values it must carry, by argument key, those of the body left out.
            body: the body it must carry.
            has_body: whether it carries one.

        Raises:
            CallError: the document would not accept it, or it does not say what was asked for.
        """
        self._reader.found = found = Found()
        errors = list(self._reader.iter_errors(self._read(request, sent, body)))
        problems = [problem for error in errors for problem in self._explain(error)]
        problems.extend((problems and ()) or self._differences(found, sent, body, has_body=has_body))
        if problems:
            raise CallError(
                f"The call of {self._plan.tool.name} cannot be sent: the document would not accept the request.",
                mend="Call it again with the arguments corrected.",
                errors=tuple(problems),
            )

    def _document(self, base_url: str, template: str, view: SchemaView) -> JsonObject:
        operation, body = self._plan.operation, self._plan.body
        path = VARIABLE.sub(lambda match: f"{{{self._variables[match[1]]}}}", template)
        described: JsonObject = {"parameters": [_parameter(argument, name) for argument, name in self._parameters]}
        if body is not None:
            schema: JsonValue = body.schema if isinstance(body.schema, dict) else {} if body.schema else {"not": {}}
            content: JsonValue = {body.media_type: {"schema": schema}}
            described["requestBody"] = {"required": body.required, "content": content}
        return {
            "openapi": "3.1.0",
            "servers": [{"url": base_url}],
            "paths": {path: {operation.method.lower(): described}},
            "$defs": view.definitions,
        }

    def _describe(self, location: str, view: SchemaView) -> Described:
        here = [(argument, name) for argument, name in self._parameters if argument.place == location]
        lifted = {name: argument.schema for argument, name in here if _is_lifted(argument, view)}
        owners: dict[str, str] = {}
        for name, schema in lifted.items():
            for member in view.members(schema):
                owners.setdefault(member, name)
        return Described(
            schemas={name: argument.schema for argument, name in here},
            view=view,
            owners=owners,
            lifted=frozenset(lifted),
            open_ended=frozenset(name for name, schema in lifted.items() if view.is_open(schema)),
        )

    def _read(self, request: HttpRequest, sent: Mapping[str, JsonValue], body: JsonValue) -> BuiltRequest:
        parts = urlsplit(request.url)
        shapes: dict[str, dict[str, Shape]] = {location: {} for location in _LOCATIONS}
        for argument, name in self._parameters:
            shapes[argument.place][name] = _shape(sent.get(argument.key))
        shapes["body"] = {name: _shape(member) for name, member in body.items()} if isinstance(body, dict) else {}
        headers = tuple((self._header_names.get(name.lower(), name.lower()), value) for name, value in request.headers)
        pairs = query_pairs(parts.query)
        pairs = pairs[len(self._fixed) :] if pairs[: len(self._fixed)] == self._fixed else pairs
        values = {
            "query": RawValues(pairs, shapes["query"], self._described["query"], plus=True),
            "header": RawValues(headers, shapes["header"], self._described["header"], encoded=False),
            "cookie": RawValues(
                cookie_pairs(request.header("cookie") or ""), shapes["cookie"], self._described["cookie"]
            ),
        }
        return BuiltRequest(
            origin=f"{parts.scheme}://{parts.netloc}",
            path=parts.path,
            method=request.method.lower(),
            values=values,
            content_type=request.header("content-type") or "",
            body=request.body,
            shapes=shapes,
        )

    def _differences(
        self, found: Found, sent: Mapping[str, JsonValue], body: JsonValue, *, has_body: bool
    ) -> list[FieldProblem]:
        problems: list[FieldProblem] = []
        for argument, name in self._parameters:
            read = getattr(found.parameters, argument.place).get(name, NOTHING)
            wanted: Any = sent.get(argument.key, NOTHING)
            if read is not wanted and not (read is not NOTHING and wanted is not NOTHING and same_text(wanted, read)):
                style = cast("Parameter", argument.parameter).style
                problems.append(
                    FieldProblem(where=argument.key, what=f"cannot be written in the system's style ({style})")
                )
        plan = self._plan.body
        if has_body and plan is not None and not (same if plan.kind == "json" else same_text)(body, found.body):
            problems.extend(self._in_body(body, found.body))
        return problems

    def _in_body(self, wanted: JsonValue, read: Any) -> Iterator[FieldProblem]:
        """What of a body does not arrive as it was given, by member where members can be told."""
        said = "does not arrive as it was given"
        if not (isinstance(wanted, dict) and isinstance(read, dict)):
            yield FieldProblem(where="body", what=said)
            return
        found = cast("dict[str, Any]", read)
        for name in dict.fromkeys((*wanted, *found)):
            if name not in wanted or name not in found or not same_text(wanted[name], found[name]):
                yield FieldProblem(where=self._plan.key_of("member", name) or f"body.{name}", what=said)

    def _explain(self, error: Exception) -> list[FieldProblem]:
        where, what = self._where(error), str(error)
        cause: BaseException | None = error
        while cause is not None:
            what = str(cause) or what
            faults = cast("tuple[ValidationError, ...]", getattr(cause, "schema_errors", ()))
            if faults:
                inner = explain(faults)
                return [
                    FieldProblem(where=where if p.where == "arguments" else f"{where}.{p.where}", what=p.what)
                    for p in inner
                ]
            cause = cause.__cause__
        return [FieldProblem(where=where, what=what)]

    def _where(self, error: Exception) -> str:
        name, location = getattr(error, "name", None), getattr(error, "location", None)
        originals = {short: long for long, short in self._variables.items()}
        for key, argument in self._plan.arguments.items():
            if argument.place == location and argument.name == originals.get(str(name), name):
                return key
        return "body"


def _parameter(argument: Argument, name: str) -> JsonObject:
    parameter = cast("Parameter", argument.parameter)
    out: JsonObject = {"name": name, "in": parameter.location, "required": argument.required}
    schema: JsonObject = argument.schema if isinstance(argument.schema, dict) else {}
    if parameter.media_type is not None:
        return {**out, "content": {parameter.media_type: {"schema": schema}}}
    explode = parameter.explode and (parameter.location, parameter.style) != ("cookie", "form")  # never written apart
    return {**out, "style": parameter.style, "explode": explode, "schema": schema}


def _is_lifted(argument: Argument, view: SchemaView) -> bool:
    """Whether the members of an object stand in the query or among the cookies under their own names."""
    parameter = cast("Parameter", argument.parameter)
    kinds = view.kinds(argument.schema)
    return (
        parameter.style in _LIFTING[parameter.location]
        and parameter.media_type is None
        and parameter.explode
        and (not kinds or "object" in kinds)
    )


def _shape(value: JsonValue) -> Shape:
    if isinstance(value, list):
        return "list"
    return "object" if isinstance(value, dict) else "single"
