"""The pipeline against a real system: decided, validated, sent once, shaped, recorded."""

import asyncio
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from practicum.contracts.access import Outcome, Role, Rule, RuleSet
from practicum.contracts.connectors import Mode
from practicum.contracts.episodes import EpisodeMode
from practicum.contracts.tools import CallStatus
from practicum.errors import CallError, ConflictError, ForbiddenError, NotFoundError
from practicum_gateway.access.principals import Principal
from practicum_gateway.app import build, running
from practicum_gateway.house import House
from practicum_gateway.settings import Settings
from tests.gateway.conftest import spec_of
from tests.gateway.invocation.conftest import ADMIN, FREE, call
from tests.gateway.shop import SECRET, Shop, create_shop


async def test_a_read_is_answered_by_default(stocked: House, shop: Shop) -> None:
    observation = await stocked.pipeline.invoke(call("shop_get_order", {"order": 7}))
    assert (observation.status, observation.http_status) == (CallStatus.OK, 200)
    assert '"paid"' in observation.content
    assert shop.reads == 1


async def test_a_tool_is_also_found_by_its_address(stocked: House) -> None:
    observation = await stocked.pipeline.invoke(call("shop.get_order", {"order": 7}))
    assert observation.status is CallStatus.OK


async def test_a_repeated_key_returns_the_recorded_outcome(free: House, shop: Shop) -> None:
    first = await free.pipeline.invoke(call("shop_add_note", {"text": "hello"}))
    again = await free.pipeline.invoke(call("shop_add_note", {"text": "hello"}))
    assert first.status is CallStatus.OK
    assert again == first
    assert len(shop.notes) == 1
    await free.pipeline.invoke(call("shop_add_note", {"text": "hello"}, key="another"))
    assert len(shop.notes) == 2


async def test_a_recorded_outcome_outlives_its_connector_and_its_rules(free: House) -> None:
    first = await free.pipeline.invoke(call("shop_add_note", {"text": "hello"}))
    await free.rulebook.replace(RuleSet(rules=(Rule(id="never", outcome=Outcome.DENY),)), ADMIN)
    await free.catalogue.remove("shop")
    assert await free.pipeline.invoke(call("shop_add_note", {"text": "hello"})) == first


async def test_a_key_with_other_content_is_a_conflict(free: House, shop: Shop) -> None:
    await free.pipeline.invoke(call("shop_add_note", {"text": "hello"}))
    for tool, arguments in (("shop_add_note", {"text": "bye"}), ("shop_create_refund", {"order": 1, "amount": 1})):
        with pytest.raises(ConflictError):
            await free.pipeline.invoke(call(tool, arguments))
    assert (len(shop.notes), len(shop.refunds)) == (1, 0)


async def test_two_principals_may_use_the_same_key(free: House, shop: Shop) -> None:
    other = Principal(name="another-bot", role=Role.AGENT, key_id="k9")
    await free.pipeline.invoke(call("shop_add_note", {"text": "mine"}))
    await free.pipeline.invoke(call("shop_add_note", {"text": "yours"}, principal=other))
    assert [note.text for note in shop.notes] == ["mine", "yours"]


async def test_duplicates_in_flight_wait_for_the_first(free: House, shop: Shop) -> None:
    shop.moods["add_note"] = ["hold"]
    calls = [asyncio.create_task(free.pipeline.invoke(call("shop_add_note", {"text": "once"}))) for _ in range(5)]
    await asyncio.wait_for(shop.held.wait(), 30)
    with pytest.raises(ConflictError):
        await free.pipeline.invoke(call("shop_add_note", {"text": "another"}))
    assert not any(task.done() for task in calls)
    shop.released.set()
    observations = await asyncio.gather(*calls)
    assert len(shop.notes) == 1
    assert len({observation.content for observation in observations}) == 1
    assert observations[0].status is CallStatus.OK


