"""What a model is told about a call."""

from dataclasses import dataclass, field

from pydantic import JsonValue

from practicum.contracts.tools import Artifact, CallStatus, Observation
from practicum_connectors.calls import Sent
from practicum_connectors.exchange import HttpResponse, Payload
from practicum_connectors.response.artifacts import keep, keep_payload
from practicum_connectors.response.check import ResponseChecks
from practicum_connectors.response.content import Binary, Content, Streamed, Table, Text, read_content
from practicum_connectors.response.cut import compact, cut_text, fit
from practicum_connectors.response.handles import Handles, Step
from practicum_connectors.response.json_values import Json
from practicum_connectors.response.lists import find_list, list_at, put_list
from practicum_connectors.response.paging import find_paging
from practicum_connectors.response.tables import show_rows

DEFAULT_LIMIT = 20_000
"""Most characters of content, about 5,000 tokens."""

_PART_OF_NAMES = 10
"""What is kept for the names of files that come beside an answer: a tenth."""
_MOST_LEFT_OUT = 8
"""Most sentences about what is left out."""
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
    left_out: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    departures: list[str] = field(default_factory=list[str])
    rest: Step | None = None
    """The same page from where this one was cut."""
    kept: list[tuple[Artifact, Payload]] = field(default_factory=list[tuple[Artifact, Payload]])


class Observer:
    """Turns what came of calls into observations, for the operations of one document."""

    def __init__(self, checks: ResponseChecks, handles: Handles) -> None:
        """Observe nothing yet.

        Args:
            checks: say where answers depart from the document.
            handles: seal the way to the next page.
        """
        self._checks = checks
        self._handles = handles

    def observe(self, sent: Sent, limit: int = DEFAULT_LIMIT) -> Observed:
        """What came of a call; nothing in it is redacted yet.

        Args:
            sent: what came of it.
            limit: most characters of content.
        """
        response = sent.response
        if response is None:
            return Observed(_unanswered(sent))
        draft = _Draft()
        status = _status(sent, response)
        found = None if response.status in _REDIRECTS else read_content(response)
        names = limit // _PART_OF_NAMES if sent.payloads else 0
        _write(sent, response, found, draft, limit - names)
        _write_payloads(sent, response, draft, limit)
        step = None
        if status is CallStatus.OK:
            self._check(sent, response, found, draft)
            step = self._following(sent, response, found, draft)
        _warn(response, status, draft)
        return Observed(
            Observation(
                status=status,
                content=draft.content,
                http_status=response.status,
                truncated=bool(draft.left_out),
                next=None if step is None else self._handles.seal(sent.prepared.tool, step),
                warnings=(*draft.left_out[:_MOST_LEFT_OUT], *draft.departures, *draft.warnings),
                artifacts=tuple(artifact for artifact, _ in draft.kept),
            ),
            tuple((artifact.id, payload) for artifact, payload in draft.kept),
            len(draft.departures),
        )

    def _check(self, sent: Sent, response: HttpResponse, found: Content | None, draft: _Draft) -> None:
        """Where a successful answer departs from the document."""
        operation = sent.prepared.plan.operation
        if isinstance(found, Text) and found.broken and response.complete:
            draft.departures.append("The system announced JSON and sent something else.")
        elif isinstance(found, Json) and isinstance(found.value, dict | list) and response.complete:
            draft.departures.extend(self._checks.warnings(operation, response, found.value))

    def _following(self, sent: Sent, response: HttpResponse, found: Content | None, draft: _Draft) -> Step | None:
        """Where the list goes on: in this page, where it was cut, else in the system's next."""
        paged = sent.prepared.tool.paged
        if paged and draft.rest is not None:
            return draft.rest
        if not (paged or draft.left_out) or not isinstance(found, Json) or not isinstance(found.value, dict | list):
            return None
        paging = find_paging(sent.prepared, response, found.value)
        if not paged and paging.limit:
            draft.warnings.append(f"To see what is left out, ask for fewer items at a time with `{paging.limit}`.")
        return paging.step if paged else None


