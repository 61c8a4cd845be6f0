"""What the documents promise to list, they list whole."""

from pathlib import Path

import pytest

from practicum.errors import PracticumError
from practicum_gateway.settings import Settings

ROOT = Path(__file__).parents[2]


def every_error(root: type[PracticumError] = PracticumError) -> list[type[PracticumError]]:
    return [root, *(found for below in root.__subclasses__() for found in every_error(below))]


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs/configuration.md").read_text()
    assert [name for name in Settings.model_fields if f"`PRACTICUM_{name.upper()}`" not in text] == []


@pytest.mark.parametrize("error", [e for e in every_error() if e.__module__ == "practicum.errors"])
def test_every_error_is_documented(error: type[PracticumError]) -> None:
    text = (ROOT / "docs/errors.md").read_text()
    assert f"| `{error.code}` | {error.status} | `{error.__name__}` |" in text


def test_every_link_of_the_readme_leads_somewhere() -> None:
    text = (ROOT / "README.md").read_text()
    targets = [part.split(")")[0] for part in text.split("](")[1:]]
    assert targets
    assert [target for target in targets if not target.startswith("http") and not (ROOT / target).exists()] == []
