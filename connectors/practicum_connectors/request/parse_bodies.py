"""Reading bodies of every kind back, each by a reader that knows nothing of its writer."""

import json
from collections.abc import Callable, Mapping
from typing import cast

from pydantic import JsonValue

from practicum_connectors.catalogue.plan import BodyPlan
from practicum_connectors.catalogue.xml_shape import XmlShape
from practicum_connectors.request.files import mark_of
from practicum_connectors.request.parse import Shape
from practicum_connectors.request.parse_forms import FormReader
from practicum_connectors.request.parse_multipart import MultipartReader
from practicum_connectors.request.parse_xml import XmlReader
from practicum_connectors.request.views import SchemaView

BodyReader = Callable[[str, bytes, Mapping[str, Shape]], JsonValue]
"""From content type, bytes and the kinds of value of the members, where the document leaves them open, to the value.

It raises ValueError where the bytes cannot be read.
"""


def body_reader(plan: BodyPlan, view: SchemaView) -> BodyReader:
    """The reader of an operation's bodies.

    Args:
        plan: how they are made.
        view: looks into their schemas.
    """
    match plan.kind:
        case "json":
            return lambda _, raw, __: json.loads(raw)
        case "form":
            form = FormReader(plan.schema, plan.encoding, view)
            return lambda _, raw, shapes: form.read(raw, shapes)
        case "multipart":
            return MultipartReader(plan.schema, plan.encoding, view).read
        case "binary":
            return lambda content_type, raw, _: mark_of(raw, content_type, None)
        case "xml":
            xml = XmlReader(plan.schema, cast("XmlShape", plan.raw), view)
            return lambda _, raw, shapes: xml.read(raw, shapes)
        case _:
            return lambda _, raw, __: _text(raw, plan, view)


def _text(raw: bytes, plan: BodyPlan, view: SchemaView) -> JsonValue:
    if view.only(plan.schema, "array"):
        return [json.loads(line) for line in raw.split(b"\n")[:-1]]
    return view.typed(raw.decode(), plan.schema)
