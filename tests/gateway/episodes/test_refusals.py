"""What the model is told of calls that cannot be made and of answers cut short; how its conversation begins."""

import pytest

from practicum.contracts.episodes import Limits
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.models import ModelSpec, Provider
from practicum.contracts.tools import CallStatus, Effect, Observation, Tool
from practicum.stages.opening import DEFAULT_SYSTEM, opening
from practicum_gateway.episodes.observations import told
from practicum_gateway.episodes.refusals import refusal


def tool(name: str) -> Tool:
    return Tool(
        name=f"crm_{name}",
        connector="crm",
        operation=name,
        description="",
        input_schema={"type": "object", "required": ["id"]},
        effect=Effect.READ,
        method="GET",
        path="/",
    )


TOOLS = (tool("get_customer"), tool("add_note"))


@pytest.mark.parametrize(
    ("wish", "place", "words"),
    [
        (
            ToolCall(id="c", name="crm_get_customer", arguments={}, malformed='{"id'),
            0,
            ["'{\"id'", '"required": ["id"]'],
        ),
        (ToolCall(id="c", name="", arguments={}, malformed="garbage"), 0, ["garbage", "one JSON object"]),
        # Of a dialect that writes no JSON, none is asked for.
        *(
            (
                ToolCall(id="c", name="crm_get_customer", arguments={}, malformed=text),
                0,
                ["again in the same form, whole, with arguments that fit the schema of crm_get_customer"],
            )
            for text in ("<tool_call>\n<function=crm_get_customer>\n<param", "crm_get_customer(id=")
        ),
        (ToolCall(id="c", name="crm_get_customers", arguments={}), 0, ["crm_get_customers", "crm_get_customer."]),
        (ToolCall(id="c", name="zzz", arguments={}), 0, ["crm_get_customer, crm_add_note"]),
        (ToolCall(id="c", name="crm_get_customer", arguments={}), 2, ["2 calls at most"]),
    ],
)
def test_a_call_that_cannot_be_made_is_answered_with_the_way_out(wish: ToolCall, place: int, words: list[str]) -> None:
    refused = refusal(wish, place, TOOLS, Limits(calls_per_step=2))
    assert refused is not None
    assert refused.status is CallStatus.ERROR
    for word in words:
        assert word in refused.content


def test_a_call_that_can_be_made_is_not_refused() -> None:
    for name in ("crm_get_customer", "crm.get_customer"):
        assert refusal(ToolCall(id="c", name=name, arguments={}), 1, TOOLS, Limits(calls_per_step=2)) is None


def test_an_episode_without_tools_says_so() -> None:
    refused = refusal(ToolCall(id="c", name="f", arguments={}), 0, (), Limits())
    assert refused is not None
    assert "no tools" in refused.content


def test_an_answer_is_told_as_it_is_and_with_its_next_page() -> None:
    assert told(Observation(status=CallStatus.OK, content='{"a": 1}')) == '{"a": 1}'
    more = told(Observation(status=CallStatus.OK, content="[1]", truncated=True, next='{"page": 2}'))
    assert more.startswith("[1]\n")
    assert more.endswith('with: {"page": 2}]')
    assert told(Observation(status=CallStatus.OK, content="[1]", next="abc")).endswith('with: {"next": "abc"}]')
    assert "left out" in told(Observation(status=CallStatus.OK, content="[1]", truncated=True))


def test_a_conversation_begins_with_who_and_ends_with_the_task() -> None:
    spec = ModelSpec(alias="m", provider=Provider.LITELLM, target="x")
    task = Message(role="user", content="Do it.")
    assert opening("Do it.", spec) == (Message(role="system", content=DEFAULT_SYSTEM), task)
    named = spec.model_copy(update={"system": "You are Ann."})
    assert opening("Do it.", named) == (Message(role="system", content="You are Ann."), task)
    solved = (Message(role="user", content="Do that."), Message(role="assistant", content="Done."))
    silent = spec.model_copy(update={"system": ""})
    assert opening("Do it.", silent, [solved]) == (*solved, task)
