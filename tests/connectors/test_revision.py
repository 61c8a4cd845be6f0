"""Two states of a system's document side by side: what breaks nobody is in force, the rest waits."""

from typing import Any

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import (
    ApiKeyAuth,
    Auth,
    BearerAuth,
    ChangeKind,
    ClientCredentialsAuth,
    ConnectorSpec,
    NoAuth,
    SchemesAuth,
)
from practicum_connectors import CompiledConnector, Revision, compare, load_document
from tests.connectors.documents import Json, document, operation, query
from tests.connectors.loopback import Answer, System

KEY: Json = {"type": "apiKey", "in": "header", "name": "X-Key"}


def named(name: str, *parameters: Json, **rest: Any) -> Json:
    return operation(*parameters, **rest) | {"operationId": name}


BEFORE = document(
    {
        "/kept": {"get": named("kept", query("a"))},
        "/asked": {"get": named("asked", query("a"))},
        "/gone": {"get": named("gone")},
    }
)
AFTER = document(
    {
        "/kept": {"get": named("kept", query("a"), query("b"))},
        "/asked": {"get": named("asked", query("a"), query("must", required=True))},
        "/new": {"get": named("new")},
    }
)


def both(
    before: Json, after: Json, base_url: str | None = "http://127.0.0.1:1", auth: Auth | None = None
) -> CompiledConnector:
    spec = ConnectorSpec(name="crm", base_url=base_url, auth=auth or NoAuth(), private_network=True)
    return CompiledConnector.compile(spec, load_document(before), newer=load_document(after))


def compared(before: Json, after: Json, auth: Auth | None = None, base_url: str | None = "http://crm") -> Revision:
    spec = ConnectorSpec(name="crm", base_url=base_url, auth=auth or NoAuth(), private_network=True)
    return compare(spec, load_document(before), load_document(after))


def places(revision: Revision) -> list[str]:
    return [change.where for change in revision.held if not change.operation]


def test_what_breaks_nobody_is_in_force_and_the_rest_stays_as_it_was() -> None:
    found = both(BEFORE, AFTER)
    assert {tool: sorted(each.input_schema["properties"]) for tool, each in found.tools.items()} == {  # type: ignore[arg-type]
        "crm_kept": ["a", "b"],
        "crm_asked": ["a"],
        "crm_gone": [],
        "crm_new": [],
    }
    assert [(change.kind, change.operation) for change in found.served] == [
        (ChangeKind.NEW_OPTIONAL, "kept"),
        (ChangeKind.ADDED, "new"),
    ]
    assert [(change.kind, change.operation) for change in found.held] == [
        (ChangeKind.NEW_REQUIRED, "asked"),
        (ChangeKind.REMOVED, "gone"),
    ]
    assert {entry.operation: entry.held for entry in found.report} == {
        "kept": False,
        "asked": True,
        "gone": True,
        "new": False,
    }


async def test_each_tool_is_called_as_its_own_state_has_it(system: System) -> None:
    moved = document({"/kept": AFTER["paths"]["/kept"], "/v2/asked": AFTER["paths"]["/asked"]})
    system.answer("/asked", Answer(body={"state": "older"}))
    async with both(BEFORE, moved, system.url) as connector:
        for tool, arguments in (("crm_kept", {"a": "1", "b": "2"}), ("crm_asked", {"a": "1"}), ("crm_gone", {})):
            connector.observe(await connector.send(connector.prepare(tool, _json(arguments))))
    assert [(seen.raw_path, seen.query) for seen in system.seen] == [
        ("/kept", "a=1&b=2"),
        ("/asked", "a=1"),
        ("/gone", ""),
    ]


async def test_answers_are_checked_against_the_state_that_was_called(system: System) -> None:
    def answering(kind: str, *parameters: Json) -> Json:
        content = {"application/json": {"schema": {"properties": {"id": {"type": kind}}}}}
        return named("act", *parameters, responses={"200": {"description": "ok", "content": content}})

    system.answer("/x", Answer(body={"id": "seven"}))
    older = document({"/x": {"get": answering("string")}})
    newer = document({"/x": {"get": answering("integer", query("must", required=True))}})
    async with both(older, newer, system.url) as connector:
        seen = connector.shape(await connector.send(connector.prepare("crm_act", {})))
    assert seen.departures == 0


