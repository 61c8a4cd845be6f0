"""Turn OpenAPI documents into tools, calls into requests, and responses into observations: a pure library."""

from practicum_connectors.calls import PreparedCall, Sent
from practicum_connectors.catalogue.search import ToolIndex
from practicum_connectors.connector import CompiledConnector, load_source
from practicum_connectors.document import Document, load_document
from practicum_connectors.exchange import Delivery, HttpRequest, HttpResponse

__all__ = [
    "CompiledConnector",
    "Delivery",
    "Document",
    "HttpRequest",
    "HttpResponse",
    "PreparedCall",
    "Sent",
    "ToolIndex",
    "load_document",
    "load_source",
]
