"""The rules of the house that no other tool checks."""

import ast
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "sdk": "practicum",
    "connectors": "practicum_connectors",
    "gateway": "practicum_gateway",
    "workflows": "practicum_workflows",
}
MOST_LINES = 400
# Only here may an exception of any kind be caught: each is one named boundary that classifies and records.
BOUNDARIES = {
    "connectors/practicum_connectors/conformance/runner.py",
    "gateway/practicum_gateway/http/middleware.py",
    "gateway/practicum_gateway/mcp/server.py",
    "gateway/practicum_gateway/models/provider_errors.py",
    "gateway/practicum_gateway/webhooks/couriers.py",
    "workflows/practicum_workflows/boundary.py",
}


def sources(*folders: str) -> list[Path]:
    """Python files that git tracks or would track below the folders."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *(f"{f}/*.py" for f in folders)]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for line in listed.splitlines() if (path := ROOT / line).exists()]


def test_no_file_is_too_long_to_read() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in sources(*PACKAGES, "tests", "examples", "benchmarks")
        if (lines := len(path.read_text().splitlines())) > MOST_LINES
    }
    assert not long


@pytest.mark.parametrize(("folder", "package"), PACKAGES.items())
def test_every_package_ships_its_types(folder: str, package: str) -> None:
    assert (ROOT / folder / package / "py.typed").exists()


def test_any_exception_is_caught_only_at_a_named_boundary() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in sources(*PACKAGES)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler) and _catches_anything(node)
    }
    assert found == BOUNDARIES


def _catches_anything(handler: ast.ExceptHandler) -> bool:
    """Whether it stops what it catches; one that tidies up and raises it again lets everything through."""
    last = handler.body[-1]
    if isinstance(last, ast.Raise) and last.exc is None:
        return False
    return handler.type is None or (
        isinstance(handler.type, ast.Name) and handler.type.id in {"Exception", "BaseException"}
    )


def test_tests_do_not_patch() -> None:
    forbidden = ("unittest.mock", "MagicMock", "monkeypatch.setattr", "mocker.patch")
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in sources("tests")
        if path != Path(__file__)
        for word in forbidden
        if word in path.read_text()
    ]
    assert not found
