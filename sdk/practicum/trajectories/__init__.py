"""What can be done with the record: pure functions over trajectories, and one that writes files."""

from practicum.trajectories.chat import chat_row, messages_row
from practicum.trajectories.eligibility import Reason, accepted_calls, reasons, uses
from practicum.trajectories.explaining import Explanation, UseExplained, explain
from practicum.trajectories.export import export
from practicum.trajectories.graph import CallNode, quarantined
from practicum.trajectories.manifest import Exclusion, ExportedFile, Form, Manifest
from practicum.trajectories.opening import TaskRow, task_row
from practicum.trajectories.replay import Replay, Replayed, replay
from practicum.trajectories.tokeniser import ServerTokeniser
from practicum.trajectories.tokens import TokenRow, token_rows

__all__ = [
    "CallNode",
    "Exclusion",
    "Explanation",
    "ExportedFile",
    "Form",
    "Manifest",
    "Reason",
    "Replay",
    "Replayed",
    "ServerTokeniser",
    "TaskRow",
    "TokenRow",
    "UseExplained",
    "accepted_calls",
    "chat_row",
    "explain",
    "export",
    "messages_row",
    "quarantined",
    "reasons",
    "replay",
    "task_row",
    "token_rows",
    "uses",
]
