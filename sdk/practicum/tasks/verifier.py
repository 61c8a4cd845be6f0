"""The state verifier: the expected change and nothing else, and the answer where one was asked for."""

import re
from collections.abc import Mapping
from typing import Protocol

from pydantic import JsonValue

from practicum.contracts.tasks import ExpectedChange, States, Task, Verdict
from practicum.tasks.state import ChangeKind, RecordChange, changes


class Verifier(Protocol):
    """Judges one attempt at a task by what it left behind."""

    def __call__(self, task: Task, before: States, after: States | None, answer: str | None) -> Verdict:
        """Judge an attempt.

        Args:
            task: what was asked.
            before: the systems' states when the attempt began.
            after: their states when it ended; None when they could not be read.
            answer: the agent's final text, if it gave one.

        Returns:
            Reward 1 or 0 with what is wrong; None when it cannot be told.
        """
        ...


def verify(task: Task, before: States, after: States | None, answer: str | None) -> Verdict:
    """Compare what changed with `task.expected`, and the answer with `task.answer`.

    Each expected change must be there, and no other. Ids that a system gave to new records do not matter. The answer
    must contain the asked-for text as whole words, in any case. Reads leave no trace in a state, so they are free.

    Args:
        task: what was asked.
        before: the systems' states when the attempt began.
        after: their states when it ended; None when they could not be read.
        answer: the agent's final text, if it gave one.

    Returns:
        Reward 1 without differences or 0 with them; None when `after` is None.
    """
    if after is None:
        return Verdict(reward=None, differences=("the systems' states could not be read",))
    differences = [*_state_differences(task.expected, list(changes(before, after))), *_answer_differences(task, answer)]
    return Verdict(reward=0.0 if differences else 1.0, differences=tuple(differences))


def contains(text: str, words: str) -> bool:
    """Whether a text contains these words whole and in any case: `12` is in `12 left.`, not in `112` or `12.5`."""
    pattern = rf"(?<!\w)(?<!\d[.,]){re.escape(words)}(?!\w)(?![.,]\d)"
    return re.search(pattern, text, re.IGNORECASE) is not None


def _state_differences(expected: tuple[ExpectedChange, ...], found: list[RecordChange]) -> list[str]:
    """What of the expected changes is missing or different, and what else changed."""
    open_wishes: list[ExpectedChange] = []
    for wish in expected:
        match = next((change for change in found if _is_target(wish, change) and not _faults(wish, change)), None)
        if match is None:
            open_wishes.append(wish)
        else:
            found.remove(match)
    differences: list[str] = []
    for wish in open_wishes:
        near = next((change for change in found if _is_target(wish, change)), None)
        if near is None:
            differences.append(f"missing: {_describe(wish)}")
        else:
            found.remove(near)
            differences.extend(f"different: {near.where}: {fault}" for fault in _faults(wish, near))
    return [*differences, *(f"unexpected: {change.where} {change.kind}" for change in found)]


def _is_target(wish: ExpectedChange, change: RecordChange) -> bool:
    """Whether the change is of the wished kind and, where the record is known, of that record."""
    kind = ChangeKind.CREATED if wish.record is None else ChangeKind.REMOVED if wish.removed else ChangeKind.UPDATED
    place = (wish.system, wish.table, kind)
    return place == (change.system, change.table, change.kind) and wish.record in (None, change.record)


def _faults(wish: ExpectedChange, change: RecordChange) -> list[str]:
    """Where the change departs from the wish, field by field."""
    return [
        fault
        for name in sorted({*wish.fields, *wish.mentions, *change.fields})
        if (fault := _fault(wish, name, change.fields)) is not None
    ]


def _fault(wish: ExpectedChange, name: str, fields: Mapping[str, JsonValue]) -> str | None:
    value = fields.get(name)
    if name in wish.mentions:
        if not isinstance(value, str) or not value.strip():
            return f"{name} is {value!r}, not a text"
        lacking = [words for words in wish.mentions[name] if not contains(value, words)]
        return f"{name} does not mention {', '.join(map(repr, lacking))}" if lacking else None
    if name in wish.fields:
        return None if value == wish.fields[name] else f"{name} is {value!r}, not {wish.fields[name]!r}"
    return f"{name} is {value!r}, which was not asked for"


def _describe(wish: ExpectedChange) -> str:
    action = "new record in" if wish.record is None else "removal of" if wish.removed else "change of"
    where = "/".join(part for part in (wish.system, wish.table, wish.record) if part)
    values = ", ".join(f"{name}={value!r}" for name, value in sorted(wish.fields.items()))
    return f"{action} {where}" + (f" ({values})" if values else "")


def _answer_differences(task: Task, answer: str | None) -> list[str]:
    if task.answer is None or contains(answer or "", task.answer):
        return []
    return [f"the answer does not say {task.answer!r}"]
