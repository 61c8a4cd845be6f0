"""An agent of LangGraph whose model and tools are the gateway's.

practicum capture "Where is order 1042?" -- python examples/agents/langgraph_agent.py
"""

import asyncio
import os
from typing import Any

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI


async def once(request: Any, call: Any) -> Any:
    """The model's own id of the call as its idempotency key: a call that is tried again is not made again."""
    return await call(request.override(headers={"Idempotency-Key": request.runtime.tool_call_id}))


async def main() -> None:
    """Do the task, and print the answer."""
    gateway: Any = {
        "transport": "streamable_http",
        "url": os.environ["PRACTICUM_MCP_URL"],
        "headers": {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"},
    }
    client = MultiServerMCPClient({"practicum": gateway}, tool_interceptors=[once])
    agent: Any = create_agent(
        ChatOpenAI(model=os.environ["PRACTICUM_MODEL"]),  # by OPENAI_BASE_URL and OPENAI_API_KEY
        await client.get_tools(),
        system_prompt="You look after orders.",
    )
    done = await agent.ainvoke({"messages": [{"role": "user", "content": os.environ["PRACTICUM_TASK"]}]})
    print(done["messages"][-1].text)


asyncio.run(main())
