"""What a check of a model found: whether it answers, and what it can do."""

from datetime import datetime
from enum import StrEnum

from practicum.contracts.base import Value


class Capability(StrEnum):
    """What a model's server is tried for."""

    ANSWERS = "answers"
    STREAMS = "streams"
    TOOLS = "tools"
    TOKEN_IDS = "token_ids"  # noqa: S105  # no password
    LOGPROBS = "logprobs"
    LENGTH = "length"
    DIALECT = "dialect"


class Finding(Value):
    """One thing that was tried.

    Attributes:
        capability: what.
        able: whether it can; None where it could not be found out.
        said: what that means for whoever uses the model.
    """

    capability: Capability
    able: bool | None
    said: str


class ModelCheck(Value):
    """What a check of one version found.

    Attributes:
        version: the version.
        at: when.
        healthy: whether it answered.
        findings: one for each capability that was tried; where it did not answer that alone, and its dialect if its
            server tells its chat template.
        longest: tokens of a prompt and its answer together, where the server tells.
        tokens: how many the check took.
    """

    version: str
    at: datetime
    healthy: bool
    findings: tuple[Finding, ...]
    longest: int | None = None
    tokens: int = 0
