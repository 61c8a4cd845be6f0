import httpx
from openapi_spec_validator import OpenAPIV31SpecValidator

from examples.systems.world import World

_HIDDEN = ("/healthz", "/oauth/token", "/_practice/state", "/_practice/effects", "/_practice/reset")


async def test_each_document_is_valid_and_served_without_a_credential(addresses: dict[str, str]) -> None:
    async with httpx.AsyncClient(timeout=60) as client:
        for address in addresses.values():
            document = (await client.get(f"{address}/openapi.json")).raise_for_status().json()
            assert document["openapi"].startswith("3.1")
            assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []
            assert not set(_HIDDEN) & set(document["paths"])


def test_each_operation_has_a_short_name_and_a_summary(world: World) -> None:
    assert len({tool.name for tool in world.tools}) == len(world.tools) == 20
    for document in world.documents.values():
        paths = document["paths"]
        assert isinstance(paths, dict)
        for item in paths.values():
            assert isinstance(item, dict)
            for operation in item.values():
                assert isinstance(operation, dict)
                assert len(str(operation["operationId"])) <= 20
                assert len(str(operation["summary"])) <= 60
                assert operation["security"]


def test_each_system_declares_its_own_way_in(world: World) -> None:
    schemes = {name: app.openapi()["components"]["securitySchemes"] for name, app in world.apps.items()}
    assert schemes == {
        "crm": {"APIKeyHeader": {"type": "apiKey", "in": "header", "name": "X-API-Key"}},
        "erp": {
            "OAuth2": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "oauth/token", "scopes": {}}}}
        },
        "cicd": {"HTTPBearer": {"type": "http", "scheme": "bearer"}},
    }


def test_only_the_erp_takes_idempotency_keys_and_on_every_change(world: World) -> None:
    taking = {
        operation["operationId"]
        for app in world.apps.values()
        for item in app.openapi()["paths"].values()
        for operation in item.values()
        if any(parameter["name"] == "Idempotency-Key" for parameter in operation.get("parameters", ()))
    }
    assert taking == {"cancel_order", "create_refund", "adjust_stock", "message_warehouse"}
