"""The commands that this package adds to `practicum`: nothing heavy is imported before one of them runs."""

import asyncio
from typing import Annotated

import typer

import practicum_connectors
from practicum.cli.credentials import AUTH_HELP
from practicum.cli.exits import FAILED
from practicum.cli.output import JsonOption, say, show_fields, show_json
from practicum.cli.registration import (
    ArraysOption,
    AuthOption,
    BaseUrlOption,
    ExcludeOption,
    IncludeOption,
    McpOption,
    OverlayOption,
    ServerOption,
    SettingsOption,
    spec_of,
)
from practicum.cli.reports import LOSSES, show_counts, show_operations
from practicum.contracts.connectors import ArrayStyle, CheckReport, ConnectorSpec, Fidelity
from practicum.errors import MissingExtraError
from practicum_connectors.conformance.command import conformance


def register(root: typer.Typer) -> None:
    """Add the commands to `practicum`.

    Args:
        root: the application, its own groups in it already.
    """
    for group in root.registered_groups:
        if group.name == "connectors" and group.typer_instance is not None:
            group.typer_instance.command(
                epilog="**Example:** `practicum connectors check openapi.yaml --base-url https://crm.internal`\n\n"
                f"**Credentials:** {AUTH_HELP}\n\n"
                "**Exit status:** 1 where an operation is refused."
            )(check)
    root.command(epilog="**Example:** `practicum conformance 'bodies/form-*'`")(conformance)


def check(
    source: Annotated[str | None, typer.Argument(help="OpenAPI document: a URL, a file, or - for stdin.")] = None,
    mcp: McpOption = None,
    name: Annotated[str, typer.Option(help="Name of the system: the first part of its tools' names.")] = "system",
    base_url: BaseUrlOption = None,
    auth: AuthOption = None,
    private_network: Annotated[
        bool, typer.Option("--private-network", help="The document may stand in a private network.")
    ] = False,
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    overlay: OverlayOption = None,
    server: ServerOption = None,
    settings: SettingsOption = None,
    arrays: ArraysOption = ArrayStyle.BRACKETS,
    as_json: JsonOption = False,
) -> None:
    """Say what would become of each operation of a document, or tool of an MCP server, without registering it."""
    spec = spec_of(
        name,
        source,
        mcp=mcp,
        auth=auth,
        include=include,
        exclude=exclude,
        overlay=overlay,
        settings=settings,
        base_url=base_url,
        private_network=private_network,
        server=server,
        arrays=arrays,
    )
    report = _checked(spec)
    if as_json:
        show_json(report)
    else:
        _show(report)
    if any(entry.fidelity is Fidelity.REFUSED for entry in report.operations):
        raise typer.Exit(FAILED)


def _checked(spec: ConnectorSpec) -> CheckReport:
    try:
        load_source = practicum_connectors.load_source
    except ImportError:
        raise MissingExtraError("connectors", "Checking a document") from None
    return practicum_connectors.check(spec, asyncio.run(load_source(spec)))


def _show(report: CheckReport) -> None:
    """Counts, then what is worth a line, the worst first."""
    show_counts(report.operations)
    show_fields((("document", f"{report.title} {report.version}"), ("address", report.base_url)))
    for note in report.notes:
        say(note)
    show_operations(report.operations, LOSSES)
