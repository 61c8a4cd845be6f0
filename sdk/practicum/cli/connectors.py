"""`practicum connectors`: the systems that agents work on."""

from typing import Annotated

import typer

from practicum.cli.connection import connect
from practicum.cli.credentials import AUTH_HELP
from practicum.cli.exits import FAILED
from practicum.cli.inputs import overlay_of
from practicum.cli.output import JsonOption, moment, remark, say, show_json, show_table
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
    document_with_files,
    is_address,
    practice_of,
    spec_of,
)
from practicum.cli.reports import LOSSES, WORST_FIRST, show_changes, show_connector
from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ArrayStyle, Mode, RefreshReport

app = typer.Typer(help="Register systems from their OpenAPI documents, and MCP servers.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(help="Name of the system.")]


@app.command(
    epilog=f"**Credentials:** {AUTH_HELP}\n\n"
    "**Files:** a document from a file comes with the files that it refers to by relative paths, from its own folder "
    "and below, never from above it.\n\n"
    "**Examples:**\n\n"
    "`practicum connectors add crm http://crm.internal/openapi.json --auth api_key:env:CRM_KEY`\n\n"
    "`practicum connectors add erp erp.yaml --base-url https://erp.internal "
    "--auth client_credentials:env:ERP_ID:env:ERP_SECRET --limit per_second=5`\n\n"
    "`practicum connectors add crm http://crm.internal/openapi.json --auth api_key:env:CRM_KEY "
    "--practice http://practice.internal/crm --practice-auth api_key:env:PRACTICE_KEY`\n\n"
    "`practicum connectors add tickets --mcp https://tickets.internal/mcp --auth bearer:env:TICKETS_TOKEN`"
)
def add(
    name: Annotated[str, typer.Argument(help="Name of the system: the first part of its tools' names.")],
    source: Annotated[
        str | None, typer.Argument(help="OpenAPI document: a URL that the gateway fetches, a file, or - for stdin.")
    ] = None,
    mcp: McpOption = None,
    base_url: BaseUrlOption = None,
    auth: AuthOption = None,
    mode: Annotated[Mode, typer.Option(help="A live system, or a practice copy that training may touch.")] = Mode.LIVE,
    private_network: Annotated[
        bool, typer.Option("--private-network", help="It may stand in a private network.")
    ] = False,
    practice: Annotated[
        str | None, typer.Option(help="Where copies for training are: an episode's own listens at URL/EPISODE.")
    ] = None,
    practice_auth: Annotated[
        list[str] | None, typer.Option(help="Credential of the copies, in the forms of --auth.")
    ] = None,
    practice_private_network: Annotated[
        bool, typer.Option("--practice-private-network", help="The copies may stand in a private network.")
    ] = False,
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    overlay: OverlayOption = None,
    server: ServerOption = None,
    settings: SettingsOption = None,
    arrays: ArraysOption = ArrayStyle.BRACKETS,
    limits: Annotated[
        list[str] | None,
        typer.Option(
            "--limit",
            help="How hard it may be leant on, `NAME=VALUE`; repeatable. Names: concurrent, per_second, "
            "timeout_seconds, attempts, breaker_failures, breaker_seconds.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Register a system; each operation of its document, or each tool of an MCP server, becomes a tool."""
    spec = spec_of(
        name,
        source,
        mcp=mcp,
        auth=auth,
        include=include,
        exclude=exclude,
        overlay=overlay,
        settings=settings,
        limits=limits,
        base_url=base_url,
        mode=mode,
        private_network=private_network,
        practice=practice_of(practice, practice_auth, private_network=practice_private_network),
        server=server,
        arrays=arrays,
    )
    with connect() as client:
        report = client.connectors.add(spec)
    if as_json:
        show_json(report)
    else:
        show_connector(report, LOSSES)


@app.command("list")
def list_all(as_json: JsonOption = False) -> None:
    """List the registered systems."""
    with connect() as client:
        found = client.connectors.list()
    if as_json:
        show_json(found)
        return
    show_table(
        ("name", "title", "address", "mode", "auth", "tools", "registered"),
        ((c.name, f"{c.title} {c.version}", c.base_url, c.mode, c.auth, c.tools, moment(c.created)) for c in found),
        empty="No system is registered. `practicum connectors add` registers one.",
    )
    for connector in found:
        if connector.held:
            name = connector.name
            remark(f"Changes of {name} wait: {connector.held}\n  -> practicum connectors changes {name}")


@app.command()
def show(name: NameArgument, as_json: JsonOption = False) -> None:
    """Show a system and what became of each of its operations."""
    with connect() as client:
        report = client.connectors.get(name)
    if as_json:
        show_json(report)
    else:
        show_connector(report, WORST_FIRST)


@app.command()
def remove(name: NameArgument, as_json: JsonOption = False) -> None:
    """Remove a system, its tools and its credential."""
    with connect() as client:
        client.connectors.remove(name)
    if as_json:
        show_json({"removed": name})
    else:
        say(f"Removed {name}.")


@app.command(
    epilog="**Exit status:** 1 where a change is held, for CI.\n\n"
    "**Examples:**\n\n`practicum connectors refresh crm`\n\n`practicum connectors refresh erp erp.yaml`"
)
def refresh(
    name: NameArgument,
    source: Annotated[
        str | None,
        typer.Argument(help="The document as it is now: a file, or - for stdin. Left out, the gateway fetches it."),
    ] = None,
    overlay: Annotated[
        str | None, typer.Option(help="File whose changes take the place of the overlay that is kept.")
    ] = None,
    no_overlay: Annotated[bool, typer.Option("--no-overlay", help="Take away the overlay that is kept.")] = False,
    accept_breaking: Annotated[
        bool, typer.Option("--accept", help="Put changes in force at once, those that break calls too.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Look at a system's document again: what breaks no call is put in force, what does is held for a decision."""
    if no_overlay and overlay is not None:
        raise typer.BadParameter("It says both: an overlay, and none.", param_hint="--no-overlay")
    document, files = _document_now(name, source)
    changed: JsonObject | tuple[JsonObject, ...] | None = {} if no_overlay else overlay_of(overlay)
    with connect() as client:
        report = client.connectors.refresh(name, document, documents=files, overlay=changed, accept=accept_breaking)
    _tell(report, as_json=as_json)


@app.command(epilog="**Exit status:** 1 where a change is held, for CI.")
def changes(name: NameArgument, as_json: JsonOption = False) -> None:
    """Show what the latest look at a system's document found: what is in force, and what is held for a decision."""
    with connect() as client:
        report = client.connectors.changes(name)
    _tell(report, as_json=as_json)


@app.command()
def accept(
    name: NameArgument,
    digest: Annotated[str, typer.Option(help="Of the document whose changes you looked at; `changes` shows it.")],
    as_json: JsonOption = False,
) -> None:
    """Put the changes that are held in force."""
    with connect() as client:
        report = client.connectors.accept(name, digest)
    if as_json:
        show_json(report)
    else:
        show_changes(report)


def _document_now(name: str, source: str | None) -> tuple[JsonObject | None, dict[str, JsonObject]]:
    """The document of a file with those that it refers to; none where the gateway fetches it."""
    if source is None:
        return None, {}
    if is_address(source):
        raise typer.BadParameter(
            f"The gateway fetches it from where it was registered: `practicum connectors refresh {name}`. "
            "What lies elsewhere is given as a file.",
            param_hint="SOURCE",
        )
    found = document_with_files(source)
    return found.document, found.files


def _tell(report: RefreshReport, *, as_json: bool) -> None:
    if as_json:
        show_json(report)
    else:
        show_changes(report)
    if report.held:
        raise typer.Exit(FAILED)
