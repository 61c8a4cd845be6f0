"""Where answers depart from the document: counted, and never a failure."""

import pytest

from practicum.contracts.tools import CallStatus
from practicum_connectors import CompiledConnector
from tests.connectors.documents import Json, compiled, document, operation
from tests.connectors.loopback import Answer, System

ITEM: Json = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
CONTENT: Json = {
    "application/json": {"schema": {"type": "array", "items": ITEM}},
    "application/x-ndjson": {"schema": ITEM},
    "text/csv": {"schema": {"type": "string"}},
}
RESPONSES: Json = {"200": {"description": "ok", "content": CONTENT}}


@pytest.fixture
def connector(system: System) -> CompiledConnector:
    return compiled(document({"/things": {"get": operation(operationId="list", responses=RESPONSES)}}), system.url)


@pytest.mark.parametrize(
    ("answer", "departures"),
    [
        (Answer(body=[{"id": 1}]), 0),
        (Answer(body=[{"id": "1"}]), 1),
        (Answer(body=[{"id": "1"}, {}]), 2),
        (Answer(206, []), 1),
        (Answer(body=b"[]", media_type="application/vnd.x+json"), 1),
        (Answer(body=b"{oops"), 1),
        (Answer(404, {"detail": "none"}), 0),
        (Answer(body=b'{"id": 1}\n', media_type="application/x-ndjson"), 0),
        (Answer(body=b"a,b\n", media_type="text/csv"), 0),
        (Answer(204), 0),
    ],
)
async def test_departures_are_counted(
    system: System, connector: CompiledConnector, answer: Answer, departures: int
) -> None:
    system.answer("/things", answer)
    async with connector:
        seen = connector.shape(await connector.send(connector.prepare("crm_list", {})))
    assert seen.departures == departures
    assert seen.observation.status in {CallStatus.OK, CallStatus.ERROR}


ENDLESS: Json = {"allOf": [{"$ref": "#/components/schemas/Endless"}, {"type": "object"}]}


async def test_a_description_that_includes_itself_describes_nothing(system: System) -> None:
    responses = {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Endless"}}}}}
    made = document(
        {"/things": {"get": operation(operationId="list", responses=responses)}},
        components={"schemas": {"Endless": ENDLESS}},
    )
    system.answer("/things", Answer(body={"id": 1}))
    async with compiled(made, system.url) as connector:
        seen = connector.shape(await connector.send(connector.prepare("crm_list", {})))
    assert (seen.observation.content, seen.departures) == ('{"id":1}', 0)


async def test_what_an_answer_lacks_is_one_departure_and_hides_no_other(system: System) -> None:
    names = [f"field_{number}" for number in range(30)]
    schema: Json = {"type": "object", "required": names, "properties": {"id": {"type": "integer"}}}
    responses: Json = {"200": {"description": "ok", "content": {"application/json": {"schema": schema}}}}
    system.answer("/thing", Answer(body={"id": "1"}))
    made = document({"/thing": {"get": operation(operationId="get", responses=responses)}})
    async with compiled(made, system.url) as connector:
        seen = connector.observe(await connector.send(connector.prepare("crm_get", {})))
    lacking, wrong = sorted(seen.warnings)
    assert lacking.startswith("The answer is missing 'field_0', ")
    assert "'field_19' and 10 more, by" in lacking
    assert wrong.startswith("`id` in the answer should be integer")
