"""A framework's process for all tests of a file, and the small world for each."""

from collections.abc import Iterator

import pytest

from benchmarks.runners import Runner, runner
from tests.gateway.episodes.conftest import settings, spans, world

__all__ = ["settings", "spans", "world"]


@pytest.fixture(scope="session", params=["openai_agents", "pydantic_ai", "langgraph"])
def agents(request: pytest.FixtureRequest) -> Iterator[Runner]:
    with runner(str(request.param)) as started:
        yield started
