"""The form in which tools are written for a model: its provider's, or what its codec renders."""

from typing import Any

import pytest

from examples.systems.world import World
from practicum.cli.services.local_model import local_model
from practicum.codecs.registry import codec_named
from practicum.contracts.base import JsonObject
from practicum.contracts.messages import ToolCall
from practicum.contracts.models import ModelSpec, Provider
from practicum.contracts.tools import Effect, Tool
from practicum.episode.disclosure import Disclosure
from practicum.episode.offering import definition
from practicum.errors import RequestError
from practicum_gateway.models.tool_forms import function, profile_of, profiled, restored, too_many
from practicum_gateway.models.versions import check_settings, info_of, same_model

TOOL = Tool(
    name="erp_refund",
    connector="erp",
    operation="refund",
    description="Refund an order.",
    input_schema={
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "note": {"type": "string"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["id"],
        "additionalProperties": False,
    },
    effect=Effect.MONEY,
    method="POST",
    path="/refund",
)


def spec(target: str = "openai/x", **given: Any) -> ModelSpec:
    return ModelSpec.model_validate({"alias": "m", "provider": "litellm", "target": target, **given})


def local(**given: Any) -> ModelSpec:
    return ModelSpec.model_validate(
        {"alias": "m", "provider": "llama_cpp", "target": "smol", "base_url": "http://127.0.0.1:1", **given}
    )


@pytest.mark.parametrize(
    ("target", "profile"),
    [
        ("openai/gpt-5-mini", "openai"),
        ("anthropic/claude", "anthropic"),
        ("gemini/flash", "gemini"),
        ("vertex_ai/gemini-flash", "gemini"),
        ("vertex_ai/claude", None),
        ("hosted_vllm/own", None),
        ("gpt-5-mini", None),
    ],
)
def test_a_target_tells_its_provider_only_where_that_is_sure(target: str, profile: str | None) -> None:
    assert profile_of(spec(target)) == profile
    assert info_of(spec(target)).tool_profile == profile


def test_a_registration_has_the_last_word() -> None:
    assert profile_of(spec("hosted_vllm/own", tool_profile="local")) == "local"
    assert profile_of(local()) is None


@pytest.mark.parametrize("name", ["openai", "openai_strict", "anthropic", "gemini", "local"])
def test_every_profile_makes_a_function_for_chat_completions(name: str) -> None:
    made: Any = function(TOOL, name)
    assert made["type"] == "function"
    assert (made["function"]["name"], made["function"]["description"]) == ("erp_refund", "Refund an order.")
    assert "id" in made["function"]["parameters"]["properties"]
    assert made["function"].get("strict") is (True if name == "openai_strict" else None)


@pytest.mark.parametrize("name", ["openai", "openai_strict", "anthropic", "gemini", "local"])
def test_a_tool_without_arguments_has_a_schema_all_the_same(name: str) -> None:
    bare = TOOL.model_copy(update={"input_schema": {"type": "object", "properties": {}, "additionalProperties": False}})
    made: Any = function(bare, name)
    assert made["function"]["parameters"]["type"] == "object"


def test_without_a_profile_a_tool_is_written_as_it_is() -> None:
    assert function(TOOL, None) == definition(TOOL)


def test_what_was_written_in_a_form_comes_back_as_the_tool_takes_it() -> None:
    written: Any = {"id": 7, "note": None, "labels": [{"key": "a", "value": "b"}]}
    assert restored(TOOL, written, "openai_strict") == {"id": 7, "labels": {"a": "b"}}
    assert restored(TOOL, written, None) == written


@pytest.mark.parametrize("name", ["openai_strict", "gemini"])
def test_the_arguments_of_a_found_tool_survive_a_form_that_knows_no_free_objects(name: str) -> None:
    two = Disclosure.of((TOOL,))
    made: Any = function(two.call, name)
    assert made["function"]["parameters"]["properties"]["arguments"]["type"] == "string"
    written: JsonObject = {"name": "erp_refund", "arguments": '{"id": 7, "labels": {"a": "b"}}'}
    wish = ToolCall(id="c", name="call_tool", arguments=restored(two.call, written, name))
    meant = two.read(wish, (TOOL,))
    assert meant == ToolCall(id="c", name="erp_refund", arguments={"id": 7, "labels": {"a": "b"}})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (spec(tool_profile="opnai"), "openai_strict"),
        (spec(tool_profile="mcp"), "MCP clients"),
        (local(tool_profile="openai"), "would do nothing"),
    ],
)
def test_a_profile_that_does_nothing_is_refused(wrong: ModelSpec, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        check_settings(wrong)


def test_a_profile_shows_what_it_cannot_say_and_mcp_its_hints() -> None:
    assert profiled(TOOL, "mcp").definition["annotations"] == TOOL.annotations
    told: Any = {"type": "object", "properties": {"id": {"not": {"const": 0}}}, "additionalProperties": False}
    assert profiled(TOOL.model_copy(update={"input_schema": told}), "gemini").notes
    with pytest.raises(RequestError, match="no profile 'x'"):
        profiled(TOOL, "x")


def test_a_budget_is_measured_in_the_form_that_is_sent() -> None:
    # As a function 300 tokens, as a signature of the codec 15.
    wordy = TOOL.model_copy(update={"description": "word " * 240})
    assert too_many((wordy,), spec("hosted_vllm/own", tool_tokens=100))
    assert not too_many((wordy,), local(tool_tokens=100))
    assert too_many((wordy,) * 10, local(tool_tokens=100))
    assert too_many((wordy,), spec("hosted_vllm/own", tool_tokens=250))
    assert not too_many((wordy,), spec("hosted_vllm/own", tool_profile="local", tool_tokens=250))
    assert not too_many((wordy,) * 1000, spec(tool_tokens=None))


def test_a_budget_that_is_not_given_is_the_providers() -> None:
    assert spec().tool_tokens == 20_000
    assert local().tool_tokens == 1_000
    assert ModelSpec.model_validate_json(spec(tool_tokens=None).model_dump_json()).tool_tokens is None
    assert not same_model(spec(), spec(tool_tokens=5))
    assert same_model(spec(), spec(tool_tokens=20_000))
    assert ModelSpec(alias="m", provider=Provider.LLAMA_CPP, target="x").tool_tokens == 1_000


async def test_the_shipped_model_is_shown_all_tools_of_the_shipped_systems() -> None:
    async with World() as world:
        assert len(world.tools) == 20
        assert not too_many(world.tools, local_model().spec)
        # Nor would a model be that was not trained on them.
        assert not too_many(world.tools, local())


def test_a_small_model_can_write_the_arguments_of_whatever_it_found() -> None:
    two = Disclosure.of((TOOL,))
    grammar = codec_named("chatml-compact").grammar(two.tools) or ""
    rules = dict(line.split(" ::= ", 1) for line in grammar.splitlines() if " ::= " in line)
    written = next(body for body in rules.values() if body.startswith('"," ws "\\"arguments\\":"'))
    assert rules[written.split()[-1]] == "object"
