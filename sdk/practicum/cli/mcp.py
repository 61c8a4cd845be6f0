"""`practicum mcp`: how MCP clients are connected to the gateway."""

import os
from enum import StrEnum
from typing import Annotated

import typer

from practicum.cli.connection import connect
from practicum.cli.output import remark, show_json
from practicum.client.address import KEY_VARIABLE, TENANT_VARIABLE
from practicum.contracts.base import JsonObject
from practicum.contracts.tenants import TENANT_HEADER

app = typer.Typer(help="Connect MCP clients to the gateway's tools.", no_args_is_help=True)


@app.callback()
def mcp() -> None:
    """Connect MCP clients to the gateway's tools."""


class Client(StrEnum):
    """Whose form of configuration is written."""

    CLAUDE = "claude"
    """`.mcp.json` of Claude Code; the form that most others read, too."""
    CURSOR = "cursor"
    VSCODE = "vscode"


_INPUT = "practicum-key"
_KEYS = {
    Client.CLAUDE: f"${{{KEY_VARIABLE}}}",
    Client.CURSOR: f"${{env:{KEY_VARIABLE}}}",
    Client.VSCODE: f"${{input:{_INPUT}}}",
}


@app.command("config", epilog="**Example:** `practicum mcp config > .mcp.json`")
def config(
    client: Annotated[Client, typer.Option("--for", help="Whose form it is written in.")] = Client.CLAUDE,
    name: Annotated[str, typer.Option(help="How the client shall call the gateway.")] = "practicum",
) -> None:
    """Print the configuration with which an MCP client reaches this gateway; the key itself is not in it."""
    with connect() as gateway:
        url = gateway.url
    show_json(configuration(client, name, url, tenant=os.environ.get(TENANT_VARIABLE) or None))
    if client is Client.VSCODE:
        remark("VS Code asks for the key when it connects.")
    else:
        remark(f"Set {KEY_VARIABLE} where the client is started.")


def configuration(client: Client, name: str, url: str, *, tenant: str | None = None) -> JsonObject:
    """The configuration of a client.

    Args:
        client: whose form it is written in.
        name: how the client calls the gateway.
        url: the gateway's.
        tenant: the tenant that is asked for, where a token opens several.
    """
    headers: JsonObject = {"Authorization": f"Bearer {_KEYS[client]}"}
    if tenant is not None:
        headers[TENANT_HEADER] = tenant
    server: JsonObject = {"type": "http", "url": f"{url}/mcp", "headers": headers}
    if client is not Client.VSCODE:
        return {"mcpServers": {name: server}}
    asked: JsonObject = {"type": "promptString", "id": _INPUT, "description": "Practicum key", "password": True}
    return {"inputs": [asked], "servers": {name: server}}
