"""What can be done with the record: pure functions over trajectories, and one that writes files."""

from practicum.trajectories.chat import chat_row
from practicum.trajectories.eligibility import accepted_calls, uses
from practicum.trajectories.export import export
from practicum.trajectories.manifest import Exclusion, ExportedFile, Form, Manifest
from practicum.trajectories.tokens import TokenRow, token_rows

__all__ = [
    "Exclusion",
    "ExportedFile",
    "Form",
    "Manifest",
    "TokenRow",
    "accepted_calls",
    "chat_row",
    "export",
    "token_rows",
    "uses",
]