async def test_a_caller_who_hangs_up_does_not_stop_the_call(free: House, shop: Shop) -> None:
    shop.moods["add_note"] = ["hold"]
    task = asyncio.create_task(free.pipeline.invoke(call("shop_add_note", {"text": "once"})))
    await asyncio.wait_for(shop.held.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    shop.released.set()
    observation = await free.pipeline.invoke(call("shop_add_note", {"text": "once"}))
    assert observation.status is CallStatus.OK
    assert len(shop.notes) == 1


async def test_a_denied_call_reaches_nobody(stocked: House, shop: Shop) -> None:
    await stocked.rulebook.replace(RuleSet(rules=(Rule(id="never", outcome=Outcome.DENY),)), ADMIN)
    observation = await stocked.pipeline.invoke(call("shop_get_order", {"order": 7}))
    assert observation.status is CallStatus.DENIED
    assert "Rule 'never' denies shop.get_order" in observation.content
    assert shop.reads == 0


@pytest.mark.parametrize("role", [Role.APPROVER, Role.WORKER])
async def test_roles_that_call_nothing_are_denied(free: House, shop: Shop, role: Role) -> None:
    who = Principal(name="x", role=role, key_id="k")
    observation = await free.pipeline.invoke(call("shop_add_note", {"text": "hello"}, principal=who))
    assert observation.status is CallStatus.DENIED
    assert shop.notes == []


async def test_wrong_arguments_are_told_to_the_model_or_raised(free: House, shop: Shop) -> None:
    wrong = {"order": "many", "amount": 1, "extra": True}
    observation = await free.pipeline.invoke(call("shop_create_refund", wrong))
    assert observation.status is CallStatus.ERROR
    assert "order" in observation.content
    with pytest.raises(CallError):
        await free.pipeline.invoke(call("shop_create_refund", wrong, raise_call_errors=True))
    for no_json in (float("nan"), "\ud800"):
        with pytest.raises(CallError, match="no JSON"):
            await free.pipeline.invoke(call("shop_add_note", {"text": no_json}, raise_call_errors=True))
    mended = await free.pipeline.invoke(call("shop_create_refund", {"order": 1, "amount": 1}))
    assert mended.status is CallStatus.OK
    assert len(shop.refunds) == 1


async def test_an_unknown_tool_names_the_nearest(stocked: House) -> None:
    observation = await stocked.pipeline.invoke(call("shop_get_ordr", {"order": 7}))
    assert observation.status is CallStatus.ERROR
    assert "shop_get_order" in observation.content
    with pytest.raises(NotFoundError):
        await stocked.pipeline.invoke(call("nothing_like_it", {}, raise_call_errors=True))


async def test_the_system_says_no(free: House, shop: Shop) -> None:
    missing = await free.pipeline.invoke(call("shop_get_order", {"order": 5000}, key="a"))
    assert (missing.status, missing.http_status) == (CallStatus.ERROR, 404)
    shop.moods["create_refund"] = ["refuse"]
    refused = await free.pipeline.invoke(call("shop_create_refund", {"order": 1, "amount": 1}, key="b"))
    assert (refused.status, refused.http_status) == (CallStatus.ERROR, 409)
    assert shop.refunds == []


async def test_a_dead_system_is_unavailable_and_nothing_is_in_doubt(free: House) -> None:
    dead = spec_of(Shop(url="http://127.0.0.1:9"), name="dead")
    document = create_shop(Shop()).openapi()
    await free.catalogue.register(dead.model_copy(update={"source": None, "document": document}))
    observation = await free.pipeline.invoke(call("dead_add_note", {"text": "hello"}))
    assert observation.status is CallStatus.UNAVAILABLE
    assert "127.0.0.1:9" in observation.content


async def test_an_unsafe_call_whose_answer_is_lost_is_in_doubt_for_good(free: House, shop: Shop) -> None:
    shop.moods["add_note"] = ["lose"]
    observation = await free.pipeline.invoke(call("shop_add_note", {"text": "perhaps"}))
    assert observation.status is CallStatus.IN_DOUBT
    again = await free.pipeline.invoke(call("shop_add_note", {"text": "perhaps"}))
    assert again == observation
    assert len(shop.notes) == 1


async def test_an_unsafe_call_that_broke_the_system_is_in_doubt(free: House, shop: Shop) -> None:
    shop.moods["add_note"] = ["fail"]
    observation = await free.pipeline.invoke(call("shop_add_note", {"text": "perhaps"}))
    assert (observation.status, observation.http_status) == (CallStatus.IN_DOUBT, 500)
    await free.pipeline.invoke(call("shop_add_note", {"text": "perhaps"}))
    assert len(shop.notes) == 1


@pytest.mark.parametrize("mood", ["lose", "fail"])
async def test_where_the_system_knows_the_key_the_doubt_is_cleared(free: House, shop: Shop, mood: str) -> None:
    shop.moods["create_refund"] = [mood]
    observation = await free.pipeline.invoke(call("shop_create_refund", {"order": 1, "amount": 5}))
    assert observation.status is CallStatus.OK
    assert len(shop.refunds) == 1
    keys = {headers["idempotency-key"] for headers in shop.seen if "idempotency-key" in headers}
    assert len(keys) == 1


@pytest.mark.parametrize("second", ["lose", "busy", "refuse"])
async def test_a_doubt_that_is_not_cleared_stays(free: House, shop: Shop, second: str) -> None:
    shop.moods["create_refund"] = ["lose", second, second, second]
    observation = await free.pipeline.invoke(call("shop_create_refund", {"order": 1, "amount": 5}))
    assert observation.status is CallStatus.IN_DOUBT
    assert len(shop.refunds) == 1


async def test_the_systems_key_is_not_the_callers(free: House, shop: Shop) -> None:
    await free.pipeline.invoke(call("shop_create_refund", {"order": 1, "amount": 5}, key="refund-1"))
    sent = next(headers["idempotency-key"] for headers in shop.seen if "idempotency-key" in headers)
    assert "refund-1" not in sent
    assert len(sent) >= 32


async def test_training_never_touches_a_live_system(free: House, shop: Shop) -> None:
    practice = spec_of(shop, name="practice").model_copy(update={"mode": Mode.PRACTICE})
    await free.catalogue.register(practice)
    live = await free.pipeline.invoke(call("shop_get_order", {"order": 1}, key="a", mode=EpisodeMode.TRAINING))
    assert live.status is CallStatus.DENIED
    assert shop.reads == 0
    twin = await free.pipeline.invoke(call("practice_get_order", {"order": 1}, key="b", mode=EpisodeMode.TRAINING))
    assert twin.status is CallStatus.OK


async def test_an_episode_key_acts_in_its_own_episode_only(free: House, shop: Shop) -> None:
    bound = Principal(name="bot", role=Role.AGENT, key_id="k", episode="ep_1")
    for episode in (None, "ep_2"):
        with pytest.raises(ForbiddenError):
            await free.pipeline.invoke(call("shop_get_order", {"order": 1}, principal=bound, episode=episode))
    assert shop.reads == 0


async def test_the_credential_reaches_the_system_and_no_other_place(free: House, shop: Shop) -> None:
    observation = await free.pipeline.invoke(call("shop_mirror", {}))
    assert observation.status is CallStatus.OK
    assert shop.seen[-1]["x-api-key"] == SECRET
    assert SECRET not in observation.model_dump_json()
    echoed = await free.pipeline.invoke(call("shop_add_note", {"text": f"is {SECRET} your key?"}, key="b"))
    assert echoed.status is CallStatus.OK
    assert not any(SECRET.encode() in content for content in contents(free.settings.data_dir))


def contents(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.iterdir()]


async def test_spans_say_which_tool_was_called_and_nothing_of_what_was_said(settings: Settings, shop: Shop) -> None:
    exporter = InMemorySpanExporter()
    house = build(settings, spans=SimpleSpanProcessor(exporter))
    async with running(house):
        await house.catalogue.register(spec_of(shop))
        await house.rulebook.replace(FREE, ADMIN)
        shop.moods["add_note"] = ["", "fail"]
        for key in ("a", "b"):
            await house.pipeline.invoke(call("shop_add_note", {"text": "confidential words"}, key=key))
    good, bad = exporter.get_finished_spans()
    assert good.name == "execute_tool shop_add_note"
    assert dict(good.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "shop_add_note",
        "gen_ai.tool.type": "extension",
        "practicum.call.status": "ok",
    }
    assert (bad.attributes or {})["error.type"] == "in_doubt"
    assert "confidential" not in good.to_json() + bad.to_json()
    assert good.context is not None
    trace = format(good.context.trace_id, "032x")
    assert any(trace in headers.get("traceparent", "") for headers in shop.seen)
