"""Registrations that are not made, and why."""

from practicum.contracts.connectors import ConnectorReport
from practicum.contracts.problems import FieldProblem
from practicum.errors import ConflictError, DocumentError
from practicum_connectors.connector import CompiledConnector
from practicum_gateway.catalogue.registrations import Known

_FAULTS_SHOWN = 10


def unchanged(known: Known, fingerprint: str, digest: str) -> ConnectorReport:
    """What is there already, where the same is asked for.

    Raises:
        ConflictError: something else is asked for under its name.
    """
    name = known.report.connector.name
    if known.fingerprint != fingerprint:
        raise ConflictError(
            f"The connector '{name}' is registered with other content.",
            mend="Remove it first, or choose another name.",
        )
    if digest not in known.digests:
        there = known.report.connector
        file = "" if there.source or there.kind == "mcp" else " FILE"
        raise ConflictError(
            f"The connector '{name}' is registered with another document.",
            mend=f"Refresh it to put the newer document in force: `practicum connectors refresh {name}{file}`.",
        )
    return known.report


def require_tools(compiled: CompiledConnector) -> None:
    """Go on only if something became a tool.

    Raises:
        DocumentError: nothing did; it says why of the first operations.
    """
    if compiled.tools:
        return
    refused = compiled.report
    raise DocumentError(
        f"None of the document's {len(refused)} operations became a tool."
        if refused
        else "The document has no operation, or `include` and `exclude` leave none of them.",
        errors=tuple(
            FieldProblem(where=f"{one.method} {one.path}", what="; ".join(one.notes) or "left out")
            for one in refused[:_FAULTS_SHOWN]
        ),
        mend="Give a document with usable operations, or widen `include` and `exclude`.",
    )


def breaks_calls(name: str, many: int) -> ConflictError:
    """A registration that would break calls, and nobody said that it may."""
    return ConflictError(
        f"The registration of '{name}' has another document, of which {many} changes break calls that were right.",
        mend="Look at them with `compare`, and say `accept` if it is meant.",
    )
