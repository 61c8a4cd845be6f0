"""Tasks: suites of them, the line between train and held-out, and the verifier that compares states."""

from practicum.tasks.splits import overlaps
from practicum.tasks.state import ChangeKind, RecordChange, changes, states_of
from practicum.tasks.suite import digest, read_tasks, select, write_tasks
from practicum.tasks.verifier import Verifier, verify

__all__ = [
    "ChangeKind",
    "RecordChange",
    "Verifier",
    "changes",
    "digest",
    "overlaps",
    "read_tasks",
    "select",
    "states_of",
    "verify",
    "write_tasks",
]