def test_a_new_operation_waits_while_its_name_is_in_use() -> None:
    before = document({"/orders": {"get": named("get_order")}})
    after = document({"/orders": {"get": named("list_orders")}, "/orders/one": {"get": named("get_order")}})
    found = both(before, after)
    assert {tool: each.path for tool, each in found.tools.items()} == {"crm_get_order": "/orders"}
    assert [(change.kind, change.operation) for change in found.held] == [
        (ChangeKind.RETYPED, "get_order"),
        (ChangeKind.ADDED, "get_order"),
    ]


def test_nothing_goes_to_a_server_that_nobody_looked_at() -> None:
    before = document({"/kept": {"get": named("kept")}}, servers=[{"url": "https://crm.example.com"}])
    after = document(
        {"/kept": {"get": named("kept")}, "/new": {"get": named("new")}}, servers=[{"url": "https://evil.example.com"}]
    )
    found = compared(before, after, base_url=None)
    assert [(change.operation, change.where) for change in found.held] == [("kept", "server"), ("new", "")]
    assert found.served == ()
    assert both(before, after, None).base_url == "https://crm.example.com"


def test_where_a_credential_goes_waits_for_a_decision() -> None:
    paths = {"/x": {"get": named("act")}}

    def secured(**schemes: Json) -> Json:
        return document(paths, components={"securitySchemes": schemes}, security=[{name: []} for name in schemes])

    flow = {"tokenUrl": "https://crm/token", "scopes": {"read": "Read"}}
    oauth: Json = {"type": "oauth2", "flows": {"clientCredentials": flow}}
    elsewhere: Json = {"type": "oauth2", "flows": {"clientCredentials": flow | {"tokenUrl": "https://evil/token"}}}
    wordier: Json = {
        **oauth,
        "description": "Words.",
        "flows": {"clientCredentials": flow | {"scopes": {"read": "Read", "write": "Write"}}},
    }
    client = ClientCredentialsAuth(client_id="a", client_secret="b")
    key, token_url = ApiKeyAuth(value="k"), "flows.clientCredentials.tokenUrl"
    cases: list[tuple[Json, Json, Auth, list[str]]] = [
        (secured(o=oauth), secured(o=elsewhere), client, [f"securitySchemes.o.{token_url}"]),
        (
            secured(o=oauth),
            secured(o=elsewhere),
            SchemesAuth(schemes={"o": client}),
            [f"securitySchemes.o.{token_url}"],
        ),
        (secured(o=oauth), secured(o=elsewhere), NoAuth(), []),
        (secured(o=oauth), secured(o=wordier), client, []),
        (secured(k=KEY), secured(k=KEY | {"name": "X-Other"}), key, ["securitySchemes.k.name"]),
        (secured(k=KEY, o=oauth), secured(k=KEY, o=elsewhere), key, []),
        (
            secured(k=KEY),
            secured(k=KEY, l=KEY | {"in": "query"}),
            key,
            [f"securitySchemes.l.{part}" for part in ("in", "name", "type")],
        ),
        (
            secured(b=KEY),
            secured(b=KEY, c={"type": "http", "scheme": "bearer"}),
            BearerAuth(token="t"),
            ["securitySchemes.c.scheme", "securitySchemes.c.type"],
        ),
    ]
    for before, after, auth, held in cases:
        assert places(compared(before, after, auth)) == held
    moved = compared(secured(o=oauth), secured(o=elsewhere), client).held
    assert [(change.before, change.after) for change in moved] == [("https://crm/token", "https://evil/token")]


async def test_a_credential_goes_where_the_state_in_force_says(system: System) -> None:
    def secured(name: str) -> Json:
        scheme = {"k": KEY | {"name": name}}
        return document({"/x": {"get": named("act")}}, components={"securitySchemes": scheme}, security=[{"k": []}])

    async with both(secured("X-Old"), secured("X-New"), system.url, ApiKeyAuth(value="secret")) as connector:
        await connector.send(connector.prepare("crm_act", {}))
    assert system.seen[0].headers.get("x-old") == "secret"
    assert "x-new" not in system.seen[0].headers


def test_an_operation_that_cannot_be_read_any_more_stays() -> None:
    broken = document({"/kept": {"get": named("kept", {"$ref": "#/components/parameters/Missing"})}})
    found = both(BEFORE, broken)
    assert "crm_kept" in found.tools
    assert [(entry.operation, entry.fidelity.value, entry.held) for entry in found.report][:2] == [
        ("kept", "refused", False),
        ("kept", "exact", True),
    ]


def test_the_same_document_changes_nothing() -> None:
    found = compared(BEFORE, BEFORE)
    assert (found.served, found.held) == ((), ())


def _json(arguments: dict[str, str]) -> JsonObject:
    return dict(arguments)
