"""Centurion's server, registered from its own document: no servers, a header with a space, bracketed names."""

import json
from pathlib import Path

import pytest

from practicum.contracts.connectors import ApiKeyAuth, ConnectorSpec, Fidelity
from practicum.contracts.tools import CallStatus
from tests.journeys.real.conftest import Caller
from tests.journeys.real.servers import TOKEN, centurion

pytestmark = [pytest.mark.journey, pytest.mark.timeout(1200)]

PROJECT = "erp_project_management_project"


def test_projects_are_created_read_updated_listed_and_deleted(tmp_path: Path, caller: Caller) -> None:
    with centurion(tmp_path) as url:
        key = ApiKeyAuth(value=f"Token {TOKEN}", name="Authorization", location="header")
        report = caller.client.connectors.add(
            ConnectorSpec(
                name="erp", source=f"{url}/api/v2/schema?format=json", base_url=url, auth=key, private_network=True
            )
        )
        assert report.connector.tools > 200
        assert not [row for row in report.operations if row.fidelity is Fidelity.REFUSED]

        made = [caller.call(f"{PROJECT}_create", name=name, organization=1) for name in ("one", "two", "three")]
        assert caller.call(f"{PROJECT}_retrieve", id=str(made[0]["id"]))["name"] == "one"
        assert caller.call(f"{PROJECT}_partial_update", id=str(made[0]["id"]), name="first")["name"] == "first"

        page = caller.seen(f"{PROJECT}_list", page_size=2)
        names = [row["name"] for row in json.loads(page.content)["results"]]
        assert page.next is not None
        further = caller.seen(f"{PROJECT}_list", next=page.next)
        names += [row["name"] for row in json.loads(further.content)["results"]]
        assert sorted(names) == ["first", "three", "two"]
        assert further.next is None

        device = {"name": "printer", "organization": 1, "serial_number": "A-1"}
        first, again = (caller.seen("erp_itam_device_create", **device) for _ in range(2))
        assert [(seen.status, seen.http_status) for seen in (first, again)] == [
            (CallStatus.OK, 201),
            (CallStatus.OK, 200),
        ]
        assert json.loads(again.content)["id"] == json.loads(first.content)["id"]

        assert caller.seen(f"{PROJECT}_destroy", id=str(made[0]["id"])).status is CallStatus.OK
        gone = caller.seen(f"{PROJECT}_retrieve", id=str(made[0]["id"]))
        assert (gone.status, gone.http_status) == (CallStatus.ERROR, 404)
        page = caller.seen("erp_ticket_list", app_label="core", model_name="nothing")
        assert (page.status, page.http_status) == (CallStatus.ERROR, 404)
        assert "<html" not in page.content
