import pytest

from examples.systems.company import seed_states
from examples.systems.store import StateError
from examples.systems.world import World
from practicum.contracts.base import JsonObject
from practicum.contracts.tools import CallStatus
from practicum.errors import NotFoundError
from practicum.tasks import states_of

STATES = states_of(seed_states(1))


async def test_a_world_is_empty_until_it_is_loaded_and_private(world: World) -> None:
    async with World() as other:
        await world.load(STATES)
        assert await world.state() == STATES
        assert not any(records for tables in (await other.state()).values() for records in tables.values())
        assert world.credentials.erp_client_secret != other.credentials.erp_client_secret


async def test_loading_a_state_replaces_the_one_before_and_the_counters(world: World) -> None:
    await world.load(STATES)
    customer = min(STATES["crm"]["customers"])
    assert (await world.call("crm_add_note", {"customer_id": customer, "text": "hello"})).status is CallStatus.OK
    assert await world.effects() == {"crm": 1, "erp": 0, "cicd": 0}
    await world.load({"crm": STATES["crm"]})
    assert await world.effects() == {"crm": 0, "erp": 0, "cicd": 0}
    assert (await world.state())["erp"] == {"products": {}, "orders": {}, "refunds": {}, "messages": {}}


async def test_a_tool_is_called_by_its_name_wherever_its_arguments_go(world: World) -> None:
    await world.load(STATES)
    listed = await world.call("erp_list_orders", {"status": "paid", "page_size": 1})
    assert (listed.http_status, '"page":1' in listed.content) == (200, True)
    service = min(STATES["cicd"]["services"])
    assert (await world.call("cicd_rollback_service", {"service": service})).http_status == 202
    refused = await world.call("erp_create_refund", {"order_id": 1, "amount": 5})
    assert (refused.http_status, refused.status) == (404, CallStatus.ERROR)


async def test_arguments_that_do_not_fit_are_told_and_not_sent(world: World) -> None:
    await world.load(STATES)
    customer = min(STATES["crm"]["customers"])
    for arguments, hint in (({"customer_id": customer}, "is missing 'text'"), ({"text": 1}, "customer_id")):
        answer = await world.call("crm_add_note", JsonObject(arguments))
        assert (answer.status, answer.http_status) == (CallStatus.ERROR, None)
        assert hint in answer.content
    assert await world.effects() == {"crm": 0, "erp": 0, "cicd": 0}


async def test_a_repeated_key_calls_once_until_the_next_load(world: World) -> None:
    note: JsonObject = {"customer_id": min(STATES["crm"]["customers"]), "text": "hello"}
    for _ in range(2):
        await world.load(STATES)
        first = await world.call("crm_add_note", note, "0/0")
        assert await world.call("crm_add_note", {**note, "text": "other"}, "0/0") == first
        assert (await world.effects())["crm"] == 1
        await world.call("crm_add_note", note, "0/1")
        assert (await world.effects())["crm"] == 2


def test_tools_stand_in_the_order_of_the_gateway(world: World) -> None:
    names = [tool.name for tool in world.tools]
    assert names == sorted(names)
    assert {name.partition("_")[0] for name in names} == {"crm", "erp", "cicd"}


async def test_an_unknown_tool_is_named(world: World) -> None:
    with pytest.raises(NotFoundError, match="no tool crm_delete_everything"):
        await world.call("crm_delete_everything", {})


async def test_work_under_way_is_done_at_the_next_request(world: World) -> None:
    await world.load(STATES)
    build = int(max(STATES["cicd"]["builds"]))
    assert '"status":"running"' in (await world.call("cicd_deploy_build", {"build_id": build})).content
    assert '"status":"succeeded"' in (await world.call("cicd_get_deployment", {"deployment_id": 1})).content


async def test_a_token_that_expires_in_the_middle_is_renewed(world: World) -> None:
    await world.load(STATES)
    order = int(min(STATES["erp"]["orders"]))
    for _ in range(200):  # a world's clock moves a second with each request; a token lives 120
        assert (await world.call("erp_get_order", {"order_id": order})).status is CallStatus.OK


async def test_a_state_that_no_system_takes_is_an_error(world: World) -> None:
    with pytest.raises(StateError, match="no such table: /orders"):
        await world.load({"crm": {"orders": {}}})
