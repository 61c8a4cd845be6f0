"""What the wire values of connectors and tools promise."""

import pytest
from pydantic import TypeAdapter, ValidationError

from practicum.contracts.connectors import (
    ApiKeyAuth,
    ArrayStyle,
    Auth,
    AuthorizationCodeAuth,
    ClientCertificateAuth,
    ConnectorLimits,
    ConnectorSpec,
    SchemesAuth,
)
from practicum.contracts.tools import Effect, Observation, Tool

AUTH: TypeAdapter[Auth] = TypeAdapter(Auth)


@pytest.mark.parametrize(
    ("method", "effect", "said"),
    [
        ("GET", Effect.READ, (True, False, True, False)),
        ("POST", Effect.READ, (True, False, True, False)),
        ("POST", Effect.CREATE, (False, False, False, False)),
        ("PUT", Effect.UPDATE, (False, True, True, False)),
        ("PATCH", Effect.UPDATE, (False, True, False, False)),
        ("DELETE", Effect.DELETE, (False, True, True, False)),
        ("POST", Effect.EXTERNAL, (False, True, False, True)),
        ("POST", Effect.MONEY, (False, True, False, True)),
    ],
)
def test_a_tool_tells_mcp_what_it_does(method: str, effect: Effect, said: tuple[bool, ...]) -> None:
    tool = Tool(
        name="t",
        connector="c",
        operation="o",
        description="",
        input_schema={"type": "object"},
        effect=effect,
        method=method,
        path="/",
    )
    hints = tool.annotations
    names = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    assert tuple(hints[name] for name in names) == said
    assert "title" not in hints
    assert tool.model_copy(update={"title": "Short"}).annotations["title"] == "Short"


def test_a_recorded_next_page_is_still_read() -> None:
    kept = '{"status": "ok", "content": "[]", "next": {"page": 2, "q": "ä"}}'
    assert Observation.model_validate_json(kept).next == '{"page": 2, "q": "ä"}'
    assert Observation.model_validate_json('{"status": "ok", "content": "[]", "next": "h"}').next == "h"
    with pytest.raises(ValidationError):
        Observation.model_validate_json('{"status": "ok", "content": "[]", "next": 2}')


def test_credentials_travel_by_kind_and_hide_their_secrets() -> None:
    given = SchemesAuth(
        schemes={
            "key": ApiKeyAuth(value="hush1"),
            "user": AuthorizationCodeAuth(client_id="me", client_secret="hush2", refresh_token="hush3"),
            "mtls": ClientCertificateAuth(certificate="PEM", private_key="hush4"),
        }
    )
    assert AUTH.validate_json(AUTH.dump_json(given)) == given
    assert "hush" not in repr(given)
    with pytest.raises(ValidationError):
        AUTH.validate_python({"kind": "schemes", "schemes": {"x": {"kind": "none"}}})


def test_a_registration_as_before_has_the_defaults() -> None:
    spec = ConnectorSpec.model_validate({"name": "crm", "source": "http://crm/openapi.json"})
    assert (spec.overlay, spec.server, spec.variables, spec.documents) == (None, None, {}, {})
    assert (spec.arrays, spec.limits) == (ArrayStyle.BRACKETS, ConnectorLimits())


def test_an_overlay_is_an_object_or_operations() -> None:
    for overlay in ({"overlay": "1.0.0"}, [{"op": "remove", "path": "/x"}]):
        spec = ConnectorSpec.model_validate({"name": "crm", "overlay": overlay})
        assert ConnectorSpec.model_validate_json(spec.model_dump_json()) == spec
    with pytest.raises(ValidationError):
        ConnectorSpec.model_validate({"name": "crm", "overlay": "remove it"})
