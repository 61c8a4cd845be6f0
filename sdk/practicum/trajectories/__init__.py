"""What can be done with the record: pure functions over trajectories, and one that writes files."""

from practicum.trajectories.chat import chat_row, messages_row
from practicum.trajectories.eligibility import accepted_calls, uses
from practicum.trajectories.export import export
from practicum.trajectories.manifest import Exclusion, ExportedFile, Form, Manifest
from practicum.trajectories.opening import TaskRow, task_row
from practicum.trajectories.tokens import TokenRow, token_rows

__all__ = [
    "Exclusion",
    "ExportedFile",
    "Form",
    "Manifest",
    "TaskRow",
    "TokenRow",
    "accepted_calls",
    "chat_row",
    "export",
    "messages_row",
    "task_row",
    "token_rows",
    "uses",
]
