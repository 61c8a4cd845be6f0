"""Prefect's server, registered from its own document: it reads by POST and turns pages in bodies."""

import json
from pathlib import Path

import pytest

from practicum.contracts.connectors import ConnectorSpec, Fidelity
from practicum.contracts.tools import CallStatus, Effect
from tests.journeys.real.conftest import Caller
from tests.journeys.real.servers import prefect

pytestmark = [pytest.mark.journey, pytest.mark.timeout(900)]

CREATE = "prefect_create_variable_variables__post"
READ = "prefect_read_variable_variables__id__get"
UPDATE = "prefect_update_variable_variables__id__patch"
LIST = "prefect_read_variables_variables_filter_post"
DELETE = "prefect_delete_variable_variables__id__delete"


def test_variables_are_created_read_updated_listed_and_deleted(tmp_path: Path, caller: Caller) -> None:
    with prefect(tmp_path) as url:
        report = caller.client.connectors.add(
            ConnectorSpec(name="prefect", source=f"{url}/openapi.json", base_url=f"{url}/api", private_network=True)
        )
        assert report.connector.tools > 150
        assert not [row for row in report.operations if row.fidelity is Fidelity.REFUSED]
        assert [caller.client.tools.get(name).effect for name in (CREATE, READ, UPDATE, LIST, DELETE)] == [
            Effect.CREATE,
            Effect.READ,
            Effect.UPDATE,
            Effect.READ,
            Effect.DELETE,
        ]

        made = [caller.call(CREATE, name=name, value={"from": name}) for name in ("one", "two", "three")]
        assert caller.call(READ, id=made[0]["id"])["value"] == {"from": "one"}
        assert caller.seen(UPDATE, id=made[0]["id"], value=0).status is CallStatus.OK
        assert caller.call(READ, id=made[0]["id"])["value"] == 0

        first = caller.seen(LIST, limit=2)
        assert first.next is not None
        second = caller.seen(LIST, next=first.next)
        names = [row["name"] for seen in (first, second) for row in json.loads(seen.content)]
        assert sorted(names) == ["one", "three", "two"]
        assert second.next is None

        assert caller.seen(DELETE, id=made[0]["id"]).status is CallStatus.OK
        gone = caller.seen(READ, id=made[0]["id"])
        assert (gone.status, gone.http_status) == (CallStatus.ERROR, 404)
        wrong = caller.seen(CREATE, name="one", value="x" * 6000)
        assert (wrong.status, wrong.http_status) == (CallStatus.ERROR, 422)
