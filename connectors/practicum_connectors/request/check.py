"""The proof before sending: openapi-core reads the built request against the document and must find what was asked for.

Each operation gets a document of its own, made of the schemas that its tool shares with others; nothing is copied per
operation or per call. What openapi-core reads is kept and compared with the arguments, so that a value which a style
cannot carry (a `|` in a piped list) is refused instead of arriving as something else.
"""

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from jsonschema.exceptions import ValidationError
from jsonschema_path import SchemaPath
from openapi_core.casting.schemas import oas31_types_caster
from openapi_core.casting.schemas.factories import SchemaCastersFactory
from openapi_core.deserializing.media_types.util import json_loads
from openapi_core.deserializing.styles.factories import StyleDeserializersFactory
from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.problems import FieldProblem
from practicum.errors import CallError
from practicum_connectors.catalogue.plan import Argument, ToolPlan
from practicum_connectors.document.operations import VARIABLE
from practicum_connectors.exchange import HttpRequest
from practicum_connectors.patterns import BoundedValidator
from practicum_connectors.request.arguments import explain
from practicum_connectors.request.formats import FORMATS
from practicum_connectors.request.parse import READERS, RawValues, Shape, cookie_pairs, query_pairs
from practicum_connectors.request.reader import NOTHING, BuiltRequest, Found, Locations, RequestReader, SharedFormats
from practicum_connectors.request.wire import wire_schema


class RequestCheck:
    """Reads back the requests of one operation; made once for many calls."""

    def __init__(self, plan: ToolPlan, base_url: str) -> None:
        """Make the operation's own document.

        Args:
            plan: the operation.
            base_url: where its calls go.
        """
        self._plan = plan
        self._definitions = plan.definitions.closure(plan.needs)
        parts = urlsplit(base_url)
        self._host_url = f"{parts.scheme}://{parts.netloc}"
        names = dict.fromkeys(VARIABLE.findall(plan.operation.path.partition("?")[0]))
        self._variables = {name: f"p{number}" for number, name in enumerate(names)}
        schemas = SharedFormats(BoundedValidator, FORMATS)
        casters = SchemaCastersFactory(schemas, oas31_types_caster)
        self._reader = RequestReader(
            SchemaPath.from_dict(cast("Any", self._document(base_url))),
            schema_casters_factory=casters,
            schema_validators_factory=schemas,
            style_deserializers_factory=StyleDeserializersFactory(casters, cast("Any", READERS)),
            extra_media_type_deserializers={plan.body.media_type: json_loads} if plan.body else None,
        )

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
        errors = list(self._reader.iter_errors(cast("Any", self._read(request, sent))))
        problems = [problem for error in errors for problem in self._explain(error)]
        problems.extend((problems and ()) or self._differences(found, sent, body, has_body=has_body))
        if problems:
            raise CallError(
                f"The call of {self._plan.tool.name} cannot be sent: the document would not accept the request.",
                mend="Call it again with the arguments corrected.",
                errors=tuple(problems),
            )

    def _document(self, base_url: str) -> JsonObject:
        operation, body = self._plan.operation, self._plan.body
        path = VARIABLE.sub(lambda match: f"{{{self._variables[match[1]]}}}", operation.path.partition("?")[0])
        described: JsonObject = {
            "parameters": [self._parameter(a) for a in self._plan.arguments.values() if a.parameter]
        }
        if body is not None:
            schema: JsonValue = body.schema if isinstance(body.schema, dict) else {} if body.schema else {"not": {}}
            content: JsonValue = {body.media_type: {"schema": schema}}
            described["requestBody"] = {"required": body.required, "content": content}
        return {
            "openapi": "3.1.0",
            "servers": [{"url": base_url}],
            "paths": {path: {operation.method.lower(): described}},
            "$defs": self._definitions,
        }

    def _parameter(self, argument: Argument) -> JsonObject:
        parameter = argument.parameter
        assert parameter is not None  # noqa: S101 (asked for by the only caller)
        name = self._variables[parameter.name] if parameter.location == "path" else parameter.name
        out: JsonObject = {"name": name, "in": parameter.location, "required": argument.required}
        if parameter.media_type is not None:
            schema = argument.schema if isinstance(argument.schema, dict) else {}
            return {**out, "content": {"application/json": {"schema": schema}}}
        schema = wire_schema(argument.schema, self._definitions)
        explode = parameter.explode and parameter.location != "cookie"  # no cookie is ever written apart
        return {**out, "style": parameter.style, "explode": explode, "schema": schema}

    def _read(self, request: HttpRequest, sent: Mapping[str, JsonValue]) -> BuiltRequest:
        parts = urlsplit(request.url)
        shapes: dict[str, Shape] = {}
        for key, argument in self._plan.arguments.items():
            if argument.parameter is not None:
                name = self._variables.get(argument.name) if argument.place == "path" else argument.name
                shapes[name or argument.name] = _shape(sent.get(key))
        headers = tuple((name.lower(), value) for name, value in request.headers)
        header = RawValues(_as_declared(headers, self._plan), shapes, encoded=False)
        cookie = RawValues(cookie_pairs(request.header("cookie") or ""), shapes)
        locations = Locations(RawValues(query_pairs(parts.query), shapes), header, cookie, shapes)
        content_type = request.header("content-type") or ""
        return BuiltRequest(self._host_url, parts.path, request.method.lower(), content_type, request.body, locations)

    def _differences(
        self, found: Found, sent: Mapping[str, JsonValue], body: JsonValue, *, has_body: bool
    ) -> list[FieldProblem]:
        problems: list[FieldProblem] = []
        for key, argument in self._plan.arguments.items():
            if argument.parameter is None:
                continue
            name = self._variables[argument.name] if argument.place == "path" else argument.name
            read = getattr(found.parameters, argument.place).get(name, NOTHING)
            wanted: Any = sent.get(key, NOTHING)
            if read is not wanted and not (read is not NOTHING and wanted is not NOTHING and _same(wanted, read)):
                style = argument.parameter.style
                problems.append(FieldProblem(where=key, what=f"cannot be written in the system's style ({style})"))
        if has_body and found.body != body:
            problems.append(FieldProblem(where="body", what="does not arrive as it was given"))
        return problems

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


def _as_declared(headers: tuple[tuple[str, str], ...], plan: ToolPlan) -> tuple[tuple[str, str], ...]:
    """Headers under the names that the document uses: names on the wire know no case, openapi-core's keys do."""
    names = {a.name.lower(): a.name for a in plan.arguments.values() if a.place == "header"}
    return tuple((names.get(name, name), value) for name, value in headers)


def _shape(value: JsonValue) -> Shape:
    if isinstance(value, list):
        return "list"
    return "object" if isinstance(value, dict) else "single"


def _same(wanted: JsonValue, read: Any) -> bool:
    """Whether text that was read means the value that was written, as far as text can."""
    if isinstance(wanted, list):
        return isinstance(read, list) and _all_same(wanted, cast("list[Any]", read))
    if isinstance(wanted, dict):
        found = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
        return wanted.keys() == found.keys() and _all_same(list(wanted.values()), [found[key] for key in wanted])
    if isinstance(wanted, bool) or isinstance(read, bool):
        return str(wanted).lower() == str(read).lower()
    if isinstance(wanted, int | float):
        try:
            return wanted == read or float(wanted) == float(read)
        except (TypeError, ValueError, OverflowError):
            return False
    return wanted == read or str(wanted) == str(read)


def _all_same(wanted: list[JsonValue], read: list[Any]) -> bool:
    return len(wanted) == len(read) and all(_same(mine, yours) for mine, yours in zip(wanted, read, strict=True))
