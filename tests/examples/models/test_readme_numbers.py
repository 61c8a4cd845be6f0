"""The README's figures are the manifest's."""

from pathlib import Path

from examples.models.manifest import MANIFEST, read_manifest

ROOT = Path(__file__).parents[3]


def test_the_readme_says_what_was_measured() -> None:
    told = read_manifest(ROOT / "examples/models/smollm2-orders" / MANIFEST)
    text = " ".join((ROOT / "README.md").read_text().split())
    shipped, bare = told.measured[told.stage], told.measured["prompt"]
    share = shipped.success
    assert share.value is not None
    assert share.low is not None
    assert share.high is not None
    assert f"solved {shipped.successes} of {share.n} held-out example tasks" in text
    assert f"({share.value:.0%}, 95% interval {share.low * 100:.0f} to {share.high * 100:.0f};" in text
    assert f"without the adapter {bare.successes} of {bare.success.n}" in text
