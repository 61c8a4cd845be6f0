"""openapi-core reading one operation's requests, with its parts looked up once and what it reads kept.

The document it reads with holds this operation only, so it need not search for it: the path is taken apart here, by the
inverse of its template. How values of each style and bodies of each kind are read is told to the library (`parse*`),
for its own readers lose exploded objects, nested ones, files and XML; types are read by what the whole schema asks for.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast
from urllib.parse import urlsplit

from jsonschema import FormatChecker
from jsonschema_path import SchemaPath
from openapi_core import V31RequestValidator
from openapi_core.datatypes import Parameters
from openapi_core.deserializing.styles.deserializers import StyleDeserializer
from openapi_core.exceptions import OpenAPIError
from openapi_core.schema.parameters import get_style_and_explode
from openapi_core.templating.media_types.exceptions import MediaTypeNotFound
from openapi_core.templating.paths.exceptions import OperationNotFound, PathNotFound
from openapi_core.validation.request.exceptions import (
    InvalidParameter,
    InvalidRequestBody,
    MissingRequiredParameter,
    MissingRequiredRequestBody,
)
from openapi_core.validation.schemas.factories import SchemaValidatorsFactory
from openapi_core.validation.schemas.validators import SchemaValidator

from practicum.contracts.base import JsonObject
from practicum_connectors.catalogue.plan import BodyPlan
from practicum_connectors.document.operations import VARIABLE
from practicum_connectors.request.files import covers
from practicum_connectors.request.forms import FORM, is_json
from practicum_connectors.request.parse import READERS, Described, RawValues, Shape
from practicum_connectors.request.parse_bodies import BodyReader, body_reader
from practicum_connectors.request.parse_forms import FormReader
from practicum_connectors.request.views import SchemaView

NOTHING = object()
"""Stands for a value that is not there; null is a value."""


@dataclass(slots=True)
class BuiltRequest:
    """A built request as openapi-core is handed it.

    Attributes:
        origin: scheme and host.
        path: encoded, with the base's.
        method: lower case.
        values: raw values of query, headers and cookies, by location.
        content_type: of the body, empty without one.
        body: its bytes.
        shapes: kinds of value by location and name, `body` among the locations, where the document leaves them open.
    """

    origin: str
    path: str
    method: str
    values: Mapping[str, RawValues]
    content_type: str
    body: bytes | None
    shapes: Mapping[str, Mapping[str, Shape]]


class SharedFormats(SchemaValidatorsFactory):
    """Validators that share one format checker, where the library's factory copies it for each of them."""

    def get_format_checker(self, *_: Any, **__: Any) -> FormatChecker:
        """The one checker, whatever is asked for."""
        return self.format_checker


@dataclass(slots=True)
class Found:
    """What openapi-core read in a request."""

    parameters: Parameters = field(default_factory=Parameters)
    body: Any = NOTHING


class _Typed:
    """Stands where the library has its casters, which try the members of a union blindly."""

    def __init__(self, view: SchemaView, schema: object) -> None:
        self._view, self._schema = view, schema
        self._is_text = view.only(schema, "string")

    def cast(self, value: Any) -> Any:
        return value if self._is_text and isinstance(value, str) else self._view.typed(value, self._schema)


@dataclass(frozen=True, slots=True)
class _Known:
    """A parameter with the library's parts for it, looked up once instead of at each call."""

    name: str
    location: str
    required: bool
    deserialize: Callable[[RawValues], Any]
    validator: SchemaValidator


