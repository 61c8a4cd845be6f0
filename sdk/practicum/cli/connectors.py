"""`practicum connectors`: the systems that agents work on."""

from collections.abc import Sequence
from typing import Annotated

import typer

from practicum.cli.connection import connect
from practicum.cli.inputs import AUTH_FORMS, auth_of, document_of, labels_of, overlay_of
from practicum.cli.output import JsonOption, moment, say, show_fields, show_json, show_table
from practicum.client.call import build
from practicum.contracts.connectors import ConnectorReport, ConnectorSpec, Fidelity, Mode, PracticeSpec

app = typer.Typer(help="Register systems from their OpenAPI documents.", no_args_is_help=True)


@app.command(
    epilog=f"**Credentials:** {AUTH_FORMS}\n\n"
    "**Examples:**\n\n"
    "`practicum connectors add crm http://crm.internal/openapi.json --auth api_key:env:CRM_KEY`\n\n"
    "`practicum connectors add erp erp.yaml --base-url https://erp.internal "
    "--auth client_credentials:env:ERP_ID:env:ERP_SECRET`\n\n"
    "`practicum connectors add crm http://crm.internal/openapi.json --auth api_key:env:CRM_KEY "
    "--practice http://practice.internal/crm --practice-auth api_key:env:PRACTICE_KEY`"
)
def add(
    name: Annotated[str, typer.Argument(help="Name of the system: the first part of its tools' names.")],
    source: Annotated[
        str, typer.Argument(help="OpenAPI document: a URL that the gateway fetches, a file, or - for stdin.")
    ],
    base_url: Annotated[
        str | None, typer.Option(help="Where the system listens, if the document does not say.")
    ] = None,
    auth: Annotated[str, typer.Option(help="Credential, such as `bearer:env:TOKEN`; see below.")] = "none",
    mode: Annotated[Mode, typer.Option(help="A live system, or a practice copy that training may touch.")] = Mode.LIVE,
    private_network: Annotated[
        bool, typer.Option("--private-network", help="It may stand in a private network.")
    ] = False,
    practice: Annotated[
        str | None, typer.Option(help="Where copies for training are: an episode's own listens at URL/EPISODE.")
    ] = None,
    practice_auth: Annotated[str, typer.Option(help="Credential of the copies, in the forms of --auth.")] = "none",
    practice_private_network: Annotated[
        bool, typer.Option("--practice-private-network", help="The copies may stand in a private network.")
    ] = False,
    include: Annotated[list[str] | None, typer.Option(help="Only operations of this pattern; repeatable.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="No operations of this pattern; repeatable.")] = None,
    overlay: Annotated[
        str | None, typer.Option(help="File with changes to the document: an Overlay 1.0 document, or RFC 6902.")
    ] = None,
    server: Annotated[
        str | None, typer.Option(help="Which of the document's servers, by its address or its name.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A variable of that server, `NAME=VALUE`; repeatable.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Register a system; each operation of its document becomes a tool."""
    fetched = source.startswith(("http://", "https://"))
    spec = build(
        ConnectorSpec,
        "connector",
        name=name,
        source=source if fetched else None,
        document=None if fetched else document_of(source),
        base_url=base_url,
        auth=auth_of(auth),
        mode=mode,
        private_network=private_network,
        practice=_practice(practice, practice_auth, private_network=practice_private_network),
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        overlay=overlay_of(overlay),
        server=server,
        variables=labels_of(settings or ()),
    )
    with connect() as client:
        report = client.connectors.add(spec)
    if as_json:
        show_json(report)
    else:
        _show(report, only=(Fidelity.DEGRADED, Fidelity.REFUSED))


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


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Name of the system.")],
    as_json: JsonOption = False,
) -> None:
    """Show a system and what became of each of its operations."""
    with connect() as client:
        report = client.connectors.get(name)
    if as_json:
        show_json(report)
    else:
        _show(report, only=tuple(Fidelity))


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="Name of the system.")],
    as_json: JsonOption = False,
) -> None:
    """Remove a system, its tools and its credential."""
    with connect() as client:
        client.connectors.remove(name)
    if as_json:
        show_json({"removed": name})
    else:
        say(f"Removed {name}.")


def _practice(url: str | None, auth: str, *, private_network: bool) -> PracticeSpec | None:
    if url is not None:
        given = auth_of(auth, "--practice-auth")
        return build(PracticeSpec, "practice", base_url=url, auth=given, private_network=private_network)
    if auth != "none" or private_network:
        raise typer.BadParameter("There is no --practice for it to speak of.", param_hint="--practice-...")
    return None


def _show(report: ConnectorReport, *, only: Sequence[Fidelity]) -> None:
    """A registration; `only` says which operations are worth a line."""
    connector = report.connector
    show_fields(
        (
            ("system", f"{connector.name}: {connector.title} {connector.version}"),
            ("address", connector.base_url),
            ("mode", connector.mode),
            ("practice", connector.practice or "-"),
            ("auth", connector.auth),
            ("tools", connector.tools),
            ("digest", connector.digest),
        )
    )
    rows = [
        (each.tool or "-", each.method, each.path, each.fidelity, "; ".join(each.notes))
        for each in report.operations
        if each.fidelity in only
    ]
    if rows:
        show_table(("tool", "method", "path", "fidelity", "notes"), rows, empty="")
