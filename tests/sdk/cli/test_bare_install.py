"""What `pip install practicum` brings, and no extra: a site of its own that holds that much and nothing else."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HOUSE = (
    "sdk/practicum",
    "connectors/practicum_connectors",
    "gateway/practicum_gateway",
    "workflows/practicum_workflows",
)
"""One distribution holds all four packages; extras bring what they need."""
SUITE = "from examples_of_mine import nothing"
PROGRAM = "from practicum.cli.main import main; main()"


def needed(name: str, found: dict[str, Distribution]) -> dict[str, Distribution]:
    """A distribution and all that it needs without extras, as pip would install them here."""
    try:
        found[name] = distribution(name)
    except PackageNotFoundError:  # not for this interpreter or system
        return found
    for requirement in found[name].requires or ():
        wanted = re.match(r"[\w.-]+", requirement)
        assert wanted is not None
        if "extra ==" not in requirement and (key := wanted[0].lower().replace("_", "-")) not in found:
            needed(key, found)
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of links to what is installed without extras."""
    folder = tmp_path_factory.mktemp("site")
    for package in HOUSE:
        (folder / Path(package).name).symlink_to(ROOT / package)
    for found in needed("practicum", {}).values():
        for part in {file.parts[0] for file in found.files or () if file.suffix != ".pth"} - {"..", "__pycache__"}:
            if not (folder / part).exists():
                (folder / part).symlink_to(str(found.locate_file(part)))
    return folder


def bare(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command where nothing else is installed: neither this interpreter's site nor any variable is looked at."""
    program = f"import sys; sys.path.append({str(site)!r}); sys.argv[1:] = {list(arguments)!r}; {PROGRAM}"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PRACTICUM_")}
    command = [sys.executable, "-I", "-S", "-c", program]
    return subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)


def test_the_site_is_bare(site: Path) -> None:
    held = {entry.name for entry in site.iterdir()}
    assert {"httpx", "pydantic", "rich", "typer", "practicum"} <= held
    assert not held & {"torch", "trl", "transformers", "datasets", "gguf", "fastapi", "litellm", "yaml", "temporalio"}


@pytest.mark.parametrize(
    "command",
    [
        ("sft", "data", "--base", "smollm2", "--out", "run"),
        ("grpo", "a_suite:SUITE", "--from", "sft", "--out", "run"),
    ],
)
def test_training_says_exactly_what_to_install(site: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "a_suite.py").write_text(SUITE)  # not even loaded
    done = bare(site, tmp_path, "train", *command)
    assert (done.returncode, done.stdout) == (2, "")
    assert "not installed: torch, transformers, peft, trl, datasets, gguf" in done.stderr
    assert "pip install 'practicum[train]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()
    told = json.loads(bare(site, tmp_path, "train", *command, "--json").stderr)
    assert "practicum[train]" in told["mend"]


def test_every_command_is_there(site: Path, tmp_path: Path) -> None:
    shown = bare(site, tmp_path, "--help")  # the program loads all of them to say so
    assert (shown.returncode, shown.stderr) == (0, "")
    for command in ("eval", "compare", "datasets", "train", "path", "models", "trajectories", "run", "up"):
        assert f" {command} " in shown.stdout
    version = bare(site, tmp_path, "--version")
    assert (version.returncode, version.stdout.strip()) == (0, distribution("practicum").version)
