"""Our own small cases for every construct of OpenAPI that matters to tools, and what runs them.

The cases lie as data in `cases/`, each with the request that must arrive or what must come of it otherwise; they are
written from the specifications and from what users of other converters reported, not from what our code does. Names are
looked up when they are first used, as in the package above.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from practicum_connectors.conformance.case import Case, load_cases, read_cases
    from practicum_connectors.conformance.runner import Outcome, run
    from practicum_connectors.conformance.table import markdown

__all__ = ["Case", "Outcome", "load_cases", "markdown", "read_cases", "run"]

_HOMES = {
    "Case": "case",
    "Outcome": "runner",
    "load_cases": "case",
    "markdown": "table",
    "read_cases": "case",
    "run": "runner",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'practicum_connectors.conformance' has no attribute {name!r}")
    return getattr(import_module(f"practicum_connectors.conformance.{_HOMES[name]}"), name)
