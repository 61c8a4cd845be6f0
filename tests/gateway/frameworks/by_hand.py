"""An agent that is nothing but a chat client and an MCP client."""

import json
from typing import Any, cast

import openai
from mcp.types import TextContent

from tests.gateway.mcp.conftest import client_of


async def by_hand(url: str, key: str, system: str, task: str) -> str:
    """Its answer.

    Args:
        url: the gateway's.
        key: of its episode.
        system: its instructions.
        task: what it is to do.
    """
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key) as client, client_of(url, key, "legacy") as tools:
        offered: Any = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in (await tools.list_tools()).tools
        ]
        messages: list[Any] = [{"role": "system", "content": system}, {"role": "user", "content": task}]
        while True:
            answer = await client.chat.completions.create(model="scripted", messages=messages, tools=offered)
            turn: Any = answer.choices[0].message
            messages.append(turn.model_dump(exclude_none=True))
            if not turn.tool_calls:
                return str(turn.content)
            for wish in turn.tool_calls:
                arguments, meta = (
                    json.loads(wish.function.arguments),
                    cast("Any", {"practicum/idempotencyKey": wish.id}),
                )
                (content,) = (await tools.call_tool(wish.function.name, arguments, meta=meta)).content
                assert isinstance(content, TextContent)
                messages.append({"role": "tool", "tool_call_id": wish.id, "content": content.text})
