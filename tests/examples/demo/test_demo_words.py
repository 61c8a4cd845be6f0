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
from practicum.cli.services.state import StateDirectory
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


def test_every_measured_number_has_its_count_and_interval(tmp_path: Path) -> None:
    share = {"n": 200, "value": 0.765, "low": 0.7015, "high": 0.8185}
    stage = {"split": "held_out", "all": share, "unscored": 1, "families": {}}
    (tmp_path / "manifest.json").write_text(json.dumps({"measured": {"adapter": stage}}), encoding="utf-8")

    told = measured(tmp_path / "manifest.json")

    assert " ".join(told[1].split()) == (
        "adapter 153 of 200 held-out tasks right: 76%, 95 % interval 70% to 82%, 1 unscored"
    )


@pytest.mark.parametrize("content", [None, "", "{}", '{"measured": {"adapter": {}}}'])
def test_a_manifest_that_does_not_say_is_an_error(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content, encoding="utf-8")

    with pytest.raises(ConfigurationError, match="does not say what was measured"):
        measured(tmp_path / "manifest.json")


def test_the_shipped_manifest_is_told() -> None:
    assert any("of 200 held-out tasks right" in line for line in measured(SHIPPED / "manifest.json"))
