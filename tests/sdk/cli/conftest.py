"""The CLI as a person meets it: what they type, what they see, and the exit status."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from practicum.cli.main import invoke
from tests.sdk.stand_in import StandIn, scrubbed_environment, serving

KEY = "prk_0123456789abcdefghijklmn"


@dataclass(frozen=True)
class Shown:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Types(Protocol):
    def __call__(self, *arguments: str) -> Shown: ...


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path) -> Iterator[None]:
    """No variable and no local gateway of the machine reaches a test; the terminal is wide."""
    with scrubbed_environment():
        os.environ["PRACTICUM_DATA_DIR"] = str(tmp_path / "state")
        os.environ["COLUMNS"] = "240"
        yield


@pytest.fixture
def gateway() -> Iterator[StandIn]:
    """A gateway that the environment points to."""
    with serving() as stand_in:
        os.environ["PRACTICUM_URL"] = stand_in.url
        os.environ["PRACTICUM_API_KEY"] = KEY
        yield stand_in


@pytest.fixture
def practicum(capsys: pytest.CaptureFixture[str]) -> Types:
    """Types a command."""

    def types(*arguments: str) -> Shown:
        capsys.readouterr()
        status = invoke(arguments)
        shown = capsys.readouterr()
        return Shown(status, shown.out, shown.err)

    return types
