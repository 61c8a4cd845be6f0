"""From what was recorded to a better model, command by command as docs/learning.md tells it, through real processes."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from examples.tasks import SUITE
from practicum.cli.services.installed import missing_for_local_model
from practicum.cli.services.local import local_server
from practicum.cli.services.process import bury, is_alive
from practicum.cli.services.stack import MODEL, ModelServer
from practicum.cli.services.state import StateDirectory
from practicum.codecs.codec import text_of
from practicum.codecs.registry import codec_named
from practicum.contracts.messages import Message
from practicum.contracts.tasks import Split, Task
from practicum.datasets import Dataset
from practicum.testing import RecordedRequest, Reply, ScriptedModelServer, call, say
from practicum.trajectories.tokens import IGNORED
from tests.journeys.house import OPTIONS, House
from tests.sdk.services.test_serving import SHIPPED, bundle

pytestmark = [pytest.mark.journey, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
PRACTICUM = Path(sys.executable).with_name("practicum")
TASKS, ATTEMPTS = 8, 2
ALIAS = "learner"


@dataclass(frozen=True)
class Shown:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.status == 0, self.err
        return json.loads(self.out)


@dataclass(frozen=True)
class Terminal:
    """A shell in a folder of its own, whose `practicum` finds the installation."""

    folder: Path
    state: Path

    def __call__(self, *arguments: str) -> Shown:
        with self.begin(*arguments) as running:
            out, err = running.communicate()
        return Shown(running.returncode, out, err)

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "PRACTICUM_DATA_DIR": str(self.state), "PYTHONPATH": str(ROOT)}
        environment |= {"PROVIDERS_KEY": "sk-scripted-0123456789", "COLUMNS": "200"}
        return subprocess.Popen(
            [PRACTICUM, *arguments],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


class Script:
    """Solves the tasks whose number it is told to, as their reference solutions do; says that all is done otherwise."""

    def __init__(self, name: str, solved: Sequence[int]) -> None:
        self.name = name
        self._tasks = {
            task.prompt: (task, place in solved) for split in Split for place, task in enumerate(SUITE.tasks(split))
        }

    def __call__(self, request: RecordedRequest) -> Reply:
        messages = [message for message in request.messages if isinstance(message, dict)]
        task, solved = self._asked(messages)
        done = sum(message.get("role") == "tool" for message in messages)
        if task is None:
            return say(f"I am {self.name}.")
        if not solved:
            return say("All is done.", delay=0.02)
        if done == len(task.reference):
            return say(task.conclusion or "Done.", delay=0.02)
        return call(task.reference[done].tool, task.reference[done].arguments)

    def _asked(self, messages: Sequence[dict[str, Any]]) -> tuple[Task | None, bool]:
        prompts = (str(message.get("content")) for message in messages if message.get("role") == "user")
        return next((self._tasks[prompt] for prompt in prompts if prompt in self._tasks), (None, False))


@pytest.fixture
def terminal(house: House, tmp_path: Path) -> Terminal:
    return Terminal(tmp_path, house.state.path)


def answers(house: House, alias: str = ALIAS) -> tuple[str | None, str]:
    """What the model of the next episode says, and which version the record says it was."""
    handle = house.client.episodes.start("Who are you?", model=alias)
    answer = handle.result(timeout=300).answer
    return answer, house.client.trajectories.get(handle.id).model_calls[0].version


def evaluation(model: str, out: str, *options: str) -> tuple[str, ...]:
    return ("eval", "examples.tasks:SUITE", "--model", model, "--out", out, *options)


def test_a_model_is_measured_promoted_and_taken_back(house: House, terminal: Terminal) -> None:
    practicum = terminal
    with (
        ScriptedModelServer(Script("first", range(0, TASKS, 4))) as first,
        ScriptedModelServer(Script("second", range(TASKS))) as second,
    ):
        for name, server in (("first", first), ("second", second)):
            (terminal.folder / "version.json").write_text(json.dumps({"version": name}))
            where = ("--base-url", server.base_url, "--api-key", "env:PROVIDERS_KEY", "--spec", "version.json")
            assert practicum("models", "add", ALIAS, f"openai/{name}", *where, "--json").json["version"] == name
        assert practicum("models", "rollback", ALIAS, "--json").json["to_version"] == "first"

        now = killed_and_gone_on_with(house, practicum)
        candidate = practicum(*evaluation(f"{ALIAS}@second", "evals/candidate", "-k", "2", "--limit", "8", "--json"))
        assert (now["success"]["n"], now["success"]["value"], now["version"]) == (16, 0.25, "first")
        assert (candidate.json["success"]["value"], candidate.json["version"]) == (1.0, "second")
        assert (candidate.json["pass_hat_k"]["n"], candidate.json["unscored"]) == (TASKS, 0)

        build_datasets(practicum)
        promote_and_take_back(house, practicum)


def killed_and_gone_on_with(house: House, practicum: Terminal) -> dict[str, Any]:
    """The report of an evaluation that was killed in its middle."""
    command = evaluation(ALIAS, "evals/now", "-k", str(ATTEMPTS), "--limit", str(TASKS))
    attempts = practicum.folder / "evals" / "now" / "attempts.jsonl"
    with practicum.begin(*command) as running:
        while not (attempts.exists() and attempts.read_bytes().count(b"\n") >= 3):
            assert running.poll() is None
            time.sleep(0.01)
        running.kill()
    done = [line for line in attempts.read_text().splitlines(keepends=True) if line.endswith("\n")]
    assert 3 <= len(done) < TASKS * ATTEMPTS
    assert practicum("compare", "evals/now", "evals/now").status == 2  # it is not finished

    went_on = practicum(*command)
    assert went_on.status == 0, went_on.err
    told = went_on.err.splitlines()
    assert told[0].startswith(f"{len(done) + 1}/{TASKS * ATTEMPTS} ")
    assert len(told) == TASKS * ATTEMPTS - len(done)
    assert attempts.read_text().startswith("".join(done))
    report: dict[str, Any] = practicum(*command, "--json").json  # all is done: it is only told again
    assert report == json.loads((attempts.parent / "report.json").read_text())
    # Every attempt is one episode, those too that were under way when the command was killed.
    made = house.client.episodes.list(metadata={"evaluation": report["id"]}, limit=100)
    assert Counter((each.metadata["task"], each.metadata["attempt"]) for each in made) == Counter(
        (task.id, str(number)) for task in SUITE.tasks(Split.HELD_OUT)[:TASKS] for number in range(ATTEMPTS)
    )
    assert {each.id for each in made} == {episode for result in report["results"] for episode in result["episodes"]}
    return report


def build_datasets(practicum: Terminal) -> None:
    """From what the good one did with tasks of the train split."""
    practised = practicum(*evaluation(f"{ALIAS}@second", "evals/train", "--split", "train", "--limit", "3", "--json"))
    episodes = {episode for result in practised.json["results"] for episode in result["episodes"]}
    where = f"suite=orders split=train reward>=1 evaluation={practised.json['id']}"
    chat = practicum("datasets", "build", "orders-1", "--where", where, "--format", "chat", "--out", "data", "--json")
    (file,) = chat.json["manifest"]["files"]
    assert (file["rows"], set(file["episodes"])) == (3, episodes)
    rows = [json.loads(line) for line in (practicum.folder / "data" / file["name"]).read_text().splitlines()]
    assert {row["messages"][1]["content"] for row in rows} == {task.prompt for task in SUITE.tasks(Split.TRAIN)[:3]}

    tasks = practicum("datasets", "build", "orders-2", "--where", where, "--format", "grpo", "--out", "tasks", "--json")
    assert tasks.json["manifest"]["files"][0]["rows"] == 3
    # What was held out stays out, and a provider that gives no tokens makes no rows of tokens.
    everything = ("--where", "suite=orders reward>=1 family!=nothing", "--format", "chat", "--out", "all", "--json")
    left_out = practicum("datasets", "build", "orders-3", *everything).json["manifest"]["excluded"]
    assert {tuple(each["reasons"]) for each in left_out} == {("it is of the held-out split",)}
    tokens = practicum("datasets", "build", "orders-4", "--where", where, "--format", "sft", "--out", "tokens")
    assert tokens.status == 5
    assert "No token ids were recorded" in tokens.err
    assert not (practicum.folder / "tokens").exists()


def promote_and_take_back(house: House, practicum: Terminal) -> None:
    """Better is promoted, worse is not, a reason is recorded, and every change is there for the next episode."""
    compared = practicum("compare", "evals/now", "evals/candidate", "--json").json
    assert (compared["better"], compared["n"], compared["improved"]) == (True, TASKS, 6)
    assert answers(house) == ("I am first.", "first")

    forward = ("--evaluation", "evals/candidate", "--against", "evals/now")
    done = practicum("models", "promote", ALIAS, "second", *forward, "--json").json
    assert (done["from_version"], done["to_version"], done["override"]) == ("first", "second", None)
    assert done["comparison"] == compared
    assert answers(house) == ("I am second.", "second")

    backward = ("--evaluation", "evals/now", "--against", "evals/candidate")
    refused = practicum("models", "promote", ALIAS, "first", *backward)
    assert (refused.status, refused.out) == (5, "")
    assert f"'{ALIAS}@first' is not shown to be better than 'second'" in refused.err
    assert "difference  -75.0 points" in refused.err
    assert "override with a reason" in refused.err
    assert json.loads(practicum("models", "promote", ALIAS, "first", *backward, "--json").err)["code"] == "conflict"
    assert answers(house) == ("I am second.", "second")

    reason = "second is out of service"
    overridden = practicum("models", "promote", ALIAS, "first", *backward, "--override", reason, "--json").json
    assert (overridden["override"], overridden["comparison"]["better"]) == (reason, False)
    assert answers(house) == ("I am first.", "first")

    back = practicum("models", "rollback", ALIAS)
    assert (back.status, back.out) == (0, f"'{ALIAS}' names second now, and named first before.\n")
    assert answers(house) == ("I am second.", "second")

    history = practicum("models", "promotions", ALIAS, "--json").json
    assert history[0]["change"] == "rolled_back"
    assert history[1] == overridden
    assert history[2] == done
    current = {each["version"]: each["current"] for each in practicum("models", "versions", ALIAS, "--json").json}
    assert current == {"first": False, "second": True}


@pytest.mark.model
@pytest.mark.skipif(bool(missing_for_local_model()) or not SHIPPED.exists(), reason="needs the local model")
def test_what_the_local_model_drew_becomes_rows_and_a_bundle_becomes_its_next_version(tmp_path: Path) -> None:
    house = House.start(StateDirectory(tmp_path / "state"), replace(OPTIONS, model=ModelServer.LOCAL))
    practicum = Terminal(tmp_path, house.state.path)
    try:
        house.connect_systems()
        shipped = house.client.models.get("local").version
        rows_are_the_record(house, practicum)

        # Other bytes, the same weights: what stands behind the tensors is not read.
        folder = str(bundle(tmp_path / "bundle", SHIPPED.read_bytes() + bytes(64)))
        before = house.service(MODEL).process
        registered = practicum("models", "register", "local", folder, "--version", "mine", "--json").json
        assert not is_alive(before)  # the server was started anew, by another process than the one that began it
        bury(before)
        assert (registered["version"], registered["current"], registered["bundle"]["stage"]) == ("mine", False, "sft")
        assert answers(house, "local")[1] == shipped
        unproven = practicum("models", "promote", "local", "mine")
        assert (unproven.status, "A promotion needs two reports" in unproven.err) == (5, True)
        assert practicum("models", "promote", "local", "mine", "--override", "it is the same", "--json").status == 0
        assert answers(house, "local")[1] == "mine"
        assert practicum("models", "rollback", "local", "--json").json["to_version"] == shipped
        assert answers(house, "local")[1] == shipped
    finally:
        house.stop()


def rows_are_the_record(house: House, practicum: Terminal) -> None:
    """The rows of what a served model did, decoded, are what its record says, and the model's own words are learned."""
    practised = practicum(*evaluation("local", "evals/train", "--split", "train", "--limit", "2", "--json")).json
    assert practised["unscored"] == 0
    where = ("--where", "suite=orders split=train reward>=1", "--format", "sft", "--out", "data", "--json")
    built = practicum("datasets", "build", "orders-1", *where).json["manifest"]
    right = {
        episode
        for result in practised["results"]
        for episode, reward in zip(result["episodes"], result["rewards"], strict=True)
        if reward == 1.0
    }
    assert set(built["files"][0]["episodes"]) == right
    codec = codec_named("chatml-compact")
    assert built["templates"] == [codec.template_hash]
    tools = house.client.tools.list()
    for row in Dataset(practicum.folder / "data").token_rows():
        record = house.client.trajectories.get(row.episode)
        definitions: Any = record.tools
        names = {definition["function"]["name"] for definition in definitions}
        rendered = text_of(codec.render(record.messages, [tool for tool in tools if tool.name in names]))
        following = text_of(codec.suffix(Message(role="assistant"), (), ended=codec.stops[0]))
        assert decoded(house, row.input_ids) + following == rendered
        said = [message for message in record.messages if message.role == "assistant"]
        learned = [label for label in row.labels if label != IGNORED]
        assert decoded(house, learned) == "".join(text_of(codec.turn(message)) for message in said)


def decoded(house: House, ids: Sequence[int]) -> str:
    """What the model server makes of tokens."""
    url = local_server(house.state)
    answer = httpx.post(f"{url}/detokenize", json={"tokens": list(ids)}, timeout=60, trust_env=False)
    return str(answer.json()["content"])
