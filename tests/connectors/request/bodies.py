"""Operations whose body is something else than JSON."""

from typing import Any

import pytest

from practicum.contracts.connectors import ArrayStyle, ConnectorSpec
from practicum.errors import CallError
from practicum_connectors import HttpRequest, load_document
from practicum_connectors.auth import Keyring, NoCredentials
from practicum_connectors.compiled import compile_document
from practicum_connectors.exchange import Payload
from practicum_connectors.request.build import RequestBuilder
from tests.connectors.documents import Json, compiled, document

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
BYTES: Json = {"type": "string", "format": "binary"}


def taking(media_type: str, schema: Any = None, *, required: bool = True, **media: Any) -> Json:
    """An operation with a body of one media type; the schema is left away where there is none."""
    said = media if schema is None else {"schema": schema, **media}
    return {"operationId": "act", "requestBody": {"required": required, "content": {media_type: said}}}


def built(made: Json, arguments: Json, files: dict[str, Payload] | None = None, **rest: Any) -> HttpRequest:
    """The request of a call; `rest` is the document's."""
    return compiled(document({"/t": {"post": made}}, **rest)).prepare("crm_act", arguments, files or {}).request


def builder(made: Json, arrays: ArrayStyle = ArrayStyle.BRACKETS) -> RequestBuilder:
    """What a connector builds the operation's requests with."""
    spec, found = ConnectorSpec(name="crm"), load_document(document({"/t": {"post": made}}))
    made_of = compile_document(spec, found, "http://127.0.0.1:1", Keyring({}, NoCredentials(), unbound=True))
    return RequestBuilder(made_of.plans["crm_act"], made_of.base_of["crm_act"], made_of.routes, arrays)


def refusal(made: Json, arguments: Json, files: dict[str, Payload] | None = None, **rest: Any) -> str:
    """What the model is told of a call that is refused."""
    with pytest.raises(CallError) as caught:
        built(made, arguments, files, **rest)
    assert caught.value.errors
    return str(caught.value)
