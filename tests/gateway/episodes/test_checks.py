"""Checks of models: three tiny questions, what follows from the answers, and where that is kept."""

import json
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from practicum.contracts.checks import Capability, ModelCheck
from practicum.contracts.models import ModelSpec, ModelVersion, Provider, Sampled
from practicum.testing import Reply, ScriptedCall, call, fail, say
from practicum_gateway.models.dialects import advice, dialect
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
    assert (found.healthy, found.tokens) == (True, 18)
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
    shown = {"chat_template": "plain", "chat_template_tool_use": "with tools"}
    assert read_props(shown) == Told(template="with tools")
    strange: tuple[object, ...] = ([], {"data": "x"}, {"data": [1]}, {"data": [{"max_model_len": "8"}]}, None)
    for nonsense in strange:
        assert read_models(nonsense, "x") == Told()
        assert read_props(nonsense) == Told()


@pytest.fixture
def props() -> Generator[str]:
    """URL of a llama.cpp server that tells its chat template, and nothing else."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"chat_template": "<|im_start|> <tool_call>"}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


async def test_whoever_registers_a_model_is_told_which_codec_suits_it(world: World, props: str) -> None:
    spec: dict[str, Any] = {"alias": "own", "provider": "llama_cpp", "target": "qwen", "base_url": props}
    advised = (await world.admin.post("/v1/models", json=spec)).json()["advice"]
    assert "of the family of 'hermes', and it is asked in 'chatml-compact'" in advised
    assert advised.endswith("register it again with --codec hermes.")
    found = await check(world, "own")
    assert able(found) == {"answers": False, "dialect": False}, "that it cannot be asked so is told with the reason"
    told = await world.admin.post("/v1/models", json={**spec, "codec": "hermes"})
    assert (told.json()["codec"], told.json()["advice"]) == ("hermes", None)
    assert (await world.admin.get("/v1/models/own")).json()["advice"] is None
    litellm = {"alias": "far", "provider": "litellm", "target": "openai/x"}
    assert (await world.admin.post("/v1/models", json=litellm)).json()["advice"] is None


async def test_whoever_left_v1_out_is_told(world: World) -> None:
    lost = {"alias": "lost", "provider": "litellm", "target": "openai/x", "base_url": world.url}
    await world.admin.post("/v1/models", json=lost)
    found = await check(world, "lost")
    assert able(found) == {"answers": False}
    assert "with 404" in found.findings[0].said
    assert "ends with /v1" in found.findings[0].said


def test_what_is_said_of_a_dialect_depends_on_how_it_is_known() -> None:
    spec = ModelSpec(alias="own", provider=Provider.COMPLETIONS, target="org/Qwen3-8B", base_url="http://x/v1")
    for codec, template, able, said in (
        ("hermes", "<|im_start|> <tool_call>", True, "is of the family of 'hermes', in which it is asked"),
        ("glm", "<|im_start|> <tool_call>", False, "register it again with --codec hermes"),
        ("glm", "of its own", None, "of no family that is known: it is asked in 'glm'; the codecs are"),
        ("glm", None, None, "its name 'org/Qwen3-8B' is of the family of 'hermes'"),
        ("hermes", None, True, "in which it is asked"),
    ):
        found = dialect(spec.model_copy(update={"codec": codec}), template)
        assert found is not None
        assert (found.capability, found.able) == (Capability.DIALECT, able)
        assert said in found.said
    assert dialect(spec.model_copy(update={"provider": Provider.LITELLM}), None) is None
    assert advice(spec.model_copy(update={"codec": "hermes"}), "<|im_start|> <tool_call>") is None
