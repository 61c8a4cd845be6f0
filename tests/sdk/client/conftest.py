"""Fixtures of the client's tests: a stand-in gateway and clients to it, in a scrubbed environment."""

from collections.abc import AsyncIterator, Iterator

import pytest

from practicum.client import AsyncPracticum, Practicum
from tests.sdk.stand_in import StandIn, scrubbed_environment, serving

KEY = "prk_0123456789abcdefghijklmn"


@pytest.fixture(autouse=True)
def clean_environment() -> Iterator[None]:
    """No variable of the machine reaches a test, and none of a test's stays."""
    with scrubbed_environment():
        yield


@pytest.fixture
def gateway() -> Iterator[StandIn]:
    with serving() as stand_in:
        yield stand_in


@pytest.fixture
def client(gateway: StandIn) -> Iterator[Practicum]:
    with Practicum(gateway.url, KEY, timeout=5, patience=3) as made:
        yield made


@pytest.fixture
async def async_client(gateway: StandIn) -> AsyncIterator[AsyncPracticum]:
    async with AsyncPracticum(gateway.url, KEY, timeout=5, patience=3) as made:
        yield made
