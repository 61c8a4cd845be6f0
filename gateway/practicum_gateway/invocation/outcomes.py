"""What became of a call, judged by what came back. Pure."""

from collections.abc import Callable
from http import HTTPStatus

from pydantic import JsonValue

from practicum.contracts.access import Approval, ApprovalStatus, Decision
from practicum.contracts.base import JsonObject
from practicum.contracts.tools import CallStatus, Observation
from practicum.errors import BudgetError, PracticumError
from practicum_connectors.calls import PreparedCall, Sent
from practicum_gateway.invocation.entries import Resend

# A repeated call answered like this was stopped at the door: nothing is said about the first one.
_SAYS_NOTHING = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.CONFLICT,
        HTTPStatus.LOCKED,
        HTTPStatus.TOO_EARLY,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)


def resend_of(prepared: PreparedCall) -> Resend:
    """Whether a call could be sent again if its answer were lost."""
    if prepared.safe:
        return Resend.ALWAYS
    return Resend.SOON if prepared.repeatable else Resend.NEVER


def clears_doubt(again: Sent) -> bool:
    """Whether the answer to a repeated call, under the same key, tells what became of the first one."""
    if again.response is None:
        return False
    status = again.response.status
    return status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _SAYS_NOTHING


def refused(decision: Decision) -> Observation:
    """An access rule says no."""
    return Observation(status=CallStatus.DENIED, content=f"This call is not allowed. {decision.reason}")


def over_budget(error: BudgetError) -> Observation:
    """A budget has no room for the call."""
    wait = "" if error.retry_after is None else f" There may be room again in {error.retry_after:.0f} s."
    return Observation(status=CallStatus.DENIED, content=f"This call is not made. {error.detail}{wait}")


def training_refused(connector: str) -> Observation:
    """Training never touches a live system."""
    return Observation(
        status=CallStatus.DENIED,
        content=f"The connector '{connector}' reaches a live system, which training never touches.",
    )


def mendable(error: PracticumError) -> Observation:
    """What is wrong with the call itself, told so that the model can mend it."""
    return Observation(status=CallStatus.ERROR, content=str(error))


def waiting(approval: Approval, key: str) -> Observation:
    """The call waits for a person."""
    return Observation(
        status=CallStatus.WAITING,
        content=(
            f"This call waits for a person to approve it ({approval.id}). Nothing was sent. "
            f"Once it is answered, make the same call again with the idempotency key '{key}'."
        ),
        approval=approval.id,
    )


def unapproved(approval: Approval) -> Observation:
    """A person said no, or nobody said yes in time."""
    said = f" The reason given: {approval.reason}" if approval.reason else ""
    text = {
        ApprovalStatus.DENIED: f"The person who was asked denied this call.{said}",
        ApprovalStatus.EXPIRED: "This call was not approved in time.",
        ApprovalStatus.CANCELLED: "The question whether this call may be made was withdrawn.",
    }.get(approval.status, f"The approval of this call is {approval.status}.")
    return Observation(status=CallStatus.DENIED, content=text, approval=approval.id)


def redacted(value: JsonValue, redact: Callable[[str], str]) -> JsonValue:
    """A JSON value without secrets, in its names as in its values."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [redacted(item, redact) for item in value]
    if isinstance(value, dict):
        return {redact(name): redacted(item, redact) for name, item in value.items()}
    return value


def redacted_object(value: JsonObject, redact: Callable[[str], str]) -> JsonObject:
    """A JSON object without secrets."""
    return {redact(name): redacted(item, redact) for name, item in value.items()}


def as_json(observation: Observation) -> JsonObject:
    """An observation as it goes into an event."""
    return observation.model_dump(mode="json")
