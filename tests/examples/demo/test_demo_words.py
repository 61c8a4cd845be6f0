"""What the demo says: each step, the verdict, and what a good episode is worth."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import JsonValue
from rich.console import Console

from examples.demo.models import choose, measured
from examples.demo.screen import Screen
from examples.models.manifest import MANIFEST, read_manifest
from practicum.cli.services.state import StateDirectory
from practicum.contracts.base import JsonObject
from practicum.contracts.episodes import Cause, EpisodeEvent, EpisodeResult, EpisodeStatus, EventType
from practicum.contracts.models import Provider
from practicum.contracts.tasks import Verdict
from practicum.errors import ConfigurationError

SHIPPED = Path(__file__).parents[3] / "examples/models/smollm2-orders"


def _shown(kind: EventType, data: dict[str, JsonValue]) -> str:
    out = io.StringIO()
    event = EpisodeEvent(sequence=1, episode="e", at=datetime.now(UTC), type=kind, data=data)
    Screen(Console(file=out, width=80)).event(event)
    return out.getvalue()


def test_a_turn_shows_its_calls_and_its_words() -> None:
    call: JsonValue = {"id": "c1", "name": "erp_get_order", "arguments": {"order_id": 7}}
    told = _shown("turn.finished", {"message": {"role": "assistant", "content": "So.", "tool_calls": [call]}})

    assert told == '  call    erp_get_order {"order_id": 7}\n  says    So.\n'


def test_an_outcome_is_one_line_however_long_it_is() -> None:
    told = _shown("call.finished", {"observation": {"status": "ok", "content": "x\n" * 500}})

    assert told.startswith("  ok      x x x")
    assert told.endswith("...\n")
    assert told.count("\n") == 1


def test_markup_in_what_a_system_says_stays_text() -> None:
    assert "[bold]loud[/bold]" in _shown(
        "call.finished", {"observation": {"status": "ok", "content": "[bold]loud[/bold]"}}
    )


def test_a_wrong_outcome_says_why() -> None:
    out = io.StringIO()
    result = EpisodeResult(status=EpisodeStatus.EXHAUSTED, cause=Cause.BUDGET, reason="no steps left")
    Screen(Console(file=out, width=80)).outcome(Verdict(reward=0, differences=("missing: a note",)), result)

    assert out.getvalue().splitlines() == ["  ended   exhausted: no steps left", "  verified: missing: a note"]


def test_a_model_of_a_provider_is_not_said_to_be_measured(tmp_path: Path) -> None:
    choice = choose("openai/gpt-5-mini", None, StateDirectory(tmp_path))

    assert (choice.spec.provider, choice.spec.target) == (Provider.LITELLM, "openai/gpt-5-mini")
    assert "not measured" in choice.skill[0]


def test_the_local_model_needs_its_server(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No local model server"):
        choose("local", None, StateDirectory(tmp_path))


def _manifest(**changes: JsonValue) -> JsonObject:
    """The shipped manifest with one measured stage, which is told so."""
    shipped: JsonObject = json.loads((SHIPPED / MANIFEST).read_text(encoding="utf-8"))
    share: JsonObject = {"n": 200, "value": 0.765, "low": 0.7015, "high": 0.8185}
    stage: JsonObject = {
        "kind": "sft",
        "split": "held_out",
        "tasks": 201,
        "attempts": 1,
        "successes": 153,
        "success": share,
        "unscored": 1,
        "families": {},
    }
    return {**shipped, "stage": "sft", "measured": {"sft": {**stage, **changes}}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "sft, shipped 153 of 200 held-out tasks right: 76%, 95 % interval 70% to 82%, 1 unscored"),
        (
            {"tasks": 100, "attempts": 2, "unscored": 0},
            "sft, shipped 153 of 200 attempts at 100 held-out tasks right: 76%, 95 % interval 70% to 82%",
        ),
        (
            {"success": {"n": 0}, "successes": 0, "unscored": 201},
            "sft, shipped none of its held-out tasks could be scored, 201 unscored",
        ),
    ],
)
def test_every_measured_number_has_its_count_and_interval(
    tmp_path: Path, changes: dict[str, JsonValue], words: str
) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps(_manifest(**changes)), encoding="utf-8")

    told = measured(tmp_path / MANIFEST)

    assert [" ".join(line.split()) for line in told[1:]] == [words]


@pytest.mark.parametrize("content", [None, "", "{}", json.dumps(_manifest(success=None))])
def test_a_manifest_that_does_not_say_is_an_error(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / MANIFEST).write_text(content, encoding="utf-8")

    with pytest.raises(ConfigurationError, match="does not say what was measured"):
        measured(tmp_path / MANIFEST)


def test_the_shipped_manifest_is_told() -> None:
    manifest = read_manifest(SHIPPED / MANIFEST)
    told = measured(SHIPPED / MANIFEST)

    assert len(told) == 1 + len(manifest.measured)
    assert [line for line in told if f"{manifest.stage}, shipped" in line and "held-out tasks right" in line]
