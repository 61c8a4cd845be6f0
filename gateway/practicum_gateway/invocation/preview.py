"""What a call that waits for a person would change: the record as it stands beside what the call says.

The record is read by a tool of the same system, through the same rules, ledger and audit as any other call.
"""

import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping

from pydantic import JsonValue

from practicum.contracts.access import Approval, FieldChange, Outcome, Preview, Role
from practicum.contracts.base import JsonObject
from practicum.contracts.tools import CallStatus, Effect, Tool
from practicum.errors import PracticumError
from practicum_gateway.access.principals import Actor, Principal
from practicum_gateway.access.rulebook import Rulebook
from practicum_gateway.catalogue.catalogue import Catalogue
from practicum_gateway.invocation.intent import Intent
from practicum_gateway.invocation.pipeline import Pipeline

_VARIABLE = re.compile(r"\{[^{}]*\}")
_NO_READ = "The system has no operation that reads what this call would change."
_UNREAD = "What stands there now could not be read: "
_DELETES = "The call deletes this record."
_BODY = "body"
"""The argument that holds a body whole, where its members cannot be arguments themselves."""


class Previews:
    """Looks at what a call that waits would change."""

    def __init__(self, catalogue: Catalogue, rulebook: Rulebook, pipeline: Pipeline) -> None:
        """Find reads in a catalogue, and make those that a rulebook allows through a pipeline."""
        self._catalogue = catalogue
        self._rulebook = rulebook
        self._pipeline = pipeline

    async def of(self, approval: Approval) -> Preview:
        """What a call would change, read on behalf of whoever wants it: nobody learns more by asking.

        Raises:
            NotFoundError: the tool is gone.
        """
        tool = await self._catalogue.tool(approval.tool)
        reads = await self._catalogue.tools([f"{tool.connector}.*"])
        read = matching_read(tool, reads, approval.arguments)
        if read is None:
            return Preview(note=_NO_READ)
        wanted = properties_of(read)
        given: JsonObject = {name: value for name, value in approval.arguments.items() if name in wanted}
        decision = await self._rulebook.decide(read, Actor(approval.requested_by, Role.AGENT), given)
        if decision.outcome is not Outcome.ALLOW:  # a look must not raise a question of its own
            return Preview(read_with=read.name, note=f"{_UNREAD}{decision.reason}")
        principal = Principal(name=approval.requested_by, role=Role.AGENT, key_id=f"preview of {approval.id}")
        key = f"preview/{approval.id}/{secrets.token_hex(8)}"
        try:
            seen = await self._pipeline.invoke(
                Intent(principal=principal, tool=read.name, arguments=given, key=key, raise_call_errors=True)
            )
        except PracticumError as error:
            return Preview(read_with=read.name, note=f"{_UNREAD}{error.detail}")
        if seen.status is not CallStatus.OK:
            return Preview(read_with=read.name, note=f"{_UNREAD}{seen.content}")
        record = _record(seen.content)
        said = _said({name: value for name, value in approval.arguments.items() if name not in given}, record)
        notes = [
            *(["The record is shown in part."] if seen.truncated else []),
            *([_DELETES] if tool.method == "DELETE" and _shape(tool.path) == _shape(read.path) else []),
        ]
        return Preview(
            read_with=read.name,
            record=seen.content,
            changes=tuple(_changes(record, said)),
            note=" ".join(notes) or None,
        )


def matching_read(tool: Tool, tools: Iterable[Tool], arguments: JsonObject) -> Tool | None:
    """The read of what a call would change: of the same path, else of the nearest one above that names a record.

    Args:
        tool: what would be called.
        tools: the tools of the same system.
        arguments: what would be sent; the read must need nothing else.
    """
    reads = {_shape(one.path): one for one in tools if one.method == "GET" and one.effect is Effect.READ}
    segments = tool.path.rstrip("/").split("/")
    for length in range(len(segments), 0, -1):
        path = "/".join(segments[:length])
        found = reads.get(_shape(path))
        names_a_record = found is not None and bool(_VARIABLE.search(path))
        if found is not None and names_a_record and _required(found) <= arguments.keys():
            return found
    return None


def _changes(record: Mapping[str, JsonValue], said: Mapping[str, JsonValue]) -> Iterator[FieldChange]:
    """What a call says otherwise than the record does."""
    for name, value in said.items():
        if name in record and record[name] != value:
            yield FieldChange(where=name, before=record[name], after=value)
        elif name not in record:
            yield FieldChange(where=name, after=value)


def _said(arguments: JsonObject, record: JsonObject) -> JsonObject:
    """What a call says of a record: its arguments, or the members of the body that is one of them."""
    body = arguments.get(_BODY)
    if not isinstance(body, dict) or _BODY in record:
        return arguments
    return {name: value for name, value in arguments.items() if name != _BODY} | body


def _record(content: str) -> JsonObject:
    """The record in an answer: the object itself, or the only one in it (`{"order": {...}}`), however deep."""
    try:
        value: JsonValue = json.loads(content)
    except ValueError:
        return {}
    while isinstance(value, dict) and len(value) == 1 and isinstance(inner := next(iter(value.values())), dict):
        value = inner
    return value if isinstance(value, dict) else {}


def properties_of(tool: Tool) -> frozenset[str]:
    """Names of a tool's arguments."""
    properties = tool.input_schema.get("properties")
    return frozenset(properties if isinstance(properties, dict) else ())


def _required(tool: Tool) -> frozenset[str]:
    names = tool.input_schema.get("required")
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()


def _shape(path: str) -> str:
    """A path whatever its variables are called."""
    return _VARIABLE.sub("{}", path.rstrip("/"))
