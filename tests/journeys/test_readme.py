"""Every command and every line of code in the README is run, in its order, as a reader would."""

import os
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from practicum.cli.services.installed import missing_of, temporal_program
from practicum.cli.services.state import StateDirectory
from practicum.testing import RecordedRequest, Reply, ScriptedModelServer, call, say
from tests.journeys.house import House

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"<!-- run: (\w+) -->\n```(bash|python)\n(.*?)```", re.DOTALL)
FENCE = re.compile(r"^```(?:bash|python)$", re.MULTILINE)

pytestmark = [pytest.mark.journey, pytest.mark.timeout(600)]


def _agent(request: RecordedRequest) -> Reply:
    messages = [message for message in request.messages if isinstance(message, dict)]
    if messages[-1].get("role") != "tool":
        return call("crm_get_customer", {"customer_id": "C102"})
    return say(f"It says: {messages[-1].get('content')}")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, str]]:
    """The environment of somebody who has just run `make up`, with a scripted model behind `local`."""
    if temporal_program() is None or missing_of("gateway") or missing_of("workflows"):
        pytest.skip("needs the extras gateway, workflows and local")
    folder = tmp_path_factory.mktemp("reader")
    house = House.start(StateDirectory(folder / "state"))
    try:
        with ScriptedModelServer(_agent) as model:
            house.use_model(model, alias="local")
            yield {
                **os.environ,
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "PRACTICUM_URL": house.client.url,
                "PRACTICUM_API_KEY": house.state.keys().admin,
                "CRM_URL": next(spec.base_url or "" for spec in house.systems.specs() if spec.name == "crm"),
                "READER": str(folder),
            }
    finally:
        house.stop()


def test_the_readme_runs(reader: dict[str, str]) -> None:
    text = (ROOT / "README.md").read_text()
    blocks = BLOCK.findall(text)
    assert len(blocks) == len(FENCE.findall(text)), "a fenced block is not marked to be run"

    told: dict[str, str] = {}
    for name, language, source in blocks:
        program = ["bash", "-euo", "pipefail", "-c", source] if language == "bash" else [sys.executable, "-c", source]
        ran = subprocess.run(
            program, check=False, capture_output=True, text=True, cwd=reader["READER"], env=reader, timeout=120
        )
        assert ran.returncode == 0, f"{name}: {ran.stdout}{ran.stderr}"
        told[name] = ran.stdout

    assert "crm_get_customer" in told["connector"]
    assert told["app"].startswith("completed It says: ")
    assert "owens@north.example" in told["app"]
    assert "crm_get_customer" in told["capture"]
    assert (Path(reader["READER"]) / "dataset" / "manifest.json").exists()
