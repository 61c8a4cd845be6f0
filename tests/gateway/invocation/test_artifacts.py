"""Bytes that no model is shown: kept for who asked, given to a further call, fetched; and pages behind handles."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any

import httpx
import pytest
from fastapi import FastAPI, File, UploadFile
from fastapi.responses import Response
from sqlalchemy import text, update
from sqlalchemy.exc import DBAPIError

from practicum.contracts.access import Outcome, Role, Rule, RuleSet
from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.connectors import ConnectorSpec
from practicum.contracts.tools import CallStatus
from practicum_gateway.access.principals import Principal
from practicum_gateway.house import House
from practicum_gateway.store.artifact_tables import ArtifactRow
from tests.gateway.conftest import Serve
from tests.gateway.invocation.conftest import ADMIN, BOT, FREE, call

PDF = b"%PDF-1.7 \x00\xff invoice"
OTHER = Principal(name="other", role=Role.AGENT, key_id="k9")


@dataclass
class Archive:
    """A system that answers and takes files."""

    taken: list[tuple[str | None, bytes]] = field(default_factory=list[tuple[str | None, bytes]])
    issued: list[int] = field(default_factory=list[int])

    def app(self) -> FastAPI:
        app = FastAPI(title="Archive", version="1")

        @app.get(
            "/files/{number}",
            operation_id="get_file",
            response_class=Response,
            responses={200: {"content": {"application/pdf": {"schema": {"type": "string", "format": "binary"}}}}},
        )
        async def get_file(number: int) -> Response:
            return Response(PDF + str(number).encode(), media_type="application/pdf")

        @app.post("/files", operation_id="add_file", status_code=201)
        async def add_file(upload: Annotated[UploadFile, File()]) -> dict[str, int]:
            content = await upload.read()
            self.taken.append((upload.content_type, content))
            return {"bytes": len(content)}

        @app.post("/invoices/{number}", operation_id="issue_invoice", response_class=Response)
        async def issue_invoice(number: int) -> Response:
            self.issued.append(number)
            return Response(PDF, media_type="application/p\N{LATIN SMALL LETTER O WITH DIAERESIS}f")

        @app.get("/entries", operation_id="list_entries")
        async def list_entries(shelf: str, limit: int = 2, offset: int = 0) -> list[dict[str, Any]]:
            return [{"shelf": shelf, "number": number} for number in range(offset, min(offset + limit, 5))]

        _ = (get_file, add_file, issue_invoice, list_entries)
        return app


@pytest.fixture
async def archive(house: House, serve: Serve) -> AsyncIterator[Archive]:
    system = Archive()
    async with serve(system.app()) as url:
        spec = ConnectorSpec(name="archive", source=f"{url}/openapi.json", base_url=url, private_network=True)
        await house.catalogue.register(spec)
        await house.rulebook.replace(FREE, ADMIN)
        yield system


async def test_bytes_are_kept_and_given_to_a_further_call(house: House, archive: Archive) -> None:
    seen = await house.pipeline.invoke(call("archive_get_file", {"number": 7}))
    (artifact,) = seen.artifacts
    assert (seen.status, artifact.media_type, artifact.bytes) == (CallStatus.OK, "application/pdf", len(PDF) + 1)
    assert "invoice" not in seen.content
    sent = await house.pipeline.invoke(call("archive_add_file", {"upload": {"artifact": artifact.id}}, key="up"))
    assert sent.status is CallStatus.OK, sent.content
    assert archive.taken == [("application/octet-stream", PDF + b"7")]  # what its document asks for


async def test_an_artifact_is_nobody_elses(house: House, archive: Archive) -> None:
    (artifact,) = (await house.pipeline.invoke(call("archive_get_file", {"number": 7}))).artifacts
    given = {"upload": {"artifact": artifact.id}}
    refused = await house.pipeline.invoke(call("archive_add_file", given, key="up", principal=OTHER))
    assert (refused.status, artifact.id in refused.content) == (CallStatus.ERROR, True)
    assert archive.taken == []


async def test_after_a_week_it_is_gone(house: House, archive: Archive) -> None:
    assert archive
    (artifact,) = (await house.pipeline.invoke(call("archive_get_file", {"number": 7}))).artifacts
    async with house.store.write() as session:
        await session.execute(update(ArtifactRow).values(expires=utc_now() - timedelta(seconds=1)))
    refused = await house.pipeline.invoke(call("archive_add_file", {"upload": {"artifact": artifact.id}}, key="up"))
    assert refused.status is CallStatus.ERROR
    await house.pipeline.invoke(call("archive_get_file", {"number": 8}, key="other"))
    async with house.store.read() as session:
        assert await session.get(ArtifactRow, (f"principal:{BOT.name}", artifact.id)) is None


async def test_a_deed_is_recorded_even_where_its_bytes_cannot_be_kept(house: House, archive: Archive) -> None:
    async with house.store.write() as session:
        await session.execute(text("ALTER TABLE artifacts RENAME TO elsewhere"))
    with pytest.raises(DBAPIError):
        await house.pipeline.invoke(call("archive_issue_invoice", {"number": 7}))
    again = await house.pipeline.invoke(call("archive_issue_invoice", {"number": 7}))
    assert (again.status, again.http_status, archive.issued) == (CallStatus.OK, 200, [7])


async def test_its_owner_fetches_it_as_a_file(gateway: httpx.AsyncClient, archive: Archive) -> None:
    assert archive
    called = await gateway.post("/v1/tools/archive_get_file/call", json={"arguments": {"number": 3}})
    (artifact,) = called.json()["artifacts"]
    answer = await gateway.get(f"/v1/artifacts/{artifact['id']}")
    assert (answer.status_code, answer.content) == (200, PDF + b"3")
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"
    issued = await gateway.post("/v1/tools/archive_issue_invoice/call", json={"arguments": {"number": 1}})
    odd = await gateway.get(f"/v1/artifacts/{issued.json()['artifacts'][0]['id']}")
    assert (odd.status_code, odd.content, odd.headers["content-type"]) == (200, PDF, "application/octet-stream")
    assert (await gateway.get("/v1/artifacts/art_0")).status_code == 404
    assert (await gateway.get(f"/v1/artifacts/{artifact['id']}?episode=ep_0")).status_code == 404


async def test_the_next_page_is_asked_for_by_its_handle_alone(house: House, archive: Archive) -> None:
    assert archive
    tool, arguments, numbers = "archive_list_entries", dict[str, Any](shelf="a", limit=2), list[int]()
    for page in range(3):
        seen = await house.pipeline.invoke(call(tool, arguments, key=f"page {page}"))
        assert seen.status is CallStatus.OK, seen.content
        numbers += [entry["number"] for entry in json.loads(seen.content)]
        arguments = {"next": seen.next}
    assert numbers == [0, 1, 2, 3, 4]


async def test_rules_see_what_a_handle_stands_for(house: House, archive: Archive) -> None:
    assert archive
    first = await house.pipeline.invoke(call("archive_list_entries", {"shelf": "secret", "limit": 2}))
    secret: JsonObject = {"type": "object", "properties": {"shelf": {"const": "secret"}}, "required": ["shelf"]}
    await house.rulebook.replace(
        RuleSet(rules=(Rule(id="closed", arguments=secret, outcome=Outcome.DENY), *FREE.rules)), ADMIN
    )
    denied = await house.pipeline.invoke(call("archive_list_entries", {"next": first.next}, key="2", principal=OTHER))
    assert denied.status is CallStatus.DENIED
    forged = await house.pipeline.invoke(call("archive_list_entries", {"next": f"{first.next}x"}, key="3"))
    assert forged.status is CallStatus.ERROR
