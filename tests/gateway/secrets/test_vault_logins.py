"""What a real server in development mode cannot be made to do: a Kubernetes login, a sealed vault, others' answers."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse

from practicum.contracts.secrets import reference_of
from practicum.errors import RequestError, SecretSourceError
from practicum_connectors.resilience import Clock
from practicum_gateway.secrets.openbao import AppRole, Kubernetes, KvSecrets, OpenBao, TokenFile
from tests.gateway.conftest import Serve

SECRET = reference_of("secret://vault/crm")


class Stand:
    """Speaks as much of the API as is documented of these paths, and misbehaves on request."""

    def __init__(self) -> None:
        self.logins = 0
        self.mood = 0
        self.lease = 3600
        self.url = ""
        self.good: set[str] = set()

    def app(self) -> FastAPI:
        app = FastAPI()

        @app.post("/v1/auth/{mount}/login")
        async def login(mount: str, request: Request) -> Any:
            given = await request.json()
            self.logins += 1
            if mount != "kubernetes" or given != {"role": "practicum", "jwt": "pod-token"}:
                return JSONResponse({"errors": ["permission denied"]}, 403)
            token = f"t{self.logins}"
            self.good.add(token)
            return {"auth": {"client_token": token, "lease_duration": self.lease, "renewable": True}}

        @app.get("/v1/secret/data/{path:path}")
        async def read(path: str, request: Request) -> Any:
            if self.mood == 1:
                return PlainTextResponse("<html>a proxy</html>")
            if self.mood:
                return JSONResponse({"errors": ["Vault is sealed"]}, self.mood)
            if request.headers.get("x-vault-token") not in self.good:
                return JSONResponse({"errors": ["permission denied"]}, 403)
            return {"data": {"data": {"value": f"of {path}"}, "metadata": {"version": 1}}}

        _ = (login, read)
        return app


@pytest.fixture
async def stand(serve: Serve) -> AsyncIterator[Stand]:
    stand = Stand()
    async with serve(stand.app()) as url:
        stand.url = url
        yield stand


async def test_a_pod_logs_in_once_for_all_and_before_its_token_ends(stand: Stand, tmp_path: Path) -> None:
    (tmp_path / "jwt").write_text("pod-token\n")
    time = [0.0]
    bao = OpenBao(stand.url, Kubernetes("kubernetes", "practicum", tmp_path / "jwt"), clock=Clock(now=lambda: time[0]))
    source = KvSecrets(bao, "secret", "practicum/main")
    assert set(await asyncio.gather(*(source.read(SECRET) for _ in range(8)))) == {"of practicum/main/crm"}
    assert stand.logins == 1
    time[0] = 3000.0
    await source.read(SECRET)
    assert stand.logins == 2
    stand.good.clear()  # withdrawn there: one more login, and no more where that does not help
    await source.read(SECRET)
    assert stand.logins == 3
    stand.mood = 403
    with pytest.raises(RequestError, match="does not let the gateway read secret://vault/crm"):
        await source.read(SECRET)
    assert stand.logins == 4
    for mood, word in ((503, "sealed"), (429, "answered 429"), (500, "answered 500"), (1, "does not speak its API")):
        stand.mood = mood
        with pytest.raises(SecretSourceError, match=word):
            await source.read(SECRET)
    await bao.aclose()


async def test_a_token_file_is_read_anew_once_it_was_refused(stand: Stand, tmp_path: Path) -> None:
    file = tmp_path / "token"
    bao = OpenBao(stand.url, TokenFile(file))
    source = KvSecrets(bao, "secret", "")
    with pytest.raises(SecretSourceError, match="cannot be read"):
        await source.read(SECRET)
    stand.good = {"one"}
    file.write_text("one")
    assert await source.read(SECRET) == "of crm"
    stand.good = {"two"}
    file.write_text("two")
    assert await source.read(SECRET) == "of crm"
    file.write_text("tw\N{LATIN SMALL LETTER O WITH DIAERESIS}-canary")
    with pytest.raises(SecretSourceError, match="not valid HTTP") as unsendable:
        await KvSecrets(OpenBao(stand.url, TokenFile(file)), "secret", "").read(SECRET)
    assert "canary" not in str(unsendable.value)
    await bao.aclose()


async def test_a_login_that_is_refused_is_tried_once_for_all_who_wait(stand: Stand, tmp_path: Path) -> None:
    other = OpenBao(stand.url, AppRole("approle", "r", "secret-canary"))
    source = KvSecrets(other, "secret", "")
    for logins in (1, 2):
        refused = await asyncio.gather(*(source.read(SECRET) for _ in range(16)), return_exceptions=True)
        assert {type(each) for each in refused} == {SecretSourceError}
        assert {"AppRole login" in str(each) and "canary" not in str(each) for each in refused} == {True}
        assert stand.logins == logins
    await other.aclose()
    (tmp_path / "jwt").write_text("pod-token")
    stand.lease = 10**400
    odd = OpenBao(stand.url, Kubernetes("kubernetes", "practicum", tmp_path / "jwt"))
    assert await KvSecrets(odd, "secret", "").read(SECRET) == "of crm"
    await odd.aclose()
