"""An agent of another framework, the OpenAI Agents SDK, leaves a complete trajectory with a base URL and a key."""

from typing import Any

import httpx
import openai
import pytest
from agents import Agent, FunctionTool, OpenAIChatCompletionsModel, RunContextWrapper, Runner, set_tracing_disabled

from practicum.contracts.models import Attempt
from practicum.contracts.tools import CallStatus
from practicum.testing import Reply, ScriptedCall, call, say
from tests.gateway.episodes.world import World


@pytest.fixture
def untraced() -> None:
    set_tracing_disabled(disabled=True)


def tools_of(listed: list[dict[str, Any]], gateway: httpx.AsyncClient) -> list[Any]:
    """The gateway's tools as the SDK's own, called over HTTP with the episode key."""

    def tool(shown: dict[str, Any]) -> FunctionTool:
        async def invoke(_: RunContextWrapper[Any], arguments: str) -> str:
            answer = await gateway.post(
                f"/v1/tools/{shown['name']}/call",
                content=f'{{"arguments": {arguments}}}',
                headers={"Content-Type": "application/json"},
            )
            return str(answer.json()["content"])

        return FunctionTool(
            name=shown["name"],
            description=shown["description"],
            params_json_schema=shown["input_schema"],
            on_invoke_tool=invoke,
            strict_json_schema=False,
        )

    return [tool(shown) for shown in listed]


@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize("streamed", [False, True])
async def test_the_openai_agents_sdk_leaves_a_complete_trajectory(world: World, *, streamed: bool) -> None:
    await world.rules({"id": "allow-all", "outcome": "allow"})
    world.model.extend(
        call("shop_get_order", {"id": 8}, id="c1"),
        Reply(
            tool_calls=(
                ScriptedCall("shop_refund_order", {"id": 8, "amount": 5}, "c2"),
                ScriptedCall("shop_get_order", {"id": 10}, "c3"),
            )
        ),
        say("I refunded 5.00 for order 8."),
    )
    episode = await world.start("Refund order 8 within policy.", metadata={"framework": "openai-agents"})
    key = await world.episode_key(episode)
    async with world.client(key) as gateway, openai.AsyncOpenAI(base_url=f"{world.url}/v1", api_key=key) as client:
        agent: Agent[Any] = Agent(
            name="Clerk",
            instructions="You look after orders.",
            model=OpenAIChatCompletionsModel(model="scripted", openai_client=client),
            tools=tools_of((await gateway.get("/v1/tools")).json(), gateway),
        )
        if streamed:
            running = Runner.run_streamed(agent, "Refund order 8 within policy.")
            async for _ in running.stream_events():
                pass
            answer = running.final_output
        else:
            answer = (await Runner.run(agent, "Refund order 8 within policy.")).final_output
    assert answer == "I refunded 5.00 for order 8."
    await world.close(episode)

    assert world.shop.refunds == [(8, 5.0)]
    trajectory = await world.trajectory(episode)
    assert [message.role for message in trajectory.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    assert trajectory.messages[-1].content == answer
    calls = trajectory.model_calls
    assert [(made.step, made.standing) for made in calls] == [(index, Attempt.ACCEPTED) for index in range(3)]
    assert [made.parent for made in calls] == [None, calls[0].id, calls[1].id]
    offered: Any = trajectory.tools
    assert {tool["function"]["name"] for tool in offered} == {"shop_get_order", "shop_refund_order"}
    first = trajectory.invocations[0]
    assert (first.step, first.tool, first.observation.status) == (0, "shop_get_order", CallStatus.OK)
    assert sorted((made.step, made.call) for made in trajectory.invocations) == [(0, 0), (1, 0), (1, 1)]
    assert trajectory.result is not None
    assert trajectory.result.answer == answer
    assert trajectory.result.steps == 3
    assert next(use for use in trajectory.uses if use.use == "sft").eligible
    events = [event.type for event in await world.events(episode)]
    assert events.count("turn.finished") == 3
    assert events.count("call.finished") == 3
    assert events[-1] == "episode.ended"
