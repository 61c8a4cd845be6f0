"""What every request meets before a router: the key, the size, the problem it becomes."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException

from practicum.contracts.access import KeyRequest, Role
from practicum.contracts.problems import Problem
from practicum_gateway.app import app_of
from practicum_gateway.estate import Estate
from practicum_gateway.house import House
from practicum_gateway.http.middleware import Scales
from practicum_gateway.http.problems import ChatProblem, on_http_exception
from tests.gateway.conftest import KeyOf, Serve


async def announced(gateway: httpx.AsyncClient, request: str, key: str, length: int) -> str:
    """What is answered to a body that is announced and never sent."""
    reader, writer = await asyncio.open_connection(gateway.base_url.host, gateway.base_url.port)
    head = f"{request} HTTP/1.1\r\nHost: gateway\r\nAuthorization: {key}\r\nContent-Length: {length}\r\n\r\n"
    writer.write(head.encode())
    answer = await asyncio.wait_for(reader.read(4096), 30)
    writer.close()
    await writer.wait_closed()
    return answer.decode()


def problem_of(response: httpx.Response) -> Problem:
    assert response.headers["content-type"] == "application/problem+json"
    form = ChatProblem if "error" in response.json() else Problem
    problem = form.model_validate_json(response.content)
    assert problem.status == response.status_code
    assert problem.trace is not None
    return problem


async def test_health_needs_no_key(gateway: httpx.AsyncClient) -> None:
    for path, status in (("/healthz", "ok"), ("/readyz", "ready")):
        response = await gateway.get(path, headers={"Authorization": ""})
        assert (response.status_code, response.json()["status"]) == (200, status)


FORGED = ("", "Bearer", "Basic YTpi", "Bearer prk_forged-forged-forged", "Bearer " + "x" * 4000, "prk_x")


async def test_without_a_valid_key_nothing_is_reached(gateway: httpx.AsyncClient) -> None:
    for authorization in FORGED:
        for path in ("/v1/tools", "/v1/keys", "/v1/nothing"):
            response = await gateway.get(path, headers={"Authorization": authorization})
            problem = problem_of(response)
            assert (problem.status, problem.code) == (401, "unauthenticated"), authorization
            assert response.headers["www-authenticate"] == "Bearer"


async def test_a_revoked_key_ends_with_the_next_request(gateway: httpx.AsyncClient) -> None:
    issued = (await gateway.post("/v1/keys", json={"principal": "ann", "role": "developer"})).json()
    headers = {"Authorization": f"Bearer {issued['key']}"}
    assert (await gateway.get("/v1/tools", headers=headers)).status_code == 200
    assert (await gateway.delete(f"/v1/keys/{issued['info']['id']}")).status_code == 204
    assert problem_of(await gateway.get("/v1/tools", headers=headers)).code == "unauthenticated"


async def test_a_key_expires(gateway: httpx.AsyncClient, house: House) -> None:
    issued = await house.keys.issue(KeyRequest(principal="ann", role=Role.DEVELOPER, expires_in_seconds=1))
    headers = {"Authorization": f"Bearer {issued.key}"}
    assert (await gateway.get("/v1/tools", headers=headers)).status_code == 200
    await asyncio.sleep(1.05)
    assert problem_of(await gateway.get("/v1/tools", headers=headers)).code == "unauthenticated"


ADMINISTRATION: tuple[tuple[str, str, Any], ...] = (
    ("POST", "/v1/connectors", {"name": "crm", "source": "http://127.0.0.1:1/openapi.json"}),
    ("POST", "/v1/connectors/crm/refresh", {}),
    ("POST", "/v1/connectors/crm/accept", {"digest": "0"}),
    ("DELETE", "/v1/connectors/crm", None),
    ("GET", "/v1/keys", None),
    ("POST", "/v1/keys", {"principal": "me", "role": "admin"}),
    ("DELETE", "/v1/keys/boot_admin", None),
    ("POST", "/v1/keys/boot_admin/rotate", {}),
    ("GET", "/v1/issuers", None),
    ("GET", "/v1/issuers/okta", None),
    (
        "PUT",
        "/v1/issuers/okta",
        {"name": "okta", "issuer": "https://x", "audience": "y", "roles": {"a": "admin"}},
    ),
    ("DELETE", "/v1/issuers/okta", None),
    ("PUT", "/v1/rules", {"rules": []}),
)


@pytest.mark.parametrize("role", ["developer", "approver", "agent", "worker"])
async def test_only_an_admin_administers(gateway: httpx.AsyncClient, role: str) -> None:
    issued = (await gateway.post("/v1/keys", json={"principal": "ann", "role": role})).json()
    headers = {"Authorization": f"Bearer {issued['key']}"}
    for method, path, body in ADMINISTRATION:
        response = await gateway.request(method, path, json=body, headers=headers)
        assert problem_of(response).code == "forbidden", (method, path)


async def test_an_unknown_path_and_an_impossible_method_are_problems(gateway: httpx.AsyncClient) -> None:
    assert problem_of(await gateway.get("/nothing/here")).code == "not_found"
    assert problem_of(await gateway.get("/v1/nothing")).code == "not_found"
    wrong = await gateway.patch("/v1/rules")
    assert problem_of(wrong).status == 405
    assert "GET" in wrong.headers["allow"]


BROKEN = (
    b"{",
    b"\xff\xfe",
    b"[]",
    b"null",
    b'{"principal": "a", "role": "king"}',
    b'{"principal": "a", "role": "agent", "extra": 1}',
    b'{"principal": "\\ud800", "role": "agent"}',
    b'{"principal": "a", "role": "agent", "expires_in_seconds": NaN}',
    b'{"principal": "a", "role": "agent", "expires_in_seconds": 1e999}',
    b"[" * 100_000,
    b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
)


async def test_a_body_that_does_not_fit_is_a_problem(gateway: httpx.AsyncClient) -> None:
    for body in BROKEN:
        response = await gateway.post("/v1/keys", content=body, headers={"content-type": "application/json"})
        problem = problem_of(response)
        assert problem.status in {400, 422}, body[:40]
        assert problem.code == "request", body[:40]


async def test_a_refused_body_is_not_repeated(gateway: httpx.AsyncClient) -> None:
    body = {
        "name": "crm",
        "source": "http://x",
        "auth": {"kind": "bearer", "token": ["canary-4711"], "secret": "canary-4712"},
    }
    response = await gateway.post("/v1/connectors", json=body)
    assert problem_of(response).status == 422
    assert "canary" not in response.text
    assert any("token" in fault["where"] for fault in response.json()["errors"])


@pytest.mark.parametrize(
    "path",
    [
        "/v1/keys",
        "//v1/keys",
        "/%76%31/keys",
        "/v1/%6beys",
        "/x/../v1/keys",
        "/v1/keys/",
        "/V1/keys",
        "/v1//keys",
        "/v1",
    ],
)
async def test_no_spelling_of_a_path_leads_around_the_door(gateway: httpx.AsyncClient, path: str) -> None:
    answer = await announced(gateway, f"GET {path}", "none", 0)
    assert answer.startswith(("HTTP/1.1 401 ", "HTTP/1.1 404 "))
    assert "application/problem+json" in answer


async def test_a_huge_body_is_refused_before_it_is_read(gateway: httpx.AsyncClient, house: House) -> None:
    key = gateway.headers["authorization"]
    answer = await announced(gateway, "PUT /v1/rules", key, house.settings.body_bytes + 1)
    assert answer.startswith("HTTP/1.1 413 ")
    assert '"code":"request"' in answer


async def test_a_document_may_be_large_when_it_is_looked_at_again_too(gateway: httpx.AsyncClient, house: House) -> None:
    key, most = gateway.headers["authorization"], house.settings.document_bytes
    for path in ("/v1/connectors", "/v1/connectors/crm/refresh"):
        assert (await announced(gateway, f"POST {path}", key, most + 1)).startswith("HTTP/1.1 413 ")
    large = {"document": {"x": " " * house.settings.body_bytes}}
    answer = await gateway.post("/v1/connectors/crm/refresh", json=large)
    assert problem_of(answer).status == 404
    assert (await announced(gateway, "POST /v1/connectorsx", key, most)).startswith("HTTP/1.1 413 ")


async def test_a_body_that_grows_too_long_is_refused(gateway: httpx.AsyncClient, house: House) -> None:
    async def chunks() -> AsyncGenerator[bytes]:
        for _ in range(house.settings.body_bytes // 65_536 + 2):
            yield b" " * 65_536

    response = await gateway.put("/v1/rules", content=chunks(), headers={"content-type": "application/json"})
    assert problem_of(response).status == 413


async def test_without_a_key_a_body_is_not_even_weighed(gateway: httpx.AsyncClient, house: House) -> None:
    answer = await announced(gateway, "POST /v1/connectors", "Bearer nope", house.settings.document_bytes - 1)
    assert answer.startswith("HTTP/1.1 401 ")


async def test_a_defect_tells_nothing_but_where_to_look(
    estate: Estate, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    words = f"canary-{1234}"

    async def broken() -> None:
        raise RuntimeError(words)

    app = app_of(estate)
    app.get("/broken")(broken)
    async with serve(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        response = await client.get("/broken")
    problem = problem_of(response)
    assert (problem.status, problem.code) == (500, "internal")
    assert "Traceback" not in response.text
    assert "RuntimeError" not in response.text
    assert "RuntimeError" in caplog.text
    assert str(problem.trace) in caplog.text
    assert words not in caplog.text + response.text


async def test_an_incoming_trace_is_gone_on_with(gateway: httpx.AsyncClient) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    response = await gateway.get("/nothing", headers={"traceparent": f"00-{trace}-b7ad6b7169203331-01"})
    assert problem_of(response).trace == trace


async def test_the_gateways_own_document_speaks_of_problems(gateway: httpx.AsyncClient) -> None:
    document = (await gateway.get("/openapi.json")).json()
    assert "Problem" in document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert "default" not in operation["responses"], (method, path)
            if path.startswith("/v1/"):
                assert operation["security"], (method, path)
                assert {"401", "403", "404", "413", "422", "500"} <= set(operation["responses"]), (method, path)


async def test_the_first_keys_speak_for_the_first_principals(gateway: httpx.AsyncClient, key_of: KeyOf) -> None:
    listed = {key["principal"]: key["role"] for key in (await gateway.get("/v1/keys")).json()}
    assert listed == {"admin": "admin", "worker": "worker", "approver": "approver"}
    assert (await gateway.get("/v1/approvals", headers=key_of("approver"))).json() == []


async def test_a_body_that_dribbles_in_is_given_up(serve: Serve) -> None:
    async def echo(request: Request) -> Response:
        return Response(await request.body())

    inner = FastAPI(exception_handlers={HTTPException: on_http_exception})
    inner.post("/")(echo)
    scales = Scales(inner, most=100, most_at={}, seconds=0.1)
    async with serve(scales) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        assert (await client.post("/", content=b"quick")).content == b"quick"
        answer = await announced(client, "POST /", "none", 50)
    assert answer.startswith("HTTP/1.1 408 ")


async def test_an_answer_that_breaks_off_is_logged_and_not_patched_up(
    estate: Estate, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async def pieces() -> AsyncGenerator[bytes]:
        yield b"half"
        raise RuntimeError

    async def stream() -> StreamingResponse:
        return StreamingResponse(pieces())

    app = app_of(estate)
    app.get("/stream")(stream)
    async with serve(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get("/stream")
    assert "unexpected RuntimeError" in caplog.text
