"""What became of the operations of a document, and what changed in it, as text for people."""

import json
from collections import Counter
from collections.abc import Sequence

from practicum.cli.output import moment, plain, say, short, show_fields, show_table
from practicum.contracts.connectors import Change, ConnectorReport, Fidelity, OperationReport, RefreshReport

WORST_FIRST = (Fidelity.REFUSED, Fidelity.DEGRADED, Fidelity.EXACT)
LOSSES = WORST_FIRST[:2]
"""What is worth a line when a document is new: what became a tool without loss is no news."""

_WIDTH = 60


def show_counts(operations: Sequence[OperationReport]) -> None:
    """How many operations became tools how well, in a line."""
    counted = Counter(each.fidelity for each in operations)
    say(", ".join(f"{counted[fidelity]} {fidelity}" for fidelity in Fidelity))


def show_operations(operations: Sequence[OperationReport], only: Sequence[Fidelity]) -> None:
    """A line for each operation, in the order of `only`, and the changes to the document that mend what was refused."""
    told = [each for fidelity in only for each in operations if each.fidelity is fidelity]
    if told:
        columns = ("tool", "method", "path", "effect", "fidelity", "notes")
        show_table(
            columns,
            ((each.tool or "-", each.method, each.path, each.effect, each.fidelity, _notes(each)) for each in told),
            empty="",
        )
    mended = [each for each in told if each.mend]
    if mended:
        say("Each of these lines, put into a file for --overlay, mends one of them:", "dim")
    for each in mended:
        say(f"{each.method} {each.path}", "dim")
        say(json.dumps(each.mend))


def show_connector(report: ConnectorReport, only: Sequence[Fidelity]) -> None:
    """A registration: the counts, what it is, and its operations of these fidelities."""
    connector = report.connector
    show_counts(report.operations)
    show_fields(
        (
            ("system", f"{connector.name}: {connector.title} {connector.version}"),
            ("kind", "MCP server" if connector.kind == "mcp" else None),
            ("address", connector.base_url),
            ("mode", connector.mode),
            ("practice", connector.practice or "-"),
            ("auth", connector.auth),
            ("tools", connector.tools),
            ("digest", connector.digest),
            ("source", connector.source),
            ("refreshed", moment(connector.refreshed)),
            ("held", f"{connector.held} changes: practicum connectors changes {connector.name}")
            if connector.held
            else ("held", None),
            ("drift", f"{connector.drift} answers departed from the document" if connector.drift else None),
        )
    )
    show_operations(report.operations, only)


def show_changes(report: RefreshReport) -> None:
    """What is in force and what waits, with the command that puts it in force."""
    name = report.connector.name
    changed = "says something else than at the look before" if report.changed else "says the same as at the look before"
    show_fields((("system", name), ("digest", report.digest), ("document", changed)))
    _show_table_of(report.served, "In force:")
    _show_table_of(report.held, "Held, since it breaks calls that were right; until it is accepted all goes as before:")
    if report.held:
        say(f"To put it in force: practicum connectors accept {name} --digest {plain(report.digest)}")


def _show_table_of(changes: Sequence[Change], title: str) -> None:
    if not changes:
        return
    say(title, "bold")
    columns = ("operation", "kind", "where", "before", "after")
    show_table(
        columns,
        (
            (one.operation or "-", one.kind, one.where, short(one.before or "", _WIDTH), short(one.after or "", _WIDTH))
            for one in changes
        ),
        empty="",
    )


def _notes(each: OperationReport) -> str:
    held = ("held as an older document has it",) if each.held else ()
    drift = (f"drift {each.drift}",) if each.drift else ()
    return " ".join(note if note.endswith((".", ":")) else f"{note};" for note in (*held, *drift, *each.notes)).rstrip(
        ";"
    )
