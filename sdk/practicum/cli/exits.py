"""What the exit status of `practicum` means."""

from practicum.contracts.tools import CallStatus
from practicum.errors import (
    AccessError,
    CallError,
    ConfigurationError,
    DocumentError,
    GatewayUnavailableError,
    InDoubtError,
    ModelProviderError,
    PracticumError,
    RequestError,
    UpstreamError,
)

FAILED = 1
INTERRUPTED = 130

_EXITS: tuple[tuple[type[PracticumError], int], ...] = (
    (ConfigurationError, 2),
    (GatewayUnavailableError, 3),
    (AccessError, 4),
    (RequestError, 5),
    (DocumentError, 5),
    (CallError, 5),
    (InDoubtError, 7),
    (UpstreamError, 6),
    (ModelProviderError, 6),
)
"""The first that fits decides, so a narrower error stands before a wider one."""

_OBSERVED = {CallStatus.OK: 0, CallStatus.DENIED: 4, CallStatus.UNAVAILABLE: 6, CallStatus.IN_DOUBT: 7}

EPILOG = """\
**Exit status:** 0 done; 1 the episode, the call or the check failed; 2 wrong usage or settings; 3 the gateway cannot be
reached; 4 access refused; 5 the request was refused (not found, conflict, does not fit); 6 a system or model failed;
7 the outcome is in doubt; 130 interrupted.

**Gateway:** `PRACTICUM_URL` and `PRACTICUM_API_KEY`; without them, the one that `practicum up` started in this folder.
"""


def exit_of(error: PracticumError) -> int:
    """The exit status for an error."""
    return next((status for kind, status in _EXITS if isinstance(error, kind)), FAILED)


def exit_of_call(status: CallStatus) -> int:
    """The exit status for how a tool call stands."""
    return _OBSERVED.get(status, FAILED)
