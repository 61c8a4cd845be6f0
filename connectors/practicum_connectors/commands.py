"""The commands that this package adds to `practicum`: nothing heavy is imported before one of them runs."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

import practicum_connectors
from practicum.cli.exits import FAILED
from practicum.cli.inputs import document_of, overlay_of
from practicum.cli.output import JsonOption, say, show_fields, show_json, show_table
from practicum.client.call import build
from practicum.contracts.connectors import CheckReport, ConnectorSpec, Fidelity
from practicum.errors import ConfigurationError, MissingExtraError
from practicum_connectors.conformance.command import conformance

_WORST_FIRST = (Fidelity.REFUSED, Fidelity.DEGRADED)


def register(root: typer.Typer) -> None:
    """Add the commands to `practicum`.

    Args:
        root: the application, its own groups in it already.
    """
    for group in root.registered_groups:
        if group.name == "connectors" and group.typer_instance is not None:
            group.typer_instance.command(
                epilog="**Example:** `practicum connectors check openapi.yaml --base-url https://crm.internal`\n\n"
                "**Exit status:** 1 where an operation is refused."
            )(check)
    root.command(epilog="**Example:** `practicum conformance 'bodies/form-*'`")(conformance)


def check(
    source: Annotated[str, typer.Argument(help="OpenAPI document: a URL, a file, or - for stdin.")],
    name: Annotated[str, typer.Option(help="Name of the system: the first part of its tools' names.")] = "system",
    base_url: Annotated[
        str | None, typer.Option(help="Where the system listens, if the document does not say.")
    ] = None,
    private_network: Annotated[
        bool, typer.Option("--private-network", help="The document may stand in a private network.")
    ] = False,
    include: Annotated[list[str] | None, typer.Option(help="Only operations of this pattern; repeatable.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="No operations of this pattern; repeatable.")] = None,
    overlay: Annotated[
        str | None, typer.Option(help="File with changes to the document: an Overlay 1.0 document, or RFC 6902.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what would become of each operation of a document, without registering it."""
    spec = build(
        ConnectorSpec,
        "connector",
        name=name,
        source=source if source.startswith(("http://", "https://")) else None,
        document=document_of(source) if source == "-" else None,
        overlay=overlay_of(overlay),
        base_url=base_url,
        private_network=private_network,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
    )
    report = _checked(spec, source)
    if as_json:
        show_json(report)
    else:
        _show(report)
    if any(entry.fidelity is Fidelity.REFUSED for entry in report.operations):
        raise typer.Exit(FAILED)


def _checked(spec: ConnectorSpec, source: str) -> CheckReport:
    try:
        load_source, folder_source = practicum_connectors.load_source, practicum_connectors.folder_source
    except ImportError:
        raise MissingExtraError("connectors", "Checking a document") from None
    if spec.source is not None or spec.document is not None:
        document = asyncio.run(load_source(spec))
    else:
        file = Path(source).resolve()
        if not file.is_file():
            raise ConfigurationError(f"{source} cannot be read: it is no file.", mend="Name a file that exists.")
        # What it refers to is read too, from its own folder and below.
        there = spec.model_copy(update={"source": file.as_uri()})
        document = asyncio.run(load_source(there, read=folder_source(file.parent)))
    return practicum_connectors.check(spec, document)


def _show(report: CheckReport) -> None:
    """Counts, then what is worth a line, the worst first."""
    counted = Counter(entry.fidelity for entry in report.operations)
    say(", ".join(f"{counted[fidelity]} {fidelity}" for fidelity in Fidelity))
    show_fields((("document", f"{report.title} {report.version}"), ("address", report.base_url)))
    for note in report.notes:
        say(note)
    rows = [
        (entry.method, entry.path, entry.fidelity, "; ".join(entry.notes))
        for fidelity in _WORST_FIRST
        for entry in report.operations
        if entry.fidelity is fidelity
    ]
    if rows:
        show_table(("method", "path", "fidelity", "notes"), rows, empty="")
