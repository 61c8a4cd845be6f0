"""An agent of PydanticAI whose model and tools are the gateway's.

practicum capture "Where is order 1042?" -- python examples/agents/pydantic_ai_agent.py
"""

import asyncio
import os
from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.mcp import CallToolFunc, MCPToolset


async def once(context: RunContext[Any], call: CallToolFunc, name: str, arguments: dict[str, Any]) -> Any:
    """The model's own id of the call as its idempotency key: a call that is tried again is not made again."""
    return await call(name, arguments, metadata={"practicum/idempotencyKey": context.tool_call_id})


async def main() -> None:
    """Do the task, and print the answer."""
    tools = MCPToolset(
        os.environ["PRACTICUM_MCP_URL"],
        headers={"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"},
        process_tool_call=once,
        tool_error_behavior="failed",  # the model reads what went wrong as it was told, and a wait is no fault of its
    )
    agent = Agent(
        f"openai:{os.environ['PRACTICUM_MODEL']}",  # by OPENAI_BASE_URL and OPENAI_API_KEY
        instructions="You look after orders.",
        toolsets=[tools],
    )
    async with agent:
        done = await agent.run(os.environ["PRACTICUM_TASK"])
    print(done.output)


asyncio.run(main())