class RequestReader(V31RequestValidator):
    """openapi-core's validator, keeping what it reads.

    It reads with the library's parts, but without filling in defaults and without refusing empty text, both of which
    would hide what is really sent.
    """

    found: Found

    def __init__(
        self,
        document: JsonObject,
        described: Mapping[str, Described],
        body: BodyPlan | None,
        validators: SchemaValidatorsFactory,
    ) -> None:
        """Look nothing up yet.

        Args:
            document: the document of one operation at one server.
            described: what it says of the parameters, by location.
            body: how its bodies are made.
            validators: makes the validators of its schemas.
        """
        super().__init__(SchemaPath.from_dict(cast("Any", document)), schema_validators_factory=validators)
        self._described = described
        self._body_plan = body
        whole = cast("Any", document)
        ((template, operations),) = whole["paths"].items()
        (self._method,) = operations
        base = urlsplit(str(whole["servers"][0]["url"]))
        self._origin = f"{base.scheme}://{base.netloc}"
        self._names: list[str] = VARIABLE.findall(template)
        literals = [re.escape(part) for part in VARIABLE.split(f"{base.path}{template}")[::2]]
        self._pattern = re.compile("([^/]*?)".join(literals))
        self._operation = self.spec / "paths" / template / self._method

    def iter_errors(self, request: Any) -> Iterator[Exception]:
        """What is wrong with a request; what can be read of it is in `found`."""
        built = cast("BuiltRequest", request)
        match = self._pattern.fullmatch(built.path)
        if match is None or built.origin != self._origin:
            yield PathNotFound(f"{built.origin}{built.path}")
            return
        if built.method != self._method:
            yield OperationNotFound(built.path, built.method)
            return
        path = tuple(zip(self._names, match.groups(), strict=True))
        values = {**built.values, "path": RawValues(path, built.shapes["path"], self._described["path"])}
        for known in self._parameters:
            error = self._read_parameter(known, values[known.location])
            if error is not None:
                yield error
        error = self._read_body(built)
        if error is not None:
            yield error

    def _read_parameter(self, known: _Known, values: RawValues) -> OpenAPIError | None:
        invalid = InvalidParameter(known.name, known.location)
        try:
            value = known.deserialize(values)
            known.validator.validate(value)
        except KeyError:
            return MissingRequiredParameter(known.name, known.location) if known.required else None
        except (OpenAPIError, ValueError) as error:
            invalid.__cause__ = error
            return invalid
        getattr(self.found.parameters, known.location)[known.name] = value
        return None

    def _read_body(self, built: BuiltRequest) -> OpenAPIError | None:
        if self._body is None:
            return None
        plan, read, validator = self._body
        if built.body is None:
            return MissingRequiredRequestBody() if plan.required else None
        invalid = InvalidRequestBody()
        if not covers(plan.media_type, built.content_type):
            invalid.__cause__ = MediaTypeNotFound(built.content_type, [plan.media_type])
            return invalid
        try:
            self.found.body = read(built.content_type, built.body, built.shapes["body"])
            validator.validate(self.found.body)
        except (OpenAPIError, ValueError) as error:
            invalid.__cause__ = error
            return invalid
        return None

    @cached_property
    def _parameters(self) -> list[_Known]:
        """The parameters of the document's only operation."""
        return [self._know(cast("SchemaPath", parameter)) for parameter in self._operation / "parameters"]

    @cached_property
    def _body(self) -> tuple[BodyPlan, BodyReader, SchemaValidator] | None:
        if self._body_plan is None:
            return None
        schema = self._operation / "requestBody" / "content" / self._body_plan.media_type / "schema"
        validator = self.schema_validators_factory.create(self.spec, schema)
        return self._body_plan, body_reader(self._body_plan, self._described["path"].view), validator

    def _know(self, parameter: SchemaPath) -> _Known:
        name, location = (parameter / "name").read_str(), (parameter / "in").read_str()
        described = self._described[location]
        if "content" in parameter:
            (media_type,) = cast("dict[str, Any]", (parameter / "content").read_value())
            schema = parameter / "content" / media_type / "schema"
            deserialize = _content_reader(media_type, name, described)
        else:
            schema = parameter / "schema"
            style, explode = get_style_and_explode(parameter)
            caster = cast("Any", _Typed(described.view, described.schemas[name]))
            reader = cast("Any", READERS[style])
            deserialize = StyleDeserializer(style, explode, name, "", caster, reader).deserialize
        return _Known(
            name=name,
            location=location,
            required=(parameter / "required").read_bool(),
            deserialize=deserialize,
            validator=self.schema_validators_factory.create(self.spec, schema),
        )


def _content_reader(media_type: str, name: str, described: Described) -> Callable[[RawValues], Any]:
    """Reads a parameter that holds a media type."""
    schema = described.schemas[name]
    if media_type == FORM:
        form = FormReader(schema, {}, described.view)
        return lambda values: form.read(values[name].encode("ascii"), {})

    def read(values: RawValues) -> Any:
        if is_json(media_type) or values.shapes.get(name, "single") != "single":
            return json.loads(values[name])
        return described.view.typed(values[name], schema)

    return read