def _write(sent: Sent, response: HttpResponse, found: Content | None, draft: _Draft, limit: int) -> None:
    """Write the content, and keep as an artifact what is not shown or not wholly."""
    match found:
        case None:
            draft.content = _without_body(sent, response)
        case Json(value=value):
            _write_json(sent, value, draft, limit)
        case Streamed(items=items, kind=kind):
            _write_json(sent, items, draft, limit)
            if kind == "events":
                draft.rest = None  # another reading tells other news
        case Table(text=text):
            _write_rows(sent, text, draft, limit)
        case Text(text=text):
            draft.content, left_out = cut_text(text, limit)
            draft.left_out.extend(left_out)
        case Binary():
            artifact, payload = keep(response)
            draft.kept.append((artifact, payload))
            said = artifact.model_dump(mode="json", exclude_none=True)
            draft.content = compact({"artifact": said, "note": "Binary content, kept as an artifact and not shown."})
    if not response.complete:
        draft.left_out.append(_unread(found))
    if response.body and not draft.kept and (draft.left_out or isinstance(found, Table)) and found is not None:
        draft.kept.append(keep(response))
        draft.warnings.append(f"All of the answer that was read is kept as the artifact {draft.kept[0][0].id}.")


def _write_payloads(sent: Sent, response: HttpResponse, draft: _Draft, limit: int) -> None:
    """Keep what came beside the answer as artifacts, each named in a line as long as there is room."""
    lines = [draft.content] if response.body else []
    room, unnamed = limit - sum(map(len, lines)), 0
    for payload in sent.payloads:
        artifact, kept = keep_payload(payload)
        draft.kept.append((artifact, kept))
        line = compact({"artifact": artifact.model_dump(mode="json", exclude_none=True)})
        room -= len(line) + 1
        if room >= 0:
            lines.append(line)
        else:
            unnamed += 1
    if unnamed:
        draft.left_out.append(f"{unnamed} more artifacts are kept than are named.")
    if sent.payloads:
        draft.content = "\n".join(lines)


def _write_json(sent: Sent, value: JsonValue, draft: _Draft, limit: int) -> None:
    """Write JSON; where its list was shown in part, the items after those come first."""
    skip, at = sent.prepared.skip, sent.prepared.at
    items = list_at(value, at) if skip else None
    if items is None:
        listing = find_list(value)
        skip, at, items = (0, listing.at, listing.items) if listing else (0, (), [])
    else:
        value = put_list(value, at, items[skip:])
        draft.warnings.append(f"{min(skip, len(items))} items before these were shown already.")
    fitted = fit(value, limit)
    draft.content = fitted.text
    draft.left_out.extend(fitted.left_out)
    shown = len(list_at(fitted.value, at) or [])
    if 0 < shown < len(items) - skip:
        draft.rest = Step(sent.prepared.arguments, sent.prepared.query, skip + shown, at)


def _write_rows(sent: Sent, text: str, draft: _Draft, limit: int) -> None:
    skip = sent.prepared.skip
    rows = show_rows(text, limit, skip)
    draft.content = rows.text
    if rows.left or (not skip and len(rows.text) < len(text)):
        draft.left_out.append(f"The table shows {rows.shown} of {rows.shown + rows.left} rows.")
    if rows.left and rows.shown:
        draft.rest = Step(sent.prepared.arguments, sent.prepared.query, skip + rows.shown)


def _warn(response: HttpResponse, status: CallStatus, draft: _Draft) -> None:
    """What the answer as a whole means."""
    if status is CallStatus.IN_DOUBT:
        draft.warnings.append("The system failed after it had received the call: it may have taken effect.")
    wait = response.header("retry-after")
    if status is CallStatus.UNAVAILABLE and wait:
        draft.warnings.append(f"The system asks to wait before the next try (Retry-After: {wait}).")


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
    content = f"{reason} {sent.mend}" if sent.mend else reason
    return Observation(status=CallStatus.UNAVAILABLE, content=content)


def _unread(found: Content | None) -> str:
    if isinstance(found, Streamed):
        return f"The answer is a stream that goes on; {len(found.items)} items of it were read."
    return "The answer was too long to be read to its end."


def _without_body(sent: Sent, response: HttpResponse) -> str:
    location = response.header("location")
    if response.status in _REDIRECTS:
        return f"The system answered {response.status} and points to {location or 'another place'}; it is not followed."
    where = f" See {location}." if location else ""
    done = "Done" if response.status < _REDIRECTS.start else "Refused"
    method = sent.prepared.request.method
    return f"{done}: the system answered {response.status} to the {method} with no content.{where}"
