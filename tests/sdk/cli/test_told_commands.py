"""The commands that docs/learning.md tells are commands that there are, with options that they have."""

import shlex
from pathlib import Path

import pytest
import typer.main

from practicum.cli.main import app

TOLD = [
    line.strip().split("  #")[0]
    for line in (Path(__file__).parents[3] / "docs/learning.md").read_text().splitlines()
    if line.startswith("    practicum ")
]


def test_there_are_some() -> None:
    told = {tuple(command.split()[1:3]) for command in TOLD}
    assert {("models", "promote"), ("train", "sft"), ("train", "grpo"), ("datasets", "build")} <= told


@pytest.mark.parametrize("line", TOLD)
def test_a_command_is_understood(line: str) -> None:
    """Read as a shell and the program would, and not run."""
    command, arguments = typer.main.get_command(app), shlex.split(line)[1:]
    while subcommands := getattr(command, "commands", None):
        command, arguments = subcommands[arguments[0]], arguments[1:]
    with command.make_context(line, arguments) as context:
        assert context.params
