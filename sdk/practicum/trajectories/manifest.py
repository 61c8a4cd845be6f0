"""What an export says of itself."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from practicum.contracts.base import JsonObject, Value
from practicum.contracts.trajectory import Use

MANIFEST = "manifest.json"


class Form(StrEnum):
    """How trajectories are written."""

    CHAT = "chat"
    """OpenAI-style conversations: `messages` and `tools`."""
    MESSAGES = "messages"
    """The same with `tools` as JSON text, which loaders of tables cannot fill with nulls, and the episode's id."""
    TOKENS = "tokens"
    """Token ids, labels and logprobs as they were sampled."""
    TASKS = "tasks"
    """What an agent was asked, once for each task: the opening of a conversation that a trainer lets a model go on."""


FILES = {
    Form.CHAT: ("chat.jsonl", "practicum-chat/1"),
    Form.MESSAGES: ("messages.jsonl", "practicum-messages/1"),
    Form.TOKENS: ("tokens.jsonl", "practicum-tokens/1"),
    Form.TASKS: ("tasks.jsonl", "practicum-tasks/1"),
}
"""Name and format of the file of each form."""


class Exclusion(Value):
    """An episode that was left out, and why."""

    episode: str
    form: Form | None = None
    reasons: tuple[str, ...]


class ExportedFile(Value):
    """One file of an export.

    Attributes:
        name: its name beside the manifest.
        form: how it is written.
        format: version of that form.
        rows: its lines.
        episodes: ids of the episodes in it, in order of their first row.
        tokens: all tokens, where it holds tokens.
        trainable_tokens: tokens the model drew, where it holds tokens.
        sha256: of its bytes.
    """

    name: str
    form: Form
    format: str
    rows: int
    episodes: tuple[str, ...]
    tokens: int | None = None
    trainable_tokens: int | None = None
    sha256: str


class Manifest(Value):
    """The record of one export.

    Attributes:
        format: version of this form.
        name: the dataset's name, if it has one.
        created: when it was written.
        use: what it is for.
        query: how its episodes were chosen.
        seen: how many episodes were looked at.
        unmatched: conditions of the query, and how many episodes of those seen did not meet each.
        files: what was written.
        composition: how many of the episodes in it bear each value of the labels that say what they are about.
        excluded: what was left out; an episode can be left out of one file alone.
        quarantined: by episode, the model calls that are in no row of tokens, since their place among the others is not
            known.
        models: versions of the models that answered.
        templates: SHA-256 of the chat templates that rendered the prompts, where known.
        systems: the system messages that the episodes began with; an empty one where there was none.
    """

    format: Literal["practicum-export/1"] = "practicum-export/1"
    name: str | None = None
    created: datetime
    use: Use
    query: JsonObject = Field(default_factory=dict)
    seen: int
    unmatched: dict[str, int] = Field(default_factory=dict)
    files: tuple[ExportedFile, ...]
    composition: dict[str, dict[str, int]] = Field(default_factory=dict)
    excluded: tuple[Exclusion, ...]
    quarantined: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    models: tuple[str, ...]
    templates: tuple[str, ...]
    systems: tuple[str, ...] = ()
