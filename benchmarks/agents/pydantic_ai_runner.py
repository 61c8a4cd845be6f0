"""Runs agents of PydanticAI; see `serving`."""

from collections.abc import AsyncIterable
from typing import Any

import openai
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext
from pydantic_ai.mcp import CallToolFunc, MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from serving import INSTRUCTIONS, SPECIALIST, serve


class Verdict(BaseModel):
    """The form of an answer."""

    refunded: bool
    why: str


async def once(context: RunContext[Any], call: CallToolFunc, name: str, arguments: dict[str, Any]) -> Any:
    """The model's own id of the call as its idempotency key."""
    return await call(name, arguments, metadata={"practicum/idempotencyKey": context.tool_call_id})


async def run(wish: dict[str, Any]) -> str:
    """The answer of one agent."""
    kind = OpenAIResponsesModel if wish["api"] == "responses" else OpenAIChatModel
    tools = MCPToolset(
        f"{wish['url']}/mcp",
        headers={"Authorization": f"Bearer {wish['key']}"},
        process_tool_call=once,
        tool_error_behavior="failed",
        init_timeout=120,  # a machine on which 64 of them run at a time takes longer than 5 s now and then
    )
    async with openai.AsyncOpenAI(base_url=f"{wish['url']}/v1", api_key=wish["key"]) as client:
        model = kind(wish["model"], provider=OpenAIProvider(openai_client=client))
        form: Any = Verdict if wish.get("formed") else str
        agent: Agent[None, Any] = Agent(model, instructions=INSTRUCTIONS, toolsets=[tools], output_type=form)
        if wish.get("hands_over"):
            agent = _handing_over(model, tools)
        async with agent:
            # With somebody who looks at the events, it has its answers streamed.
            done = await agent.run(wish["task"], event_stream_handler=_look if wish["streamed"] else None)
            return _text(done.output)


async def _look(_: RunContext[Any], events: AsyncIterable[Any]) -> None:
    async for _event in events:
        pass


def _handing_over(model: Any, tools: MCPToolset[Any]) -> Agent[None, Any]:
    """An agent that has another one do it."""
    refunds: Agent[None, Any] = Agent(model, instructions=SPECIALIST, toolsets=[tools])
    agent: Agent[None, Any] = Agent(model, instructions=INSTRUCTIONS)

    @agent.tool_plain
    async def transfer_to_refunds(what: str) -> str:
        """Have the agent for refunds do it."""
        return str((await refunds.run(what)).output)

    return agent


def _text(answer: Any) -> str:
    return answer.model_dump_json() if isinstance(answer, BaseModel) else str(answer)


serve(run)
