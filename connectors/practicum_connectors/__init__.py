"""Turn OpenAPI documents into tools, calls into requests, and responses into observations: a pure library.

Names are looked up when they are first used, so that the command line can ask for its commands here in no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from practicum_connectors.calls import PreparedCall, Sent
    from practicum_connectors.catalogue.search import ToolIndex
    from practicum_connectors.checking import check
    from practicum_connectors.connector import CompiledConnector, load_source
    from practicum_connectors.document import Document, load_document
    from practicum_connectors.document.sources import DocumentSource, folder_source
    from practicum_connectors.exchange import Delivery, HttpRequest, HttpResponse, Payload
    from practicum_connectors.response.observe import Observed
    from practicum_connectors.revision import Revision, compare

__all__ = [
    "CompiledConnector",
    "Delivery",
    "Document",
    "DocumentSource",
    "HttpRequest",
    "HttpResponse",
    "Observed",
    "Payload",
    "PreparedCall",
    "Revision",
    "Sent",
    "ToolIndex",
    "check",
    "compare",
    "folder_source",
    "load_document",
    "load_source",
]

_HOMES = {
    "CompiledConnector": "connector",
    "Delivery": "exchange",
    "Document": "document",
    "DocumentSource": "document.sources",
    "HttpRequest": "exchange",
    "HttpResponse": "exchange",
    "Observed": "response.observe",
    "Payload": "exchange",
    "PreparedCall": "calls",
    "Revision": "revision",
    "Sent": "calls",
    "ToolIndex": "catalogue.search",
    "check": "checking",
    "compare": "revision",
    "folder_source": "document.sources",
    "load_document": "document",
    "load_source": "connector",
}
"""Where each name lives; the imports above say the same to type checkers, and a test compares them."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'practicum_connectors' has no attribute {name!r}")
    value: object = getattr(import_module(f"practicum_connectors.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
