"""What the registration of a system would say in a declaration."""

import json

from pydantic import BaseModel, JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ConnectorSpec, SchemesAuth
from practicum.contracts.declared import Declared
from practicum.contracts.secrets import is_reference
from practicum_gateway.catalogue.registrations import Documents

_APART = {"name", "source", "document", "documents", "mcp", "auth", "practice"}


def connector_declared(spec: ConnectorSpec, documents: Documents) -> Declared:
    """The registration without its credentials; a document that was handed over is the latest one, overlay and all.

    Args:
        spec: as it is kept, its credential opened.
        documents: what it is compiled from.
    """
    fetched = spec.source or spec.mcp
    said = _dumped(spec, leave_out=_APART if fetched else _APART | {"overlay"})
    if spec.mcp is not None:
        said["mcp"] = spec.mcp
    elif spec.source is not None:
        said["document"] = spec.source
    if spec.auth.kind != "none":
        said["auth"] = _shown(spec.auth)
    if spec.practice is not None:
        said["practice"] = practice = _dumped(spec.practice, leave_out={"auth"})
        if spec.practice.auth.kind != "none":
            practice["auth"] = _shown(spec.practice.auth)
    document = None if fetched else json.loads((documents.newer or documents.present).canonical)
    return Declared(name=spec.name, said=said, document=document)


def hidden(text: str | None) -> str | None:
    """A secret as it may be shown: its reference where it is kept outside."""
    return text if text is not None and is_reference(text) else None


def _dumped(value: BaseModel, leave_out: set[str]) -> JsonObject:
    said: JsonObject = json.loads(value.model_dump_json(exclude=leave_out, exclude_defaults=True))
    return said


def _shown(auth: BaseModel) -> JsonObject:
    """A credential: its kind and what is no secret of it."""
    if isinstance(auth, SchemesAuth):
        return {"kind": auth.kind, "schemes": {name: _shown(each) for name, each in auth.schemes.items()}}
    said: JsonObject = json.loads(auth.model_dump_json(exclude_none=True))
    fields = type(auth).model_fields
    return {name: value if fields[name].repr else hidden(_text(value)) for name, value in said.items()}


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
