"""From arguments to a request: each argument to its one place on the wire."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import cast
from urllib.parse import urlsplit

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.problems import FieldProblem
from practicum.errors import CallError
from practicum_connectors.catalogue.plan import Argument, ToolPlan
from practicum_connectors.document.operations import VARIABLE, Parameter
from practicum_connectors.exchange import HttpRequest, Payload
from practicum_connectors.request.arguments import ArgumentCheck
from practicum_connectors.request.check import RequestCheck
from practicum_connectors.request.paths import Routes, has_control_characters, leaves_its_segment
from practicum_connectors.request.styles import (
    UnwritableError,
    write_cookie,
    write_header,
    write_path,
    write_query,
)

_ACCEPT = "application/json, */*;q=0.5"
_USER_AGENT = "practicum"


@dataclass(frozen=True)
class RequestBuilder:
    """Builds the requests of one tool; its checks are made at the first call and kept.

    Attributes:
        plan: the tool and the way to the wire.
        base_url: where calls go, without a slash at its end.
        routes: all routes of the document.
    """

    plan: ToolPlan
    base_url: str
    routes: Routes

    @cached_property
    def _arguments(self) -> ArgumentCheck:
        return ArgumentCheck(self.plan.tool)

    @cached_property
    def _request(self) -> RequestCheck:
        return RequestCheck(self.plan, self.base_url)

    def build(self, arguments: JsonObject, files: Mapping[str, Payload] = {}) -> HttpRequest:
        """The request of a call, checked before and after.

        Args:
            arguments: the tool's arguments.
            files: bytes of the artifacts that the arguments name, by id.

        Raises:
            CallError: the arguments do not fit, or have no form in which the system would understand them.
        """
        del files  # bodies are JSON: no tool takes a file
        self._arguments.check(arguments)
        sent = self._parameters(arguments)
        body, has_body = self._body(arguments)
        request = self._write(sent, json.dumps(body, ensure_ascii=False).encode() if has_body else None)
        self._request.check(request, sent, body, has_body=has_body)
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
        members = {
            argument.name: arguments[key]
            for key, argument in self.plan.arguments.items()
            if argument.place == "member" and key in arguments
        }
        return cast("JsonValue", members), bool(members) or plan.required

    def _write(self, sent: dict[str, JsonValue], body: bytes | None) -> HttpRequest:
        template, _, fixed = self.plan.operation.path.partition("?")
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
                        variables[parameter.name] = write_path(parameter, value)
                    case "query":
                        query.extend(write_query(parameter, value))
                    case "header":
                        headers.append((parameter.name, write_header(parameter, value)))
                    case "cookie":
                        cookies.append(f"{parameter.name}={write_cookie(parameter, value)}")
            except UnwritableError as error:
                raise self._refusal(argument, str(error)) from None
        path = self._path(template, variables)
        if cookies:
            headers.append(("Cookie", "; ".join(cookies)))
        if body is not None and self.plan.body is not None:
            headers.append(("Content-Type", self.plan.body.media_type))
        url = f"{self.base_url}{path}{'?' if query else ''}{'&'.join(query)}"
        return HttpRequest(self.plan.operation.method, url, tuple(headers), body)

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
                raise self._refusal(self._in_path(variables, segment), "would leave its place in the path")
        other = self.routes.other(self.plan.operation.method, template, path)
        if other is not None:
            raise self._refusal(self._in_path(variables, path), f"would reach another operation ({other})")
        return path

    def _in_path(self, variables: dict[str, str], text: str) -> Argument:
        """The argument that stands in a part of the path, for the error."""
        key = next((self.plan.key_of("path", name) for name, value in variables.items() if value in text), None)
        return self.plan.arguments[key] if key else next(iter(self.plan.arguments.values()))

    def _refusal(self, argument: Argument, what: str) -> CallError:
        return CallError(
            f"The call of {self.plan.tool.name} cannot be sent.",
            mend="Call it again with the argument corrected.",
            errors=(FieldProblem(where=argument.key, what=what),),
        )
