"""What a path wants, in works and hashes."""

from typing import Any

import pytest
from pydantic import ValidationError

from practicum.stages.path import Facts, PathSettings, WorkKind, input_of, standings, works_of

FACTS = Facts(suite_digest="suite", template_hash="template", base_digest="base")
STAGES = [{"stage": "prompt"}, {"stage": "rag"}, {"stage": "sft"}, {"stage": "grpo", "replay": {"rows": 2}}]


def path(**changes: Any) -> PathSettings:
    return PathSettings.model_validate({"suite": "tests.sdk.suites:NUMBERS", "stages": STAGES, **changes})


def with_sft(**settings: Any) -> PathSettings:
    return path(stages=[*STAGES[:2], {"stage": "sft", "settings": settings}, STAGES[3]])


def finished(settings: PathSettings, facts: Facts = FACTS) -> dict[str, str]:
    """Outputs by input, as if everything had been done; an output tells what it was made of."""
    done: dict[str, str] = {}
    for standing in standings(works_of(settings, facts), done):
        assert standing.input is not None
        done[standing.input] = f"made of {standing.input}"
    return done


def due(settings: PathSettings, done: dict[str, str], facts: Facts = FACTS) -> list[str]:
    return [standing.work.name for standing in standings(works_of(settings, facts), done) if standing.output is None]


def test_the_works_of_a_path_stand_in_an_order_in_which_they_can_be_done() -> None:
    works = works_of(path(), FACTS)
    assert {work.name: work.needs for work in works} == {
        "references": (),
        "prompt/evaluation": (),
        "rag/evaluation": ("references",),
        "sft/dataset": ("references",),
        "sft/train": ("sft/dataset",),
        "sft/evaluation": ("sft/train",),
        "grpo/train": ("sft/train", "sft/dataset"),
        "grpo/evaluation": ("grpo/train",),
    }
    names = [work.name for work in works]
    assert all(names.index(need) < names.index(work.name) for work in works for need in work.needs)


def test_a_path_without_solved_tasks_performs_none() -> None:
    assert [work.kind for work in works_of(path(stages=[STAGES[0]]), FACTS)] == [WorkKind.EVALUATION]


def test_what_was_done_is_not_due() -> None:
    done = finished(path())
    assert due(path(), done) == []
    assert len(done) == 8


def test_a_walk_that_was_cut_off_goes_on_with_the_first_work_that_is_missing() -> None:
    done = finished(path())
    cut = dict(list(done.items())[:5])
    assert due(path(), cut) == ["sft/evaluation", "grpo/train", "grpo/evaluation"]
    waiting = [standing for standing in standings(works_of(path(), FACTS), cut) if standing.input is None]
    assert [standing.work.name for standing in waiting] == ["grpo/evaluation"]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (path(evaluation={"concurrency": 1}), []),
        (path(model={"base_url": "http://127.0.0.1:1"}), []),
        (path(alias="other"), []),
        (with_sft(epochs=3), ["sft/train", "sft/evaluation", "grpo/train", "grpo/evaluation"]),
        (path(evaluation={"limit": 3}), [f"{name}/evaluation" for name in ("prompt", "rag", "sft", "grpo")]),
        (path(stages=[STAGES[0], {"stage": "rag", "shown": 2}, *STAGES[2:]]), ["rag/evaluation"]),
        (path(stages=[*STAGES[:3], {"stage": "grpo"}]), ["grpo/train", "grpo/evaluation"]),
        (
            path(references=5),
            [work.name for work in works_of(path(), FACTS) if work.name != "prompt/evaluation"],
        ),
        (path(system="Be brief."), [work.name for work in works_of(path(), FACTS)]),
    ],
)
def test_a_changed_setting_makes_due_what_it_decides_and_nothing_else(
    changed: PathSettings, expected: list[str]
) -> None:
    assert due(changed, finished(path())) == expected


def test_another_world_is_another_input() -> None:
    done = finished(path())
    other = due(path(), done, Facts(suite_digest="suite", template_hash="template", base_digest="another"))
    assert other == ["sft/dataset", "sft/train", "sft/evaluation", "grpo/train", "grpo/evaluation"]
    assert len(due(path(), done, Facts(suite_digest="another", template_hash="template", base_digest="base"))) == 8


def test_an_output_that_came_out_alike_makes_nothing_due() -> None:
    """Solved anew with the same outcome, the rows below need not be made anew."""
    done = finished(path())
    references = works_of(path(), FACTS)[0]
    more = works_of(path(references=5), FACTS)[0]
    done[input_of(more, {})] = done[input_of(references, {})]
    assert due(path(references=5), done) == []


@pytest.mark.parametrize(
    ("stages", "told"),
    [
        ([], "at least 1 item"),
        ([{"stage": "prompt"}, {"stage": "prompt"}], "these are taken: prompt"),
        ([{"stage": "prompt", "name": "references"}], "these are taken: references"),
        ([{"stage": "prompt", "shown": 2}], "Extra inputs are not permitted"),
        ([{"stage": "dream"}], "does not match any of the expected tags"),
        ([{"stage": "grpo"}], "no stage that trains stands before it"),
        ([{"stage": "sft"}, {"stage": "grpo", "start": "first"}], "no stage 'first' that trains stands before it"),
        ([{"stage": "sft", "settings": {"system": "Hi."}}], "the system message stands once"),
        (
            [{"stage": "sft"}, {"stage": "grpo", "settings": {"replay": {"dataset": "d"}}}],
            "replay stands beside settings",
        ),
    ],
)
def test_a_path_that_does_not_hang_together(stages: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        path(stages=stages)


def test_practice_may_go_on_from_any_stage_that_trains() -> None:
    stages: list[dict[str, Any]] = [
        {"stage": "sft"},
        {"stage": "sft", "name": "longer", "settings": {"epochs": 4}},
        {"stage": "grpo", "start": "sft", "replay": {}},
        {"stage": "grpo", "name": "again", "replay": {}},
    ]
    needs = {work.name: work.needs for work in works_of(path(stages=stages), FACTS)}
    assert needs["grpo/train"] == ("sft/train", "sft/dataset")
    assert needs["again/train"] == ("grpo/train", "sft/dataset")
