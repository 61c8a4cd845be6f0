"""What an MCP client is told of the gateway: the key's variable, never the key."""

import os

import pytest

from tests.sdk.cli.conftest import KEY, Types
from tests.sdk.stand_in import StandIn


@pytest.mark.parametrize(
    ("form", "at", "key"),
    [
        ((), "mcpServers", "${PRACTICUM_API_KEY}"),
        (("--for", "cursor"), "mcpServers", "${env:PRACTICUM_API_KEY}"),
        (("--for", "vscode"), "servers", "${input:practicum-key}"),
    ],
)
def test_a_client_s_configuration(gateway: StandIn, practicum: Types, form: tuple[str, ...], at: str, key: str) -> None:
    shown = practicum("mcp", "config", *form)
    assert shown.status == 0
    assert KEY not in shown.out + shown.err
    server = shown.json[at]["practicum"]
    assert server == {"type": "http", "url": f"{gateway.url}/mcp", "headers": {"Authorization": f"Bearer {key}"}}


def test_a_tenant_is_named(gateway: StandIn, practicum: Types) -> None:
    os.environ["PRACTICUM_TENANT"] = "sales"
    server = practicum("mcp", "config", "--name", "erp").json["mcpServers"]["erp"]
    assert (server["url"], server["headers"]["practicum-tenant"]) == (f"{gateway.url}/mcp", "sales")
