"""From arguments to a request: each argument to its one place on the wire."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ArrayStyle
from practicum.contracts.problems import FieldProblem
from practicum.errors import CallError
from practicum_connectors.catalogue.plan import Argument, ToolPlan
from practicum_connectors.document.operations import VARIABLE, Parameter
from practicum_connectors.exchange import HttpRequest, Payload
from practicum_connectors.request.arguments import ArgumentCheck
from practicum_connectors.request.bodies import BodyWriter, Written
from practicum_connectors.request.paths import Routes, has_control_characters, leaves_its_segment
from practicum_connectors.request.styles import write_cookie, write_header, write_path, write_query
from practicum_connectors.request.texts import UnwritableError
from practicum_connectors.request.views import SchemaView

if TYPE_CHECKING:
    from practicum_connectors.request.check import RequestCheck

_ACCEPT = "application/json, */*;q=0.5"
_USER_AGENT = "practicum"
_HALF = "holds half of a character (a lone surrogate), which no text can carry"


def load_checks() -> "type[RequestCheck]":
    """What checks built requests, loaded when it is first needed: the library behind it takes a while."""
    from practicum_connectors.request.check import RequestCheck

    return RequestCheck


@dataclass(frozen=True)
class RequestBuilder:
    """Builds the requests of one tool; its checks are made at the first call and kept.

    Attributes:
        plan: the tool and the way to the wire.
        base_url: where calls go, without a slash at its end.
        routes: all routes of the document.
        arrays: how lists inside of objects are written where OpenAPI leaves it open.
    """

    plan: ToolPlan
    base_url: str
    routes: Routes
    arrays: ArrayStyle = ArrayStyle.BRACKETS

    @cached_property
    def _wire(self) -> tuple[str, str]:
        """The path template on the wire and the query that is written into it."""
        template, _, fixed = self.plan.operation.wire_path.partition("?")
        return template, fixed

    @cached_property
    def _view(self) -> SchemaView:
        return SchemaView(self.plan.definitions.closure(self.plan.needs))

    @cached_property
    def _arguments(self) -> ArgumentCheck:
        return ArgumentCheck(self.plan, self._view.definitions)

    @cached_property
    def _request(self) -> "RequestCheck":
        return load_checks()(self.plan, self.base_url, self._view)

    @cached_property
    def _writer(self) -> BodyWriter | None:
        return BodyWriter(self.plan.body, self._view, self.arrays) if self.plan.body else None

    def wants(self, arguments: JsonObject) -> frozenset[str]:
        """The ids of the artifacts whose bytes a call needs."""
        value, has_body = self._body(arguments)
        return self._writer.wants(value) if self._writer and has_body else frozenset()

    def build(self, arguments: JsonObject, files: Mapping[str, Payload] = {}) -> HttpRequest:
        """The request of a call, checked before and after.

        Args:
            arguments: the tool's arguments.
            files: the artifacts that they name, by id.

        Raises:
            CallError: the arguments do not fit, or have no form in which the system would understand them.
        """
        self._arguments.check(arguments)
        sent = self._parameters(arguments)
        value, has_body = self._body(arguments)
        body = self._written(value, files) if has_body else None
        request = self._write(sent, body)
        self._request.check(request, sent, body.meant if body else None, has_body=has_body)
        return request

    def _parameters(self, arguments: JsonObject) -> dict[str, JsonValue]:
        """What goes into parameters, by key: null means absent there, for nothing else can carry it."""
        sent: dict[str, JsonValue] = {}
        for key, argument in self.plan.arguments.items():
            value = arguments.get(key, argument.default)
            if argument.parameter is not None and value is not None:
                sent[key] = value
        return sent

    def _body(self, arguments: JsonObject) -> tuple[JsonValue, bool]:
        plan = self.plan.body
        if plan is None:
            return None, False
        if not plan.flat:
            key = self.plan.key_of("body", "body")
            return arguments.get(key or ""), key in arguments
        members: dict[str, JsonValue] = {}
        asked: dict[str, JsonValue] = {}
        for key, argument in self.plan.arguments.items():
            if argument.place == "member" and key in arguments:
                members[argument.name] = arguments[key]
            elif argument.place == "member" and argument.default is not None:
                asked[argument.name] = argument.default
        has_body = bool(members) or plan.required
        return {**asked, **members} if has_body else {}, has_body

    def _written(self, value: JsonValue, files: Mapping[str, Payload]) -> Written:
        try:
            return cast("BodyWriter", self._writer).write(value, files)
        except UnwritableError as error:
            key = self.plan.key_of("member", error.where[0]) if error.where else None
            where = ".".join((key, *error.where[1:])) if key else ".".join(("body", *error.where))
            raise self._refused(FieldProblem(where=where, what=error.what)) from None
        except UnicodeEncodeError:
            raise self._refused(FieldProblem(where="body", what=_HALF)) from None

    def _write(self, sent: dict[str, JsonValue], body: Written | None) -> HttpRequest:
        template, fixed = self._wire
        variables: dict[str, str] = {}
        query = [fixed] if fixed else []
        headers: list[tuple[str, str]] = [("Accept", _ACCEPT), ("User-Agent", _USER_AGENT)]
        cookies: list[str] = []
        for key, value in sent.items():
            argument = self.plan.arguments[key]
            parameter = cast("Parameter", argument.parameter)
            try:
                match parameter.location:
                    case "path":
                        variables[parameter.name] = write_path(parameter, value, self.arrays)
                    case "query":
                        query.extend(write_query(parameter, value, self.arrays))
                    case "header":
                        headers.append((parameter.name, write_header(parameter, value, self.arrays)))
                    case "cookie":
                        cookies.extend(write_cookie(parameter, value, self.arrays))
            except UnwritableError as error:
                raise self._refusal(argument, str(error)) from None
            except UnicodeEncodeError:
                raise self._refusal(argument, _HALF) from None
        path = self._path(template, variables)
        if cookies:
            headers.append(("Cookie", "; ".join(cookies)))
        if body is not None:
            headers.append(("Content-Type", body.content_type))
        url = f"{self.base_url}{path}{'?' if query else ''}{'&'.join(query)}"
        return HttpRequest(self.plan.operation.method, url, tuple(headers), body.content if body else None)

    def _path(self, template: str, variables: dict[str, str]) -> str:
        for name in VARIABLE.findall(template):
            if name not in variables:
                raise CallError(
                    f"The path of {self.plan.tool.name} needs a value for {name!r}.",
                    errors=(FieldProblem(where=self.plan.key_of("path", name) or name, what="must not be null"),),
                )
        path = VARIABLE.sub(lambda match: variables[match[1]], template)
        for segment in urlsplit(path).path.split("/"):
            if leaves_its_segment(segment) or has_control_characters(segment):
                where = self._in_path(variables, segment)
                raise self._refused(FieldProblem(where=where, what="would leave its place in the path"))
        other = self.routes.other(self.plan.operation.method, self.plan.operation.path, path)
        if other is not None:
            where = self._in_path(variables, path)
            raise self._refused(FieldProblem(where=where, what=f"would reach another operation ({other})"))
        return path

    def _in_path(self, variables: dict[str, str], text: str) -> str:
        """The argument that stands in a part of the path, for the error; a path may take none."""
        key = next((self.plan.key_of("path", name) for name, value in variables.items() if value in text), None)
        return key or next(iter(self.plan.arguments), "")

    def _refusal(self, argument: Argument, what: str) -> CallError:
        return self._refused(FieldProblem(where=argument.key, what=what))

    def _refused(self, problem: FieldProblem) -> CallError:
        return CallError(
            f"The call of {self.plan.tool.name} cannot be sent.",
            mend="Call it again with the argument corrected.",
            errors=(problem,),
        )
