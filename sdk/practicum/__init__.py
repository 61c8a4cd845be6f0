"""Practicum: run tool-using agents over your own systems, and make better models of what they did.

This is the front door. A name is loaded when it is first asked for, so that `import practicum` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from practicum.client import AsyncEpisodeHandle, AsyncPracticum, EpisodeHandle, Practicum
    from practicum.contracts.access import Approval, ApprovalStatus, Outcome, Role, Rule, RuleSet
    from practicum.contracts.connectors import (
        ApiKeyAuth,
        BasicAuth,
        BearerAuth,
        ClientCredentialsAuth,
        ConnectorSpec,
        Mode,
        PracticeSpec,
    )
    from practicum.contracts.episodes import (
        Cause,
        Driver,
        Episode,
        EpisodeEvent,
        EpisodeMode,
        EpisodeResult,
        EpisodeStatus,
        Limits,
    )
    from practicum.contracts.messages import Message, ToolCall
    from practicum.contracts.models import ExampleSet, ModelSpec, Provider, Sampling
    from practicum.contracts.tasks import Split, Task, Verdict
    from practicum.contracts.tools import CallStatus, Effect, Observation, Tool
    from practicum.contracts.trajectory import Trajectory, Use
    from practicum.errors import (
        AccessError,
        CallError,
        ConfigurationError,
        ConflictError,
        DocumentError,
        EpisodeError,
        ForbiddenError,
        GatewayUnavailableError,
        InDoubtError,
        MissingExtraError,
        ModelProviderError,
        NotFoundError,
        PracticumError,
        RequestError,
        UnauthenticatedError,
        UpstreamError,
    )

__all__ = [
    "AccessError",
    "ApiKeyAuth",
    "Approval",
    "ApprovalStatus",
    "AsyncEpisodeHandle",
    "AsyncPracticum",
    "BasicAuth",
    "BearerAuth",
    "CallError",
    "CallStatus",
    "Cause",
    "ClientCredentialsAuth",
    "ConfigurationError",
    "ConflictError",
    "ConnectorSpec",
    "DocumentError",
    "Driver",
    "Effect",
    "Episode",
    "EpisodeError",
    "EpisodeEvent",
    "EpisodeHandle",
    "EpisodeMode",
    "EpisodeResult",
    "EpisodeStatus",
    "ExampleSet",
    "ForbiddenError",
    "GatewayUnavailableError",
    "InDoubtError",
    "Limits",
    "Message",
    "MissingExtraError",
    "Mode",
    "ModelProviderError",
    "ModelSpec",
    "NotFoundError",
    "Observation",
    "Outcome",
    "PracticeSpec",
    "Practicum",
    "PracticumError",
    "Provider",
    "RequestError",
    "Role",
    "Rule",
    "RuleSet",
    "Sampling",
    "Split",
    "Task",
    "Tool",
    "ToolCall",
    "Trajectory",
    "UnauthenticatedError",
    "UpstreamError",
    "Use",
    "Verdict",
]

_HOMES = {
    "AccessError": "practicum.errors",
    "ApiKeyAuth": "practicum.contracts.connectors",
    "Approval": "practicum.contracts.access",
    "ApprovalStatus": "practicum.contracts.access",
    "AsyncEpisodeHandle": "practicum.client",
    "AsyncPracticum": "practicum.client",
    "BasicAuth": "practicum.contracts.connectors",
    "BearerAuth": "practicum.contracts.connectors",
    "CallError": "practicum.errors",
    "CallStatus": "practicum.contracts.tools",
    "Cause": "practicum.contracts.episodes",
    "ClientCredentialsAuth": "practicum.contracts.connectors",
    "ConfigurationError": "practicum.errors",
    "ConflictError": "practicum.errors",
    "ConnectorSpec": "practicum.contracts.connectors",
    "DocumentError": "practicum.errors",
    "Driver": "practicum.contracts.episodes",
    "Effect": "practicum.contracts.tools",
    "Episode": "practicum.contracts.episodes",
    "EpisodeError": "practicum.errors",
    "EpisodeEvent": "practicum.contracts.episodes",
    "EpisodeHandle": "practicum.client",
    "EpisodeMode": "practicum.contracts.episodes",
    "EpisodeResult": "practicum.contracts.episodes",
    "EpisodeStatus": "practicum.contracts.episodes",
    "ExampleSet": "practicum.contracts.models",
    "ForbiddenError": "practicum.errors",
    "GatewayUnavailableError": "practicum.errors",
    "InDoubtError": "practicum.errors",
    "Limits": "practicum.contracts.episodes",
    "Message": "practicum.contracts.messages",
    "MissingExtraError": "practicum.errors",
    "Mode": "practicum.contracts.connectors",
    "ModelProviderError": "practicum.errors",
    "ModelSpec": "practicum.contracts.models",
    "NotFoundError": "practicum.errors",
    "Observation": "practicum.contracts.tools",
    "Outcome": "practicum.contracts.access",
    "PracticeSpec": "practicum.contracts.connectors",
    "Practicum": "practicum.client",
    "PracticumError": "practicum.errors",
    "Provider": "practicum.contracts.models",
    "RequestError": "practicum.errors",
    "Role": "practicum.contracts.access",
    "Rule": "practicum.contracts.access",
    "RuleSet": "practicum.contracts.access",
    "Sampling": "practicum.contracts.models",
    "Split": "practicum.contracts.tasks",
    "Task": "practicum.contracts.tasks",
    "Tool": "practicum.contracts.tools",
    "ToolCall": "practicum.contracts.messages",
    "Trajectory": "practicum.contracts.trajectory",
    "UnauthenticatedError": "practicum.errors",
    "UpstreamError": "practicum.errors",
    "Use": "practicum.contracts.trajectory",
    "Verdict": "practicum.contracts.tasks",
}
"""Where each name lives; the imports above say the same to type checkers, and a test compares them."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'practicum' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
