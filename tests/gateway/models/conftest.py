"""A model that follows a script, and the provider that reaches it."""

from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message
from practicum.contracts.models import ModelSpec, Provider, Sampling
from practicum.contracts.tools import Effect, Tool
from practicum.testing import ScriptedModelServer
from practicum_gateway.models.litellm_provider import LitellmProvider
from practicum_gateway.models.provider import Completed, Prompt

KEY = "sk-topsecret-0123456789"
MakePrompt = Callable[..., Prompt]


async def read(provider: LitellmProvider, prompt: Prompt) -> tuple[list[str], Completed]:
    pieces = [piece async for piece in provider.stream(prompt)]
    *texts, last = pieces
    assert isinstance(last, Completed)
    assert all(isinstance(text, str) for text in texts)
    return [str(text) for text in texts], last


@pytest.fixture
def model() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as server:
        yield server


@pytest.fixture
async def provider() -> AsyncIterator[LitellmProvider]:
    opened = LitellmProvider(timeout_seconds=5.0)
    yield opened
    await opened.close()


@pytest.fixture
def target() -> str:
    """Whom prompts ask, where a test says nothing else."""
    return "openai/scripted"


@pytest.fixture
def prompt_of(model: ScriptedModelServer, target: str) -> Callable[..., Prompt]:
    usual = target

    def make(
        *messages: Message,
        target: str = usual,
        base_url: str | None = None,
        api_key: str | None = KEY,
        definitions: tuple[JsonObject, ...] | None = None,
        tools: tuple[Tool, ...] = (),
        sampling: Sampling | None = None,
    ) -> Prompt:
        spec = ModelSpec(
            alias="scripted", provider=Provider.LITELLM, target=target, base_url=base_url or model.base_url
        )
        return Prompt(
            spec=spec,
            messages=messages or (Message(role="user", content="Hello"),),
            tools=tools,
            sampling=sampling or Sampling(),
            api_key=api_key,
            definitions=definitions,
        )

    return make


@pytest.fixture
def refund_tool() -> Tool:
    return Tool(
        name="erp_refund_order",
        connector="erp",
        operation="refund_order",
        description="Refund an order.",
        input_schema={"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
        effect=Effect.MONEY,
        method="POST",
        path="/orders/{id}/refund",
    )
