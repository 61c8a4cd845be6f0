"""The example of a path, and what must be told to the gateway before it is walked."""

from pathlib import Path

from examples.connect import main as connect
from examples.tasks import SUITE
from practicum.cli.yaml_text import parse_yaml
from practicum.contracts.tasks import Split
from practicum.stages.path import Facts, PathSettings, name_of, works_of

FILE = Path(__file__).parents[2] / "examples" / "path.yaml"


def test_the_path_keeps_what_it_promises() -> None:
    path = PathSettings.model_validate(parse_yaml(FILE.read_text(), FILE.name))
    assert [name_of(stage) for stage in path.stages] == ["prompt", "rag", "sft", "grpo"]
    assert path.evaluation.limit is not None
    held_out = SUITE.tasks(Split.HELD_OUT)[: path.evaluation.limit]
    assert len(held_out) >= 96
    families = [task.family for task in held_out]
    assert len({families.count(family) for family in families}) == 1
    assert path.references is not None
    assert path.references <= len(SUITE.tasks(Split.TRAIN))
    assert len(works_of(path, Facts(SUITE.digest, "template", "base"))) == 8


def test_nothing_to_connect_to(tmp_path: Path) -> None:
    assert connect(["--state-dir", str(tmp_path / "none")]) == 2
