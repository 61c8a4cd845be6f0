"""What a model is told about a call."""

import json
from dataclasses import dataclass, field

from pydantic import JsonValue

from practicum.contracts.tools import CallStatus, Observation
from practicum_connectors.calls import Sent
from practicum_connectors.exchange import HttpResponse, Payload
from practicum_connectors.response.check import ResponseChecks
from practicum_connectors.response.content import Binary, Json, Text, read_content
from practicum_connectors.response.cut import compact, cut_text, fit
from practicum_connectors.response.paging import find_paging

DEFAULT_LIMIT = 20_000
"""Most characters of content, about 5,000 tokens."""

_REDIRECTS = range(300, 400)
_CLIENT_ERRORS = range(400, 500)
_TOO_MANY = 429
_NOT_MODIFIED = 304


@dataclass(frozen=True, slots=True)
class Observed:
    """What came of a call, in the form that goes to the model and into the house.

    Attributes:
        observation: what the model is told.
        payloads: the bytes of the observation's artifacts, by their id.
        departures: in how many points the answer departs from the document.
    """

    observation: Observation
    payloads: tuple[tuple[str, Payload], ...] = ()
    departures: int = 0


@dataclass(slots=True)
class _Draft:
    """An observation in the making."""

    content: str = ""
    truncated: bool = False
    warnings: list[str] = field(default_factory=list[str])


class Observer:
    """Turns what came of calls into observations, for the operations of one document."""

    def __init__(self, checks: ResponseChecks) -> None:
        """Observe nothing yet.

        Args:
            checks: say where answers depart from the document.
        """
        self._checks = checks

    def observe(self, sent: Sent, limit: int = DEFAULT_LIMIT) -> Observed:
        """What came of a call; nothing in it is redacted yet.

        Args:
            sent: what came of it.
            limit: most characters of content.
        """
        if sent.response is None:
            return Observed(_unanswered(sent))
        draft = _Draft()
        value = self._content(sent, sent.response, draft, limit)
        status = _status(sent, sent.response)
        following, departures = None, list[str]()
        if status is CallStatus.OK and isinstance(value, dict | list):
            departures = self._checks.warnings(sent.prepared.plan.operation, sent.response, value)
            draft.warnings.extend(departures)
            paging = find_paging(sent.prepared.plan, sent.prepared.arguments, sent.response, value)
            if paging.next is not None and not draft.truncated:
                following = json.dumps(paging.next, ensure_ascii=False)
            if draft.truncated and paging.limit:
                draft.warnings.append(f"To see what is left out, ask for fewer items at a time with `{paging.limit}`.")
        if status is CallStatus.IN_DOUBT:
            draft.warnings.append("The system failed after it had received the call: it may have taken effect.")
        wait = sent.response.header("retry-after")
        if status is CallStatus.UNAVAILABLE and wait:
            draft.warnings.append(f"The system asks to wait before the next try (Retry-After: {wait}).")
        observation = Observation(
            status=status,
            content=draft.content,
            http_status=sent.response.status,
            truncated=draft.truncated,
            next=following,
            warnings=tuple(draft.warnings),
        )
        return Observed(observation, departures=len(departures))

    @staticmethod
    def _content(sent: Sent, response: HttpResponse, draft: _Draft, limit: int) -> JsonValue:
        """Write the content; give the body back if it is JSON."""
        found = read_content(response)
        value: JsonValue = None
        left_out: list[str] = []
        match found:
            case None:
                draft.content = _without_body(sent, response)
            case Json(value=value):
                draft.content, left_out = fit(value, limit)
            case Text(text=text, broken=broken):
                draft.content, left_out = cut_text(text, limit)
                if broken:
                    draft.warnings.append("The system announced JSON and sent something else.")
            case Binary():
                draft.content = _artifact(found, response)
        if not response.complete:
            left_out.append("The answer was too long to be read to its end.")
        if response.status in _REDIRECTS and found is not None:
            draft.content = _without_body(sent, response)
        draft.truncated = bool(left_out)
        draft.warnings.extend(left_out)
        return value


def _status(sent: Sent, response: HttpResponse) -> CallStatus:
    if sent.in_doubt:
        return CallStatus.IN_DOUBT
    if response.status == _TOO_MANY or response.status >= _CLIENT_ERRORS.stop:
        return CallStatus.UNAVAILABLE
    if response.status in _CLIENT_ERRORS or (response.status in _REDIRECTS and response.status != _NOT_MODIFIED):
        return CallStatus.ERROR
    return CallStatus.OK


def _unanswered(sent: Sent) -> Observation:
    reason = sent.reason or "The system gave no answer."
    if sent.in_doubt:
        content = f"{reason} The call was sent and may have taken effect; do not repeat it before you have looked."
        return Observation(status=CallStatus.IN_DOUBT, content=content)
    return Observation(status=CallStatus.UNAVAILABLE, content=reason)


def _without_body(sent: Sent, response: HttpResponse) -> str:
    location = response.header("location")
    if response.status in _REDIRECTS:
        return f"The system answered {response.status} and points to {location or 'another place'}; it is not followed."
    where = f" See {location}." if location else ""
    done = "Done" if response.status < _REDIRECTS.start else "Refused"
    method = sent.prepared.request.method
    return f"{done}: the system answered {response.status} to the {method} with no content.{where}"


def _artifact(found: Binary, response: HttpResponse) -> str:
    described: dict[str, JsonValue] = {"media_type": found.media_type, "bytes": found.size}
    if found.name:
        described["name"] = found.name
    if not response.complete:
        described["complete"] = False
    return compact({"artifact": described, "note": "Binary content, not shown."})
