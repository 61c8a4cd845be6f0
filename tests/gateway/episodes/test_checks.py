"""Checks of models: three tiny questions, what follows from the answers, and where that is kept."""

from typing import Any

from practicum.contracts.checks import Capability, ModelCheck
from practicum.contracts.models import ModelVersion, Sampled
from practicum.testing import Reply, ScriptedCall, call, fail, say
from practicum_gateway.models.lengths import Told, read_models, read_props
from tests.gateway.episodes.world import World

TOKENS = Sampled(prompt_ids=(1, 2), completion_ids=(3,), logprobs=(-0.5,))


async def check(world: World, alias: str, **query: str) -> ModelCheck:
    answer = await world.admin.post(f"/v1/models/{alias}/check", params=query)
    assert answer.status_code == 200, answer.text
    return ModelCheck.model_validate_json(answer.content)


def able(found: ModelCheck) -> dict[str, bool | None]:
    return {finding.capability.value: finding.able for finding in found.findings}


async def test_what_a_server_can_do_is_said_with_what_follows_and_kept(world: World) -> None:
    spec: dict[str, Any] = {"alias": "own", "provider": "litellm", "target": "hosted_vllm/scripted"}
    spec |= {"base_url": world.model.base_url, "cache_seconds": 60, "sampling": {"temperature": 0}}
    assert (await world.admin.post("/v1/models", json=spec)).status_code == 201
    world.model.extend(Reply(content="OK", sampled=TOKENS), Reply(tool_calls=(ScriptedCall("add_numbers", {"a": 2}),)))
    world.model.extend(say("OK."))
    found = await check(world, "own", version="hosted_vllm/scripted")
    assert able(found) == {
        "answers": True,
        "streams": True,
        "tools": True,
        "token_ids": True,
        "logprobs": True,
        "length": None,
    }
    assert (found.healthy, found.tokens) == (True, 30)
    assert [request.body["max_tokens"] for request in world.model.requests] == [16, 64, 16]
    path = "/v1/models/own/versions"
    (version,) = [ModelVersion.model_validate(each) for each in (await world.admin.get(path)).json()]
    assert version.check == found
    assert (await world.admin.post("/v1/models", json=spec)).status_code == 201
    assert [each["check"] for each in (await world.admin.get(path)).json()] == [None]


async def test_what_it_cannot_do_is_no_error(world: World) -> None:
    world.model.extend(say("OK."), say("It is 5."), fail(400, "no streams here"))
    found = await check(world, "scripted")
    said = {finding.capability: finding.said for finding in found.findings}
    assert able(found) == {
        "answers": True,
        "streams": False,
        "tools": False,
        "token_ids": False,
        "logprobs": False,
        "length": None,
    }
    assert said[Capability.TOKEN_IDS] == "no token ids: trajectories are not usable for rl"
    assert "called none" in said[Capability.TOOLS]
    assert "no streams here" in said[Capability.STREAMS]
    world.model.extend(fail(401, "bad key sk-of-the-provider-0123456789"))
    found = await check(world, "scripted")
    assert (found.healthy, able(found), "sk-of" in found.model_dump_json()) == (False, {"answers": False}, False)
    world.model.extend(say("OK."), call("add_numbers", "{"), say("OK."))
    (tools,) = [one for one in (await check(world, "scripted")).findings if one.capability is Capability.TOOLS]
    assert (tools.able, "called it wrongly" in tools.said) == (False, True)
    assert (await world.admin.post("/v1/models/nobody/check")).status_code == 404


def test_lengths_are_read_as_servers_tell_them() -> None:
    vllm = {"data": [{"id": "other"}, {"id": "our/model", "owned_by": "vllm", "max_model_len": 8192}]}
    assert read_models(vllm, "openai/our/model") == Told(8192, vllm=True)
    assert read_models({"data": [{"id": "x", "meta": {"n_ctx_train": 2048}}]}, "openai/y") == Told(2048)
    assert read_props({"default_generation_settings": {"n_ctx": 4096}}) == Told(4096)
    strange: tuple[object, ...] = ([], {"data": "x"}, {"data": [1]}, {"data": [{"max_model_len": "8"}]}, None)
    for nonsense in strange:
        assert read_models(nonsense, "x") == Told()
        assert read_props(nonsense) == Told()
