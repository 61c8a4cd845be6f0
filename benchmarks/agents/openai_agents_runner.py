"""Runs agents of the OpenAI Agents SDK; see `serving`."""

from typing import Any

import openai
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    handoff,
    set_tracing_disabled,
)
from agents.mcp import MCPServerStreamableHttp, MCPToolMetaContext
from pydantic import BaseModel
from serving import INSTRUCTIONS, SPECIALIST, serve


class Verdict(BaseModel):
    """The form of an answer."""

    refunded: bool
    why: str


def once(context: MCPToolMetaContext) -> dict[str, Any]:
    """The model's own id of the call."""
    made: Any = context.run_context
    return {"practicum/idempotencyKey": made.tool_call_id}


async def run(wish: dict[str, Any]) -> str:
    """The answer of one agent."""
    kind = OpenAIResponsesModel if wish["api"] == "responses" else OpenAIChatCompletionsModel
    # A machine on which 64 of them run at a time takes longer than the usual 5 s now and then.
    params: Any = {
        "url": f"{wish['url']}/mcp",
        "headers": {"Authorization": f"Bearer {wish['key']}"},
        "timeout": 120,
    }
    async with (
        openai.AsyncOpenAI(base_url=f"{wish['url']}/v1", api_key=wish["key"]) as client,
        MCPServerStreamableHttp(
            params, tool_meta_resolver=once, cache_tools_list=True, client_session_timeout_seconds=120
        ) as tools,
    ):
        model = kind(model=wish["model"], openai_client=client)
        form = Verdict if wish.get("formed") else None
        agent: Agent[Any] = Agent(
            name="Clerk", instructions=INSTRUCTIONS, model=model, mcp_servers=[tools], output_type=form
        )
        if wish.get("hands_over"):
            refunds: Agent[Any] = Agent(name="Refunds", instructions=SPECIALIST, model=model, mcp_servers=[tools])
            agent = Agent(name="Clerk", instructions=INSTRUCTIONS, model=model, handoffs=[handoff(refunds)])
        if wish["streamed"]:
            running = Runner.run_streamed(agent, wish["task"])
            async for _ in running.stream_events():
                pass
            return _text(running.final_output)
        return _text((await Runner.run(agent, wish["task"])).final_output)


def _text(answer: Any) -> str:
    return answer.model_dump_json() if isinstance(answer, BaseModel) else str(answer)


set_tracing_disabled(disabled=True)
serve(run)
