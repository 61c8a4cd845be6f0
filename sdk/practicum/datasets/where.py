"""The language in which episodes are chosen: `suite=orders split=train reward>=1`.

Conditions stand side by side, and an episode must meet all of them. A condition is a field, an operator and a value:

- `suite`, `split`, `family`, `task`, `evaluation` and `metadata.NAME` are labels;
- `model` is the alias, `version` what answered behind it in every turn, `template` the start of the template's hash;
- `status`, `cause`, `mode` and `use` (what the episode qualifies for) take the words that the records have;
- `reward`, `steps` and `tokens` are numbers, and an episode without the number meets no condition on it.

Numbers know `=`, `!=`, `<`, `<=`, `>`, `>=`; all else knows `=` and `!=`. Of several values, with commas between them,
one must fit (`family=refund,cancel`); a value with spaces or commas stands in quotes.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from operator import eq, ge, gt, le, lt, ne

from practicum.contracts.episodes import Cause, EpisodeMode, EpisodeStatus
from practicum.contracts.problems import FieldProblem
from practicum.contracts.tasks import Split
from practicum.contracts.trajectory import Trajectory, Use
from practicum.errors import RequestError
from practicum.trajectories import accepted_calls, uses

LABELS = ("suite", "split", "family", "task", "evaluation")
_LABEL_PREFIX = "metadata."

_WORDS: dict[str, type[StrEnum]] = {
    "split": Split,
    "status": EpisodeStatus,
    "cause": Cause,
    "mode": EpisodeMode,
    "use": Use,
}
_NUMBERS = ("reward", "steps", "tokens")
_TEXTS = (*LABELS, "model", "version", "template", "status", "cause", "mode", "use")
FIELDS = (*_TEXTS, *_NUMBERS, f"{_LABEL_PREFIX}NAME")

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}

_ITEM = r"""(?:"[^"]*"|'[^']*'|[^\s,'"]+)"""
_FIELD = re.compile(r"[A-Za-z_][\w.-]*")
_OPERATOR = re.compile(r"\s*(!=|<=|>=|=|<|>)\s*")
_VALUES = re.compile(rf"{_ITEM}(?:,{_ITEM})*(?=\s|$)")
_ITEMS = re.compile(_ITEM)
_DECIMAL = re.compile(r"[+-]?\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition.

    Attributes:
        field: what it speaks of.
        operator: how that is compared.
        values: with what; one of them must fit.
        numbers: the values as numbers, where the field is one.
        text: the condition as it was written.
    """

    field: str
    operator: str
    values: tuple[str, ...]
    numbers: tuple[float, ...]
    text: str

    @property
    def label(self) -> str | None:
        """The label that it speaks of, if it speaks of one."""
        if self.field.startswith(_LABEL_PREFIX):
            return self.field.removeprefix(_LABEL_PREFIX)
        return self.field if self.field in LABELS else None

    def holds(self, trajectory: Trajectory) -> bool:
        """Whether an episode meets it."""
        if self.field in _NUMBERS:
            number = _number(self.field, trajectory)
            compare = _COMPARISONS[self.operator]
            if number is None:
                return False
            fitting = (compare(number, wanted) for wanted in self.numbers)
            return all(fitting) if self.operator == "!=" else any(fitting)
        return self._fits(trajectory) is (self.operator == "=")

    def _fits(self, trajectory: Trajectory) -> bool:
        """Whether what the episode has is one of the values."""
        found = [trajectory.metadata.get(self.label)] if self.label is not None else _found(self.field, trajectory)
        if self.field == "use":
            return any(each in self.values for each in found)
        if self.field == "template":
            return bool(found) and all(each is not None and each.startswith(self.values) for each in found)
        return bool(found) and all(each in self.values for each in found)


