"""Tasks: what an agent is asked, and how one knows that it was done."""

from enum import StrEnum

from pydantic import Field

from practicum.contracts.base import JsonObject, Value


class Split(StrEnum):
    """Which side of the line a task is on; nothing of `held_out` is ever trained on."""

    TRAIN = "train"
    HELD_OUT = "held_out"


class ReferenceCall(Value):
    """One call of a reference solution."""

    tool: str
    arguments: JsonObject


class Task(Value):
    """One task of a suite.

    Attributes:
        id: stable identity.
        suite: the suite it belongs to.
        split: train or held-out.
        family: kind of task, for results per kind.
        prompt: what the agent is asked.
        tools: tool patterns it may use.
        start: start state, by system.
        reference: calls of a solution, in order.
        answer: text that a right final answer contains, if the task asks for one.
        wording: which wording of the family was used.
    """

    id: str
    suite: str
    split: Split
    family: str
    prompt: str
    tools: tuple[str, ...]
    start: JsonObject = Field(default_factory=dict)
    reference: tuple[ReferenceCall, ...] = ()
    answer: str | None = None
    wording: int = 0


class Verdict(Value):
    """What a verifier found.

    Attributes:
        reward: 1 for the expected change and nothing else, 0 otherwise; None when it cannot be told.
        differences: where the state departs from the expected one.
    """

    reward: float | None
    differences: tuple[str, ...] = ()
