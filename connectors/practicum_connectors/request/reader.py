"""openapi-core reading one operation's requests, with its parts looked up once and what it reads kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from jsonschema import FormatChecker
from jsonschema_path import SchemaPath
from openapi_core import V31RequestValidator
from openapi_core.datatypes import Parameters
from openapi_core.deserializing.styles.deserializers import StyleDeserializer
from openapi_core.exceptions import OpenAPIError
from openapi_core.schema.parameters import get_style_and_explode
from openapi_core.validation.request.exceptions import (
    InvalidParameter,
    MissingParameter,
    MissingRequiredParameter,
    ParametersError,
    ParameterValidationError,
)
from openapi_core.validation.schemas.factories import SchemaValidatorsFactory
from openapi_core.validation.schemas.validators import SchemaValidator

from practicum_connectors.request.parse import RawValues, Shape

NOTHING = object()
"""Stands for a value that is not there; null is a value."""


@dataclass(slots=True)
class Locations:
    """Where openapi-core finds the parameters; it puts the path's values in itself."""

    query: RawValues
    header: RawValues
    cookie: RawValues
    shapes: Mapping[str, Shape]
    path: Any = None

    def __getitem__(self, location: str) -> RawValues:
        if location == "path":
            return RawValues(tuple(cast("dict[str, str]", self.path).items()), self.shapes)
        return cast("RawValues", getattr(self, location))


@dataclass(slots=True)
class BuiltRequest:
    """A built request as openapi-core's protocol has it."""

    host_url: str
    path: str
    method: str
    content_type: str
    body: bytes | None
    parameters: Locations


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


@dataclass(frozen=True, slots=True)
class _Known:
    """A parameter with the library's parts for it, looked up once instead of at each call."""

    name: str
    location: str
    required: bool
    deserializer: StyleDeserializer
    validator: SchemaValidator

    def read(self, locations: Locations) -> Any:
        """The value in a request.

        Raises:
            KeyError: it is not there.
            OpenAPIError: it is not what the document describes.
        """
        value = self.deserializer.deserialize(locations[self.location])
        self.validator.validate(value)
        return value


class RequestReader(V31RequestValidator):
    """openapi-core's validator, keeping what it reads.

    It reads parameters with the library's own readers, casters and validators, but without filling in defaults and
    without refusing empty text, both of which would hide what is really sent.
    """

    found: Found

    _known: tuple[list[_Known], list[SchemaPath]] | None = None

    def _look_up(self, operation: SchemaPath) -> tuple[list[_Known], list[SchemaPath]]:
        """The parameters with a style, and those that hold a media type, of the document's only operation."""
        if self._known is None:
            described = list(operation / "parameters")
            simple = [self._know(parameter) for parameter in described if "schema" in parameter]
            self._known = simple, [parameter for parameter in described if "content" in parameter]
        return self._known

    def _know(self, parameter: SchemaPath) -> _Known:
        name, schema = (parameter / "name").read_str(), parameter / "schema"
        style, explode = get_style_and_explode(parameter)
        return _Known(
            name=name,
            location=(parameter / "in").read_str(),
            required=(parameter / "required").read_bool(),
            deserializer=self.style_deserializers_factory.create(self.spec, schema, style, explode, name=name),
            validator=self.schema_validators_factory.create(self.spec, schema),
        )

    def _get_parameters(self, parameters: Any, operation: SchemaPath, path: SchemaPath) -> Parameters:
        del path
        errors: list[OpenAPIError] = []
        read = self.found.parameters
        simple, complex_ = self._look_up(operation)
        for known in simple:
            try:
                getattr(read, known.location)[known.name] = known.read(parameters)
            except KeyError:
                if known.required:
                    errors.append(MissingRequiredParameter(known.name, known.location))
            except OpenAPIError as error:
                invalid = InvalidParameter(known.name, known.location)
                invalid.__cause__ = error
                errors.append(invalid)
        for parameter in complex_:
            try:
                value = self._get_parameter(parameters, parameter)
                getattr(read, (parameter / "in").read_str())[(parameter / "name").read_str()] = value
            except MissingParameter:
                continue
            except ParameterValidationError as error:
                errors.append(error)
        if errors:
            raise ParametersError(parameters=read, errors=errors)
        return read

    def _get_body(self, *args: Any, **kwargs: Any) -> Any:
        self.found.body = super()._get_body(*args, **kwargs)
        return self.found.body
