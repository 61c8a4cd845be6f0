"""An agent of the OpenAI Agents SDK whose model and tools are the gateway's.

practicum capture "Where is order 1042?" -- python examples/agents/openai_agents_agent.py
"""

import asyncio
import os
from typing import Any

from agents import Agent, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp, MCPToolMetaContext


def once(context: MCPToolMetaContext) -> dict[str, Any]:
    """The model's own id of the call as its idempotency key: a call that is tried again is not made again."""
    run: Any = context.run_context
    return {"practicum/idempotencyKey": run.tool_call_id}


async def main() -> None:
    """Do the task, and print the answer."""
    set_tracing_disabled(disabled=True)  # its traces go to OpenAI, with the key of this episode
    bearer = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    async with MCPServerStreamableHttp(
        {"url": os.environ["PRACTICUM_MCP_URL"], "headers": bearer},
        tool_meta_resolver=once,
        cache_tools_list=True,
        client_session_timeout_seconds=60,
    ) as tools:
        agent = Agent(
            name="Clerk",
            instructions="You look after orders.",
            model=os.environ["PRACTICUM_MODEL"],  # by OPENAI_BASE_URL and OPENAI_API_KEY
            mcp_servers=[tools],
        )
        done = await Runner.run(agent, os.environ["PRACTICUM_TASK"])
    print(done.final_output)


asyncio.run(main())
