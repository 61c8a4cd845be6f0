"""Two tools in place of many: what a wish comes down to, and what a search says."""

import json
from typing import Any

import pytest

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import ToolCall
from practicum.contracts.tools import CallStatus, Effect, Observation, Tool
from practicum.episode.disclosure import MOST_FOUND, Disclosure, Search, exceeds


def tool(name: str, connector: str = "crm", described: str = "Does it.", **properties: Any) -> Tool:
    return Tool(
        name=f"{connector}_{name}",
        connector=connector,
        operation=name,
        description=described,
        input_schema={"type": "object", "properties": properties, "required": list(properties)},
        effect=Effect.READ,
        method="GET",
        path="/",
    )


TOOLS = (tool("get_order", id={"type": "integer"}), tool("add_note", text={"type": "string"}), tool("list_orders"))
TWO = Disclosure.of(TOOLS)


def wish(name: str, arguments: JsonObject) -> ToolCall:
    return ToolCall(id="call_7", name=name, arguments=arguments)


def read(arguments: JsonObject, name: str = "call_tool") -> ToolCall | Search | Observation:
    return TWO.read(wish(name, arguments), TOOLS)


def mend(arguments: JsonObject, name: str = "call_tool") -> str:
    answer = read(arguments, name)
    assert isinstance(answer, Observation)
    assert answer.status is CallStatus.ERROR
    return answer.content


def told(found: tuple[Tool, ...], limit: int = 5, characters: int = 16_000) -> Any:
    answer = TWO.told(found, Search("orders", limit), characters)
    assert answer.status is CallStatus.OK
    return json.loads(answer.content)


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ({"id": 7}, {"id": 7}),
        ('{"id": 7}', {"id": 7}),
        ({}, {}),
        ("", {}),
        (None, {}),
    ],
)
def test_a_call_becomes_a_call_of_the_tool_that_it_names(given: Any, arguments: JsonObject) -> None:
    for name in ("crm_get_order", "crm.get_order"):
        assert read({"name": name, "arguments": given}) == wish("crm_get_order", arguments)


def test_arguments_that_are_left_out_are_none() -> None:
    assert read({"name": "crm_list_orders"}) == wish("crm_list_orders", {})


def test_a_direct_call_of_a_found_tool_stays_as_it_is() -> None:
    assert read({"id": 7}, "crm_get_order") == wish("crm_get_order", {"id": 7})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "crm_get_orders", "arguments": {}}, ["'crm_get_orders'", "crm_get_order", "search_tools"]),
        ({"name": "zzz", "arguments": {}}, ["'zzz'", "search_tools finds"]),
        ({"arguments": {"id": 7}}, ["`name`", "search_tools"]),
        ({"name": 7, "arguments": {}}, ["`name`"]),
        ({"name": "crm_get_order", "arguments": [7]}, ["crm_get_order", "one JSON object", '"integer"']),
        ({"name": "crm_get_order", "arguments": "{id: 7"}, ["one JSON object"]),
        ({"name": "crm_get_order", "arguments": "[7]"}, ["one JSON object"]),
        ({"name": "crm_get_order", "id": 7}, ["put id into `arguments`"]),
        ({"name": "call_tool", "arguments": {"name": "crm_get_order"}}, ["does not call call_tool"]),
        ({"name": "search_tools", "arguments": {"query": "x"}}, ["does not call search_tools"]),
    ],
)
def test_a_call_that_names_nothing_is_answered_with_the_way_out(arguments: JsonObject, words: list[str]) -> None:
    text = mend(arguments)
    for word in words:
        assert word in text


def test_a_name_that_nobody_gave_is_not_repeated_at_length() -> None:
    assert len(mend({"name": "x" * 100_000, "arguments": {}})) < 500


@pytest.mark.parametrize(
    ("arguments", "search"),
    [
        ({"query": "refund"}, Search("refund")),
        ({"query": "refund", "limit": None}, Search("refund")),
        ({"query": "refund", "limit": 2}, Search("refund", 2)),
        ({"query": "refund", "limit": 10**9}, Search("refund", MOST_FOUND)),
    ],
)
def test_a_search_is_read(arguments: JsonObject, search: Search) -> None:
    assert read(arguments, "search_tools") == search


