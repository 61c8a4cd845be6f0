"""What an agent was asked, as a row from which a trainer lets a model go on by itself."""

import json

from pydantic import Field

from practicum.contracts.base import JsonObject, Value
from practicum.contracts.trajectory import Trajectory
from practicum.errors import RequestError
from practicum.trajectories.chat import chat_message
from practicum.trajectories.eligibility import accepted_calls


class TaskRow(Value):
    """One task to roll out.

    Attributes:
        task: the task's id in its suite.
        suite: the suite's name.
        split: which side of the line it is on; empty where that was not said.
        family: kind of task; empty where that was not said.
        prompt: the messages that the model saw before its first turn, as OpenAI's API has them.
        tools: the tools that were offered, as JSON text.
        episode: an episode in which this was asked.
    """

    task: str
    suite: str
    split: str = ""
    family: str = ""
    prompt: tuple[JsonObject, ...] = Field(min_length=1)
    tools: str
    episode: str


def task_row(trajectory: Trajectory) -> TaskRow:
    """The opening of an episode: what its model was asked first.

    Raises:
        RequestError: its labels do not say which task of which suite it was, or no model call was accepted.
    """
    labels = trajectory.metadata
    for name in ("suite", "task"):
        if not labels.get(name):
            raise RequestError(f"Episode {trajectory.episode} has no label '{name}'.")
    first = next(iter(accepted_calls(trajectory)), None)
    if first is None:
        raise RequestError(f"Episode {trajectory.episode} has no accepted model call.")
    return TaskRow(
        task=labels["task"],
        suite=labels["suite"],
        split=labels.get("split", ""),
        family=labels.get("family", ""),
        prompt=tuple(chat_message(message, trajectory.episode) for message in first.messages),
        tools=json.dumps(first.tools),
        episode=trajectory.episode,
    )