@dataclass(frozen=True, slots=True)
class Where:
    """A parsed choice of episodes.

    Attributes:
        conditions: all of which must hold.
        text: as it was written.
    """

    conditions: tuple[Condition, ...]
    text: str

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels that every chosen episode bears, for a gateway that can look them up."""
        return {
            condition.label: condition.values[0]
            for condition in self.conditions
            if condition.label is not None and condition.operator == "=" and len(condition.values) == 1
        }

    @property
    def asks_for_held_out(self) -> bool:
        """Whether it chooses episodes of the held-out split by name."""
        return any(
            condition.field == "split" and condition.operator == "=" and Split.HELD_OUT in condition.values
            for condition in self.conditions
        )

    def unmet(self, trajectory: Trajectory) -> tuple[str, ...]:
        """The conditions that an episode does not meet, as they were written; empty when it is chosen."""
        return tuple(condition.text for condition in self.conditions if not condition.holds(trajectory))


def parse_where(text: str) -> Where:
    """Read a choice of episodes.

    Args:
        text: conditions; without any, every episode is chosen.

    Raises:
        RequestError: it cannot be read; the error says at which column and why.
    """
    conditions: list[Condition] = []
    place = _past_spaces(text, 0)
    while place < len(text):
        condition, place = _condition(text, place)
        conditions.append(condition)
        place = _past_spaces(text, place)
    return Where(tuple(conditions), text.strip())


def _condition(text: str, begin: int) -> tuple[Condition, int]:
    """The condition that begins at a place, and the place where it ends."""
    name = _FIELD.match(text, begin)
    if name is None:
        raise _wrong(text, begin, "a field should stand here", _fields_hint())
    field = name.group()
    if field not in (*_TEXTS, *_NUMBERS) and field.removeprefix(_LABEL_PREFIX) in ("", field):
        raise _wrong(text, begin, f"there is no field '{field}'", _fields_hint())
    operator = _OPERATOR.match(text, name.end())
    if operator is None:
        raise _wrong(text, name.end(), f"an operator should follow '{field}'", "Operators: = != < <= > >=.")
    sign = operator.group(1)
    if field not in _NUMBERS and sign not in ("=", "!="):
        raise _wrong(text, operator.start(1), f"'{field}' is no number", "It knows = and != only.")
    found = _VALUES.match(text, operator.end())
    if found is None:
        raise _wrong(
            text,
            operator.end(),
            f"a value should follow '{field}{sign}'",
            "Several values have commas between them; one with spaces or commas stands in quotes.",
        )
    values = tuple(_unquoted(item) for item in _ITEMS.findall(found.group()))
    numbers = _checked(text, found.start(), field, values)
    written = f"{field}{sign}{found.group()}"
    return Condition(field, sign, values, numbers, written), found.end()


def _checked(text: str, place: int, field: str, values: Collection[str]) -> tuple[float, ...]:
    """The values as numbers where the field is one; the known words where it has words."""
    if field in _NUMBERS:
        if not all(_DECIMAL.fullmatch(value) for value in values):
            raise _wrong(text, place, f"'{field}' is a number", "Such as reward>=1.")
        return tuple(float(value) for value in values)
    words = _WORDS.get(field)
    unknown = [value for value in values if words is not None and value not in list(words)]
    if words is not None and unknown:
        raise _wrong(text, place, f"'{field}' is never '{unknown[0]}'", f"It is one of: {', '.join(words)}.")
    return ()


def _wrong(text: str, place: int, what: str, mend: str) -> RequestError:
    rest = text[place:].split(maxsplit=1)
    here = f"at '{rest[0]}'" if rest else "at the end"
    return RequestError(
        f"The choice of episodes cannot be read, column {place + 1}, {here}: {what}.",
        mend=mend,
        errors=(FieldProblem(where=f"column {place + 1}", what=what),),
    )


def _fields_hint() -> str:
    return f"Fields: {', '.join(FIELDS)}."


def _past_spaces(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _unquoted(item: str) -> str:
    return item[1:-1] if item[0] in "\"'" else item


def _number(field: str, trajectory: Trajectory) -> float | None:
    if field == "reward":
        return trajectory.reward
    if trajectory.result is None:
        return None
    usage = trajectory.result.usage
    return trajectory.result.steps if field == "steps" else usage.prompt_tokens + usage.completion_tokens


def _found(field: str, trajectory: Trajectory) -> list[str | None]:
    """What an episode has in a field that is no label."""
    result = trajectory.result
    match field:
        case "use":
            return [found.use for found in uses(trajectory) if found.eligible]
        case "version":
            return [call.version for call in accepted_calls(trajectory)]
        case "template":
            return [call.template_hash for call in accepted_calls(trajectory)]
        case _:
            single = {
                "model": trajectory.model,
                "mode": trajectory.mode,
                "status": result.status if result else EpisodeStatus.RUNNING,
                "cause": result.cause if result else None,
            }
            return [single[field]]
