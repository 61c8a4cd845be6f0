"""Tasks: suites of them, the line between train and held-out, practice systems, and the verifier of states."""

from practicum.tasks.files import digest, read_tasks, select, write_tasks
from practicum.tasks.practice import Practice
from practicum.tasks.splits import overlaps
from practicum.tasks.state import ChangeKind, RecordChange, changes, states_of
from practicum.tasks.suite import Suite, load_suite, score
from practicum.tasks.verifier import Verifier, verify

__all__ = [
    "ChangeKind",
    "Practice",
    "RecordChange",
    "Suite",
    "Verifier",
    "changes",
    "digest",
    "load_suite",
    "overlaps",
    "read_tasks",
    "score",
    "select",
    "states_of",
    "verify",
    "write_tasks",
]
