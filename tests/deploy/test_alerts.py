"""Alert rules and documents speak of metrics that a running gateway tells, with the labels that it gives them."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from practicum_gateway.app import app_of, build, running
from practicum_gateway.metrics.exposition import name_of
from practicum_gateway.settings import Settings
from practicum_gateway.survey import Survey
from tests.gateway.conftest import served

ROOT = Path(__file__).parents[2]
NOT_OURS = {"up"}
"""Prometheus makes it itself."""
METRIC = re.compile(r"\b(?:up|(?:practicum|gen_ai|process)_[a-z_]+)\b(?!\s*[=!]~?\")")
SELECTED = re.compile(r"\b((?:practicum|gen_ai|process)_[a-z_]+)\{([^}]*)\}")


@dataclass
class Told:
    """What a gateway tells: the names of its series, and of their labels by metric."""

    text: str
    labels: dict[str, set[str]]


@pytest.fixture
async def told(tmp_path: Path) -> Told:
    async with running(build(Settings(data_dir=tmp_path))) as estate, served(app_of(estate)) as url:
        key = (tmp_path / "admin.key").read_text().strip()
        async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
            answer = await client.get("/metrics")
        families = await Survey(estate.main.telemetry).families(estate, ready=True)
    labels = {name_of(family): {name.replace(".", "_") for name in family.attributes} for family in families}
    return Told(answer.text, labels)


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((ROOT / "deploy/alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def whole(name: str) -> str:
    """The metric of which a series is a part."""
    return re.sub(r"_(bucket|count|sum)$", "", name)


async def test_every_metric_of_the_alerts_is_told_by_a_running_gateway(told: Told) -> None:
    kinds: dict[str, str] = dict(re.findall(r"^# TYPE (\S+) (\S+)$", told.text, re.MULTILINE))
    assert set(kinds) == set(told.labels)
    assert len(rules()) >= 10
    for rule in rules():
        expression = re.sub(r"by \([^)]*\)", "", rule["expr"])
        named = {name for name in METRIC.findall(expression) if name not in NOT_OURS}
        unknown = {name for name in named if name not in kinds and kinds.get(whole(name)) != "histogram"}
        assert unknown == set(), rule["alert"]
        assert named or "up{" in expression
        for name, inside in SELECTED.findall(expression):
            selected = set(re.findall(r"([a-z_]+)\s*[=!]", inside))
            assert selected <= told.labels[name if name in kinds else whole(name)], rule["alert"]


async def test_every_metric_that_is_told_is_documented(told: Told) -> None:
    documented = (ROOT / "docs/operations.md").read_text()
    assert [name for name in told.labels if f"`{name}`" not in documented] == []


def test_every_alert_says_what_is_the_matter_and_what_to_do() -> None:
    for rule in rules():
        assert {"summary", "action"} <= set(rule["annotations"]), rule["alert"]
        assert rule["labels"]["severity"] in {"warning", "critical"}
