"""What the demo says at its end: the verified outcomes, where the record is, and how much one good run is worth."""

import json
from dataclasses import dataclass
from pathlib import Path

from examples.demo.models import Choice
from examples.demo.play import Played
from examples.demo.screen import Screen
from practicum.contracts.base import JsonObject
from practicum.trajectories import Manifest


@dataclass(frozen=True)
class Report:
    """The demo's result.

    Attributes:
        state: the installation's folder.
        choice: the model that did the tasks.
        played: the tasks and what came of them.
        dataset: what was exported; None when nothing was good enough.
        folder: where the export lies.
    """

    state: Path
    choice: Choice
    played: tuple[Played, ...]
    dataset: Manifest | None
    folder: Path

    @property
    def right(self) -> bool:
        """Whether every outcome is right."""
        return all(each.right for each in self.played)

    def show(self, screen: Screen, seconds: float) -> None:
        """Write the end of the story.

        Args:
            screen: where to.
            seconds: how long the whole demo took.
        """
        screen.heading("Outcome")
        for each in self.played:
            mark, style = ("right", "green") if each.right else ("WRONG", "red")
            screen.line(f"  {mark:<7}{each.task.id}  (episode {each.episode}, {each.result.steps} turns)", style)
        screen.line(f"  {sum(each.right for each in self.played)} of {len(self.played)} right, {seconds:.0f} s")
        screen.heading("Record")
        screen.line(f"  trajectories  {self.state / 'gateway.sqlite3'}")
        screen.line(f"                to look at them: export PRACTICUM_DATA_DIR={self.state}")
        screen.line("                practicum up; practicum trajectories show EPISODE; practicum down")
        if self.dataset is not None:
            for file in self.dataset.files:
                screen.line(f"  {file.form:<12}  {self.folder / file.name}: {file.rows} rows, {file.format}")
            screen.line("                of held-out tasks, to show the form: train on those of the train split", "dim")
        screen.heading("What this shows and what it does not")
        for line in self.choice.skill:
            screen.line(f"  {line}")

    def as_json(self) -> str:
        """The same for programs."""
        told: JsonObject = {
            "right": self.right,
            "model": self.choice.spec.alias,
            "skill": list(self.choice.skill),
            "state_dir": str(self.state),
            "tasks": [
                {
                    "task": each.task.id,
                    "prompt": each.task.prompt,
                    "episode": each.episode,
                    "status": each.result.status,
                    "answer": each.result.answer,
                    "reward": each.verdict.reward,
                    "differences": list(each.verdict.differences),
                    "approvals": each.approvals,
                    "steps": each.result.steps,
                }
                for each in self.played
            ],
            "dataset": None if self.dataset is None else [str(self.folder / file.name) for file in self.dataset.files],
        }
        return json.dumps(told, indent=2)
