"""Bodies of every kind: from a value to bytes, and what must be read in them again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from pydantic import JsonValue

from practicum.contracts.connectors import ArrayStyle
from practicum_connectors.catalogue.media import LINES
from practicum_connectors.catalogue.plan import BodyPlan
from practicum_connectors.catalogue.xml_shape import XmlShape
from practicum_connectors.exchange import Payload
from practicum_connectors.request.files import artifacts_in, chosen_type, marked, resolved, settled
from practicum_connectors.request.forms import write_form
from practicum_connectors.request.multipart import write_multipart
from practicum_connectors.request.texts import UnwritableError, text_of_scalar
from practicum_connectors.request.views import SchemaView
from practicum_connectors.request.xml_body import write_xml


@dataclass(frozen=True, slots=True)
class Written:
    """A body on its way.

    Attributes:
        content_type: its header.
        content: its bytes.
        meant: what must be read in it: the value it was made of, with marks where files stand.
    """

    content_type: str
    content: bytes
    meant: JsonValue


@dataclass(frozen=True)
class BodyWriter:
    """Writes the bodies of one operation.

    Attributes:
        plan: how its body is made.
        view: looks into its schemas.
        arrays: how lists inside of objects are written in forms.
    """

    plan: BodyPlan
    view: SchemaView
    arrays: ArrayStyle

    @cached_property
    def _has_files(self) -> bool:
        return self.plan.kind in {"multipart", "binary"}

    def wants(self, value: JsonValue) -> frozenset[str]:
        """The ids of the artifacts that a body names."""
        return frozenset(artifacts_in(value, self.plan.schema, self.view)) if self._has_files else frozenset()

    def write(self, value: JsonValue, files: Mapping[str, Payload]) -> Written:
        """The body.

        Args:
            value: what it says.
            files: stored artifacts by id.

        Raises:
            UnwritableError: the value has no form in it.
        """
        plan = self.plan
        match plan.kind:
            case "json":
                return Written(plan.media_type, json.dumps(value, ensure_ascii=False).encode(), value)
            case "form":
                return Written(plan.media_type, write_form(value, plan.encoding, self.arrays), value)
            case "multipart":
                return self._multipart(value, files)
            case "binary":
                return self._binary(value, files)
            case "xml":
                return Written(plan.media_type, write_xml(value, cast("XmlShape", plan.raw)), value)
            case _:
                return _text(plan.media_type, value)

    def _multipart(self, value: JsonValue, files: Mapping[str, Payload]) -> Written:
        whole: Any = resolved(value, self.plan.schema, self.view, files)
        if isinstance(whole, dict):
            whole = {name: self._settled(name, member) for name, member in cast("dict[str, Any]", whole).items()}
        content_type, content = write_multipart(whole, self.plan.encoding, self.arrays, self.plan.media_type)
        return Written(content_type, content, marked(whole))

    def _settled(self, name: str, member: Any) -> Any:
        said = self.plan.encoding.get(name)
        try:
            return settled(member, said.content_type if said else None)
        except UnwritableError as error:
            raise error.inside(name) from None

    def _binary(self, value: JsonValue, files: Mapping[str, Payload]) -> Written:
        payload: Any = resolved(value, self.plan.schema, self.view, files)
        if not isinstance(payload, Payload):
            raise UnwritableError("the body is a file")
        content_type = chosen_type(payload, self.plan.media_type)
        return Written(
            content_type, payload.content, marked(Payload(content_type, None, payload.content, complete=True))
        )


def _text(media_type: str, value: JsonValue) -> Written:
    if isinstance(value, list) and media_type in LINES:
        lines = [json.dumps(item, ensure_ascii=False) + "\n" for item in value]
        return Written(media_type, "".join(lines).encode(), value)
    text = text_of_scalar(value)
    told = not media_type.startswith("text/") or "charset" in media_type
    return Written(media_type if told else f"{media_type}; charset=utf-8", text.encode(), value)
