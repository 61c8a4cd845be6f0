"""Runs agents of LangGraph; see `serving`."""

from datetime import timedelta
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr
from serving import INSTRUCTIONS, SPECIALIST, serve


class Verdict(BaseModel):
    """The form of an answer."""

    refunded: bool
    why: str


async def once(request: Any, call: Any) -> Any:
    """The model's own id of the call as its idempotency key."""
    return await call(request.override(headers={"Idempotency-Key": request.runtime.tool_call_id}))


async def run(wish: dict[str, Any]) -> str:
    """The answer of one agent."""
    model = ChatOpenAI(
        model=wish["model"],
        base_url=f"{wish['url']}/v1",
        api_key=SecretStr(wish["key"]),
        use_responses_api=wish["api"] == "responses",
        streaming=wish["streamed"],
    )
    gateway: Any = {
        "transport": "streamable_http",
        "url": f"{wish['url']}/mcp",
        "headers": {"Authorization": f"Bearer {wish['key']}"},
        "timeout": timedelta(seconds=120),
    }
    tools = await MultiServerMCPClient({"practicum": gateway}, tool_interceptors=[once]).get_tools()
    form = Verdict if wish.get("formed") else None
    agent: Any = create_agent(model, tools, system_prompt=INSTRUCTIONS, response_format=form)
    if wish.get("hands_over"):
        agent = create_agent(model, [_refunds(model, tools)], system_prompt=INSTRUCTIONS)
    asked: Any = {"messages": [{"role": "user", "content": wish["task"]}]}
    if wish["streamed"]:
        done: Any = [state async for state in agent.astream(asked, stream_mode="values")][-1]
    else:
        done = await agent.ainvoke(asked)
    if form is not None:
        return done["structured_response"].model_dump_json()
    return str(done["messages"][-1].text)


def _refunds(model: ChatOpenAI, tools: list[Any]) -> Any:
    """A tool that has another agent do it."""
    refunds: Any = create_agent(model, tools, system_prompt=SPECIALIST)

    @tool
    async def transfer_to_refunds(what: str) -> str:
        """Have the agent for refunds do it."""
        done = await refunds.ainvoke({"messages": [{"role": "user", "content": what}]})
        return str(done["messages"][-1].text)

    return transfer_to_refunds


serve(run)
