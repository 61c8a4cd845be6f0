"""Credentials that stay where the gateway reads them: commands pass on where that is."""

import pytest
import typer

from practicum.cli.credentials import auth_of
from practicum.cli.inputs import secret_or_reference_of
from practicum.contracts.connectors import ApiKeyAuth, AuthorizationCodeAuth, BasicAuth, SchemeAuth


@pytest.mark.parametrize(
    ("given", "auth"),
    [
        ("api_key:vault:crm/api#key", ApiKeyAuth(value="secret://vault/crm/api#key")),
        (
            "api_key:mounted:crm/key:header:X-Key",
            ApiKeyAuth(value="secret://mounted/crm/key", location="header", name="X-Key"),
        ),
        (
            "basic:vault:crm#user:vault:crm",
            BasicAuth(username="secret://vault/crm#user", password="secret://vault/crm"),
        ),
        (
            "authorization_code:vault:crm#id:vault:crm#secret:env:REFRESH",
            AuthorizationCodeAuth(
                client_id="secret://vault/crm#id", client_secret="secret://vault/crm#secret", refresh_token="r1"
            ),
        ),
    ],
)
def test_a_place_that_the_gateway_reads_is_passed_on(
    given: str, auth: SchemeAuth, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFRESH", "r1")
    assert auth_of([given]) == auth


@pytest.mark.parametrize("place", ["vault:", "vault:../x", "mounted:/etc/passwd", "mounted:a#b", "vault:a#", "other:a"])
def test_what_names_no_secret_is_refused_before_it_is_sent(place: str) -> None:
    with pytest.raises(typer.BadParameter):
        secret_or_reference_of(place)