@pytest.mark.parametrize(
    "arguments",
    [{}, {"query": ""}, {"query": 3}, {"query": "x", "limit": 0}, {"query": "x", "limit": True}, {"q": "x"}],
)
def test_a_search_for_nothing_is_answered_with_the_way_out(arguments: JsonObject) -> None:
    assert "search_tools" in mend(arguments, "search_tools")


def test_what_a_wish_resolves_to_is_itself_where_it_names_nothing() -> None:
    inner = wish("call_tool", {"name": "crm_add_note", "arguments": {"text": "hi"}})
    assert TWO.resolved(inner, TOOLS) == wish("crm_add_note", {"text": "hi"})
    malformed = ToolCall(id="c", name="call_tool", arguments={}, malformed='{"name": "crm_add_note"')
    for same in (wish("call_tool", {"name": "zzz"}), wish("search_tools", {"query": "x"}), malformed):
        assert TWO.resolved(same, TOOLS) == same


def test_a_real_tool_of_the_same_name_keeps_it() -> None:
    real = (tool("tools", "search"), tool("tool", "call", id={"type": "integer"}))
    two = Disclosure.of(real)
    assert [found.name for found in two.tools] == ["search_tools_2", "call_tool_2"]
    assert "call_tool_2" in two.search.description
    for name in ("search_tools", "call_tool"):
        direct = ToolCall(id="c", name=name, arguments={"id": 1})
        assert two.read(direct, real) == direct
    through = wish("call_tool_2", {"name": "call_tool", "arguments": {"id": 1}})
    assert two.read(through, real) == wish("call_tool", {"id": 1})


def test_the_two_say_how_many_tools_of_which_systems_there_are() -> None:
    many = (*TOOLS, *(tool("get", f"s{number:02}") for number in range(30)))
    described = Disclosure.of(many).search.description
    assert "33 tools" in described
    assert "crm (3)" in described
    assert "11 more systems" in described
    assert len(described) < 1000


def test_a_search_tells_of_each_tool_what_a_call_needs() -> None:
    assert told(TOOLS[:1]) == {
        "tools": [
            {
                "name": "crm_get_order",
                "description": "Does it.",
                "effect": "read",
                "arguments": TOOLS[0].input_schema,
            }
        ]
    }


def test_a_search_says_how_many_more_there_are() -> None:
    shown = told(TOOLS, limit=2)
    assert [entry["name"] for entry in shown["tools"]] == ["crm_get_order", "crm_add_note"]
    assert shown["more"] == 1


def test_a_search_shows_whole_tools_within_its_bound() -> None:
    long = tuple(tool(f"t{number}", described="word " * 500, id={"type": "integer"}) for number in range(9))
    shown = told(long, limit=9, characters=4_000)
    assert 1 <= len(shown["tools"]) < 9
    assert len(json.dumps(shown)) < 5_000
    assert shown["more"] == 9 - len(shown["tools"])
    assert all(entry["arguments"] == long[0].input_schema for entry in shown["tools"])


def test_a_tool_that_alone_is_too_long_is_told_of_without_its_schema() -> None:
    fields: Any = {f"field_{number}": {"type": "string"} for number in range(200)}
    huge = tool("huge", **fields)
    shown = told((huge, TOOLS[0]), characters=1_000)
    assert [entry["name"] for entry in shown["tools"]] == ["crm_huge"]
    assert "arguments" not in shown["tools"][0]
    assert "too long" in shown["tools"][0]["hint"]
    assert shown["more"] == 1


def test_a_search_that_finds_nothing_says_so() -> None:
    shown = told(())
    assert shown["tools"] == []
    assert "other words" in shown["hint"]


def test_a_budget_is_four_characters_a_token() -> None:
    assert not exceeds(["x" * 40], 10)
    assert exceeds(["x" * 40, "y"], 10)
    assert not exceeds(["x" * 10_000], None)
