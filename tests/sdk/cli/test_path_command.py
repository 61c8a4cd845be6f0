"""`practicum path`: walked from the command line, with a gateway that stands in for one that runs here."""

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from practicum.cli.services.process import identify
from practicum.cli.services.state import RunningService, StateDirectory
from practicum.contracts.models import ModelInfo, ModelSpec
from practicum.evaluation import read_report
from tests.sdk.cli.conftest import Types
from tests.sdk.evaluation.practising import RIGHT, WRONG, PractisingGateway
from tests.sdk.stand_in import NOW, Answer, Seen, as_json, problem, serving

SUITE = "tests.sdk.suites:NUMBERS"
MODEL = {"target": "openai/any", "provider": "litellm"}


class RegisteringGateway(PractisingGateway):
    """Knows the versions that were registered, and no alias before the first."""

    def __init__(self) -> None:
        super().__init__(lambda request: RIGHT if request.metadata["family"] == "even" else WRONG)
        self.specs: list[ModelSpec] = []

    def _answer(self, request: Seen) -> Answer:
        match request.method, *request.target.strip("/").split("/")[1:]:
            case "POST", "models", *rest:
                if rest and not self.specs:
                    return problem(404, "not_found", "no such alias")
                self.specs.append(ModelSpec.model_validate_json(request.body))
                return Answer(body=as_json(self._info(self.specs[-1], whole=bool(rest))))
            case "GET", "models", name:
                asked = name.replace("%40", "@")
                found = [spec for spec in self.specs if f"{spec.alias}@{spec.version}" == asked]
                return Answer(body=as_json(self._info(found[-1]))) if found else problem(404, "not_found", asked)
            case _:
                return super()._answer(request)

    def _info(self, spec: ModelSpec, *, whole: bool = False) -> object:
        info = ModelInfo(alias=spec.alias, provider=spec.provider, target=spec.target, version=str(spec.version))
        more = {"created": NOW.isoformat(), "created_by": "ada", "current": False} if whole else {}
        return {**info.model_dump(mode="json"), **more}


@contextmanager
def running(state: Path) -> Generator[RegisteringGateway]:
    """An installation whose gateway is in this process."""
    gateway, process = RegisteringGateway(), identify(os.getpid())
    assert process is not None
    with serving(stand_in=gateway):
        service = RunningService(
            name="gateway",
            process=process,
            command=(),
            log=state / "log",
            ports={},
            urls={"Gateway": gateway.url},
            started=NOW,
        )
        StateDirectory(state).write_services((service,))
        yield gateway


def written(folder: Path, **changes: Any) -> str:
    path = {
        "suite": SUITE,
        "system": "Write.",
        "model": MODEL,
        "stages": [{"stage": "prompt"}, {"stage": "prompt", "name": "free", "constrained": False}],
        "evaluation": {"limits": {"steps": 5}, "seed": 3},
        **changes,
    }
    file = folder / "walk.json"
    file.write_text(json.dumps(path))
    return str(file)


def test_a_path_is_walked_and_shown(practicum: Types, tmp_path: Path) -> None:
    file, state = written(tmp_path), tmp_path / "state"
    with running(state) as gateway:
        shown = practicum("path", "run", file)
        again = practicum("path", "run", file, "--json")
    assert shown.status == 0, shown.err
    lines = shown.out.splitlines()
    assert lines[0].split() == [
        *("stage", "n", "success", "pass^k", "difference", "unscored", "training", "evaluation", "tokens")
    ]
    assert lines[1].split()[:5] == ["prompt", "6", "50.0%", "(18.8%", "to"]
    assert lines[3].startswith(f"6 held-out tasks of {SUITE} for every stage")
    assert "6/6 numbers.held_out." in shown.err
    assert [line for line in again.err.splitlines() if "done before" in line] == [
        "prompt/evaluation: done before",
        "free/evaluation: done before",
    ]
    folder = state / "paths" / "walk"
    assert [stage["stage"] for stage in again.json["stages"]] == ["prompt", "free"]
    report = read_report(folder / again.json["stages"][0]["evaluation"])
    assert (report.limits.steps, report.seed, report.k) == (5, 3, 1)

    bare, free = gateway.specs
    assert (bare.alias, bare.target, bare.system, bare.constrained, bare.codec) == (
        "path",
        "openai/any",
        "Write.",
        True,
        None,
    )
    assert not free.constrained
    assert report.model == f"path@{bare.version}"
    asked = [request.target for request in gateway.seen if request.method == "POST" and "models" in request.target]
    # The first makes the alias, which is not there yet; the second is a version of it.
    assert asked == ["/v1/models/path/versions", "/v1/models", "/v1/models/path/versions"]


def test_what_is_due_is_shown_before_and_after(practicum: Types, tmp_path: Path) -> None:
    file = written(tmp_path, stages=[{"stage": "prompt"}, {"stage": "rag"}])
    before = practicum("path", "show", file, "--json")
    assert [(work["work"], work["stands"]) for work in before.json] == [
        ("references", "due"),
        ("prompt/evaluation", "due"),
        ("rag/evaluation", "due"),
    ]
    file = written(tmp_path, stages=[{"stage": "prompt"}])
    with running(tmp_path / "state"):
        assert practicum("path", "run", file).status == 0
    assert practicum("path", "show", file).out.splitlines()[1].split()[:2] == ["prompt/evaluation", "done"]


def test_yaml_is_read_too(practicum: Types, tmp_path: Path) -> None:
    file = tmp_path / "walk.yaml"
    file.write_text(
        f"suite: {SUITE}  # numbers\nmodel: {{target: any, provider: litellm}}\nstages:\n  - stage: prompt\n"
    )
    assert [work["work"] for work in practicum("path", "show", str(file), "--json").json] == ["prompt/evaluation"]


def test_nothing_runs_here(practicum: Types, tmp_path: Path) -> None:
    shown = practicum("path", "run", written(tmp_path))
    assert (shown.status, "practicum up" in shown.err) == (2, True)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"stages": [{"stage": "prompt", "epochs": 2}]}, "stages.0.prompt.epochs: Extra inputs are not permitted"),
        ({"stages": [{"stage": "grpo"}]}, "no stage that trains stands before it"),
        ({"suite": "nothing"}, "names no suite"),
        ({"model": {**MODEL, "codec": "morse"}}, "There is no codec 'morse'"),
    ],
)
def test_a_path_that_cannot_be_walked(practicum: Types, tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    shown = practicum("path", "run", written(tmp_path, **changes))
    assert (shown.status, told in shown.err) == (2, True), shown.err
    assert not (tmp_path / "state" / "paths").exists()


@pytest.mark.skipif(find_spec("torch") is not None, reason="the extra `train` is installed")
def test_without_the_extra_it_says_what_to_install(practicum: Types, tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "config.json").write_text("{}")
    (base / "model.safetensors").write_bytes(b"weights")
    file = written(tmp_path, model={"target": str(base)}, stages=[{"stage": "sft"}])
    with running(tmp_path / "state"):
        shown = practicum("path", "run", file)
    assert shown.status == 2
    assert "Training (not installed: torch," in shown.err
    assert "pip install 'practicum[train]'" in shown.err
