"""A chat on loopback."""

from collections.abc import AsyncIterator

import pytest

from tests.gateway.conftest import served
from tests.gateway.webhooks.chat import Chat, create_chat


@pytest.fixture
async def chat() -> AsyncIterator[Chat]:
    chat = Chat()
    async with served(create_chat(chat)) as url:
        chat.url = url
        yield chat
        chat.released.set()
