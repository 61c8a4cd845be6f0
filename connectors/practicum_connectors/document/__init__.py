"""From bytes to operations: load, follow references, list."""

from practicum_connectors.document.load import Document, load_document
from practicum_connectors.document.operations import (
    Body,
    Location,
    Operation,
    Parameter,
    Unreadable,
    list_operations,
)
from practicum_connectors.document.pointers import Node, Pointers

__all__ = [
    "Body",
    "Document",
    "Location",
    "Node",
    "Operation",
    "Parameter",
    "Pointers",
    "Unreadable",
    "list_operations",
    "load_document",
]
