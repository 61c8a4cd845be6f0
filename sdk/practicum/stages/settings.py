"""How stages train: frozen values; an unknown setting is an error, and so is one that would do nothing."""

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Self, TypeVar

from pydantic import Field, JsonValue, ValidationError, model_validator

from practicum.contracts.base import Value
from practicum.contracts.episodes import Limits
from practicum.errors import ConfigurationError

Share = Annotated[float, Field(ge=0, le=1)]


class Precision(StrEnum):
    """In which numbers a model computes; what is learned is kept in float32 either way."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


class Lora(Value):
    """A low-rank adapter.

    Attributes:
        rank: of its matrices.
        alpha: its scale times its rank.
        targets: names of the projections that it adapts.
    """

    rank: int = Field(default=16, ge=1)
    alpha: int = Field(default=32, ge=1)
    targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class Training(Value):
    """What every stage that trains is told.

    Attributes:
        rate: highest learning rate.
        warmup: share of the steps in which the rate rises.
        clip: the longest gradient; longer ones are shortened to it.
        rows_at_once: rows of one forward pass; bounds the memory and changes nothing else.
        precision: in which numbers the model computes.
        seed: of everything that is drawn.
        threads: of torch on a CPU; None for its own choice.
        save_every: steps between two checkpoints, at each of which an interrupted run can go on.
        seconds: wall seconds after which training ends with what it has; None for no bound.
    """

    rate: float = Field(gt=0)
    warmup: Share = 0.0
    clip: float = Field(default=1.0, gt=0)
    rows_at_once: int = Field(default=8, ge=1)
    precision: Precision = Precision.FLOAT32
    seed: int = Field(default=1, ge=0)
    threads: int | None = Field(default=None, ge=1)
    save_every: int = Field(default=25, ge=1)
    seconds: float | None = Field(default=None, gt=0)


class SftSettings(Training):
    """Supervised fine-tuning.

    Attributes:
        lora: the adapter to train; None trains the whole model.
        epochs: times that every row is seen.
        rows_per_step: rows of one optimiser step.
        falling: whether the rate falls in a line to zero after the warm-up, or stays.
        system: system message with which the model will be served; None for the one that the episodes began with.
    """

    rate: float = Field(default=5e-4, gt=0)
    warmup: Share = 0.06
    lora: Lora | None = Lora()
    epochs: float = Field(default=2.0, gt=0)
    rows_per_step: int = Field(default=8, ge=1)
    falling: bool = True
    system: str | None = None

    @model_validator(mode="after")
    def _whole_parts(self) -> Self:
        if self.rows_per_step % min(self.rows_at_once, self.rows_per_step):
            raise ValueError("rows_per_step must be a multiple of rows_at_once")
        return self


class Replay(Value):
    """Recorded rows mixed into every step, so that what was learned from them is not paid for what is learned now.

    Attributes:
        dataset: folder of the rows.
        rows: how many join each step.
        weight: of their loss beside that of the practice.
    """

    dataset: str
    rows: int = Field(default=8, ge=1)
    weight: float = Field(default=0.5, gt=0)


class GrpoSettings(Training):
    """Group relative policy optimisation by practice.

    Attributes:
        steps: optimiser steps; each learns from fresh attempts.
        groups: tasks of one step.
        group_size: attempts at each task.
        normalise: whether advantages are divided by the spread of their group.
        temperature: at which attempts are sampled.
        turn_tokens: the most tokens of one turn.
        limits: what each attempt may spend; `errors_in_a_row` ends one that is stuck.
        floor: share of the tasks drawn evenly over the families, whatever their success.
        families: which families to practise; empty for all.
        beta: weight of the distance (KL) from the policy that this stage started from; 0 for none.
        replay: recorded rows mixed in; None for none.
        seats: attempts that go on at once.
        system: system message before the tasks; None for the one that the bundle was trained with.
    """

    rate: float = Field(default=1.5e-5, gt=0)
    steps: int = Field(default=25, ge=1)
    groups: int = Field(default=4, ge=1)
    group_size: int = Field(default=8, ge=2)
    normalise: bool = True
    temperature: float = Field(default=1.0, gt=0, le=2)
    turn_tokens: int = Field(default=160, ge=1)
    limits: Limits = Limits(steps=8, errors_in_a_row=2)
    floor: Share = 0.2
    families: tuple[str, ...] = ()
    beta: float = Field(default=0.0, ge=0)
    replay: Replay | None = None
    seats: int = Field(default=32, ge=1)
    system: str | None = None
    save_every: int = Field(default=5, ge=1)

    @model_validator(mode="after")
    def _whole_parts(self) -> Self:
        rows = self.groups * self.group_size
        if rows % min(self.rows_at_once, rows):
            raise ValueError("groups times group_size must be a multiple of rows_at_once")
        if self.limits.seconds is not None:
            raise ValueError("limits.seconds cannot be held while many attempts go on side by side; use limits.steps")
        return self


S = TypeVar("S", bound=Training)


def settings_of(kind: type[S], assignments: Sequence[str]) -> S:
    """Read settings as a command line gives them.

    Args:
        kind: whose settings.
        assignments: `name=value`, a dot going one level down (`lora.rank=8`); the value is JSON, or else a text.

    Raises:
        ConfigurationError: one is unknown, or its value does not fit.
    """
    tree: dict[str, JsonValue] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not (name and equals):
            raise ConfigurationError(f"{assignment!r} sets nothing.", mend="Write name=value, such as rate=0.0003.")
        _put(tree, name.split("."), _value(text))
    try:
        return kind.model_validate(tree)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "these settings"
        known = ", ".join(kind.model_fields)
        raise ConfigurationError(f"{where}: {first['msg']}.", mend=f"Settings are: {known}.") from error


def _put(tree: dict[str, JsonValue], path: Sequence[str], value: JsonValue) -> None:
    for part in path[:-1]:
        inner = tree.setdefault(part, {})
        if not isinstance(inner, dict):
            raise ConfigurationError(f"{'.'.join(path)} is set twice, as a value and as a group.")
        tree = inner
    if path[-1] in tree:
        raise ConfigurationError(f"{'.'.join(path)} is set twice.", mend="Give each setting once.")
    tree[path[-1]] = value


def _value(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return text
    return value
