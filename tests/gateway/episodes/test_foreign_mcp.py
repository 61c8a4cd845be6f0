"""An agent of another framework with a URL and an episode key alone: its model by chat calls, its tools by MCP."""

from typing import Any

import openai
from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp, MCPToolMetaContext

from practicum.testing import Reply, ScriptedCall, call, say
from tests.gateway.episodes.world import World


def once(context: MCPToolMetaContext) -> dict[str, Any]:
    """The same key for each try of one call of the model."""
    run: Any = context.run_context
    return {"practicum/idempotencyKey": run.tool_call_id}


async def test_the_openai_agents_sdk_over_mcp_leaves_a_complete_trajectory(world: World) -> None:
    set_tracing_disabled(disabled=True)
    await world.rules({"id": "allow-all", "outcome": "allow"})
    world.model.extend(
        call("shop_get_order", {"id": 8}, id="c1"),
        Reply(
            tool_calls=(
                ScriptedCall("shop_refund_order", {"id": 8, "amount": 5}, "c2"),
                ScriptedCall("shop_get_order", {"id": 404}, "c3"),
            )
        ),
        say("I refunded 5.00 for order 8."),
    )
    episode = await world.start("Refund order 8 within policy.")
    key = await world.episode_key(episode)
    params: Any = {"url": f"{world.url}/mcp", "headers": {"Authorization": f"Bearer {key}"}}
    async with (
        MCPServerStreamableHttp(params, tool_meta_resolver=once, client_session_timeout_seconds=20) as server,
        openai.AsyncOpenAI(base_url=f"{world.url}/v1", api_key=key) as client,
    ):
        agent: Agent[Any] = Agent(
            name="Clerk",
            instructions="You look after orders.",
            model=OpenAIChatCompletionsModel(model="scripted", openai_client=client),
            mcp_servers=[server],
        )
        answer = (await Runner.run(agent, "Refund order 8 within policy.")).final_output
    assert answer == "I refunded 5.00 for order 8."
    await world.close(episode)
    assert world.shop.refunds == [(8, 5.0)]
    trajectory = await world.trajectory(episode)
    assert [(made.step, made.call, made.key) for made in trajectory.invocations] == [
        (0, 0, "c1"),
        (1, 0, "c2"),
        (1, 1, "c3"),
    ]
    told = [message.content for message in trajectory.messages if message.role == "tool"]
    assert "delivered" in str(told[0])
    assert trajectory.result is not None
    assert trajectory.result.answer == answer
    assert next(use for use in trajectory.uses if use.use == "sft").eligible
