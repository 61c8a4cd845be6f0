"""Tasks: what an agent is asked, and how one knows that it was done."""

from enum import StrEnum
from typing import TypeAlias

from pydantic import Field

from practicum.contracts.base import JsonObject, Value

States: TypeAlias = dict[str, dict[str, dict[str, JsonObject]]]
"""What systems hold: system -> table -> record id -> record."""


class Split(StrEnum):
    """Which side of the line a task is on; nothing of `held_out` is ever trained on."""

    TRAIN = "train"
    HELD_OUT = "held_out"


class ReferenceCall(Value):
    """One call of a reference solution."""

    tool: str
    arguments: JsonObject


class ExpectedChange(Value):
    """One record that a right solution makes, changes or removes.

    Attributes:
        system: the system it lies in.
        table: the kind of record.
        record: its id; None for a new record, whose id the system gives.
        fields: values of the changed fields afterwards; of a new record, of all fields not in `mentions`.
        mentions: free text: a field and the words that it must contain, in any case; without words, any text will do.
        removed: whether the record is gone afterwards.
    """

    system: str
    table: str
    record: str | None = None
    fields: JsonObject = Field(default_factory=dict)
    mentions: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    removed: bool = False


class Task(Value):
    """One task of a suite.

    Attributes:
        id: stable identity.
        suite: the suite it belongs to.
        split: train or held-out.
        family: kind of task, for results per kind.
        prompt: what the agent is asked.
        tools: tool patterns it may use.
        start: what the systems hold at the start.
        reference: calls of a solution, in order, by exposed tool name.
        conclusion: final message of that solution.
        expected: every change that a right solution makes; a verifier accepts these and no others.
        answer: text that a right final answer contains, if the task asks for one.
        wording: which wording of the family was used.
        entities: what it is about, by name; no entity is on both sides of a split.
    """

    id: str
    suite: str
    split: Split
    family: str
    prompt: str
    tools: tuple[str, ...]
    start: States = Field(default_factory=dict)
    reference: tuple[ReferenceCall, ...] = ()
    conclusion: str | None = None
    expected: tuple[ExpectedChange, ...] = ()
    answer: str | None = None
    wording: int = 0
    entities: tuple[str, ...] = ()


class Verdict(Value):
    """What a verifier found.

    Attributes:
        reward: 1 for the expected change and nothing else, 0 otherwise; None when it cannot be told.
        differences: where the state departs from the expected one.
    """

    reward: float | None
    differences: tuple[str, ...] = ()
