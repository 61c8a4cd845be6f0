"""The README's figures are the manifest's."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_readme_says_what_was_measured() -> None:
    measured = json.loads((ROOT / "examples/models/smollm2-orders/manifest.json").read_text())["measured"]
    text = " ".join((ROOT / "README.md").read_text().split())
    adapter, bare = measured["adapter"]["all"], measured["zero_shot"]["all"]
    assert f"solved {adapter['value'] * adapter['n']:.0f} of {adapter['n']} held-out example tasks" in text
    assert f"without the adapter {bare['value'] * bare['n']:.0f} of {bare['n']}" in text
    assert f"interval {adapter['low'] * 100:.0f} to {adapter['high'] * 100:.0f}" in text
