"""What a conformance case is: data, so that it can be read, judged and run without reading any code of ours.

A case has a document, how it is registered, perhaps a call and what the system answers, and what must come of it. The
host `system.invalid` stands for a server that the runner starts; what arrives there is compared as it arrived.
"""

import base64
import json
from collections.abc import Iterator
from importlib import resources
from typing import Any, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ChangeKind, Fidelity
from practicum.contracts.tools import CallStatus, Effect

SYSTEM = "system.invalid"
"""Stands for host and port of the system that the runner starts."""


class Part(BaseModel):
    """A part of a case; a misspelled field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Content(Part):
    """Some bytes: text, JSON or base64."""

    text: str | None = None
    value: JsonValue = Field(default=None, alias="json")
    encoded: str | None = Field(default=None, alias="base64")

    @property
    def is_json(self) -> bool:
        """Whether it is given as a JSON value, null included."""
        return "value" in self.model_fields_set

    @property
    def content(self) -> bytes | None:
        """The bytes, None where nothing is given."""
        if self.text is not None:
            return self.text.encode()
        if self.is_json:
            return json.dumps(self.value).encode()
        return None if self.encoded is None else base64.b64decode(self.encoded, validate=True)


class FormPart(Content):
    """One part of a multipart body that must arrive, in its place."""

    name: str
    filename: str | None = None
    media_type: str | None = None


class Wire(Content):
    """A request that must arrive.

    Attributes:
        line: method and target as they stand in the request line; with the whole URL where it goes to another system,
            and then it is compared and not sent.
        headers: those that must arrive with this value, or must not where it is None.
        parts: of a multipart body.
        xml: the body, compared as canonical XML.
    """

    line: str
    headers: dict[str, str | None] = {}
    parts: tuple[FormPart, ...] | None = None
    xml: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _line_alone(cls, given: object) -> object:
        return {"line": given} if isinstance(given, str) else given


class Answer(Content):
    """What the system answers.

    Attributes:
        path: where it answers this; everywhere if None.
        status: HTTP status.
        headers: response headers; JSON gets its content type.
        lost: close the connection instead.
        endless: send the content again and again until the other side hangs up.
        delay: seconds to wait first.
    """

    path: str | None = None
    status: int = 200
    headers: dict[str, str] = {}
    lost: bool = False
    endless: bool = False
    delay: float = 0.0


class File(Content):
    """An artifact that a call may name."""

    media_type: str
    name: str | None = None


class Call(Part):
    """A call of a tool.

    Attributes:
        tool: method and path of the operation; the only one if None.
        arguments: the tool's arguments.
        key: idempotency key.
        times: how often it is made; the last one is looked at.
    """

    tool: str | None = None
    arguments: JsonObject = {}
    key: str | None = None
    times: int = 1


class Reported(Part):
    """What the import report must say of an operation.

    Attributes:
        fidelity: how well it became a tool.
        notes: words that must occur in its notes, in any case of letters.
        effect: its effect.
        mended: whether the report's own patch makes a tool of it.
    """

    fidelity: Fidelity
    notes: tuple[str, ...] = ()
    effect: Effect | None = None
    mended: bool = False


class Offered(Part):
    """What a tool must look like.

    Attributes:
        name: regular expression of the whole exposed name.
        operation: regular expression of the whole operation name.
        effect: what a call does to the world.
        keys: the argument keys, all of them.
        required: the keys asked for, all of them.
        accepts: arguments that its schema must accept.
        rejects: arguments that its schema must not accept.
        described: words that must occur in its description.
        shows: JSON pointers into its schema and the values there; None where nothing may be.
        annotations: MCP annotations that it must carry.
        paged: whether it takes `next`.
    """

    name: str | None = None
    operation: str | None = None
    effect: Effect | None = None
    keys: frozenset[str] | None = None
    required: frozenset[str] | None = None
    accepts: tuple[JsonObject, ...] = ()
    rejects: tuple[JsonObject, ...] = ()
    described: tuple[str, ...] = ()
    shows: dict[str, JsonValue] = {}
    annotations: JsonObject = {}
    paged: bool | None = None


class Seen(Content):
    """What the model must be told.

    Attributes:
        status: how the call ended.
        text: the whole content, if it matters to the letter.
        value: the content as JSON.
        contains: words that must occur in the text.
        lacks: words that must not.
        warnings: words that must occur in the warnings; none may be there if empty.
        truncated: whether something was left out.
        next: the request that the handle for more leads to; there must be no handle if None.
        artifacts: what was kept beside the text, all of it; not looked at if None.
        departures: how often the answer departed from the document.
        limit: most characters of content that the caller allows.
    """

    status: CallStatus = CallStatus.OK
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    truncated: bool = False
    next: Wire | None = None
    artifacts: tuple[File, ...] | None = ()
    departures: int | None = None
    limit: int | None = None


class Changed(Part):
    """A difference between two states of a document.

    Attributes:
        kind: what changed.
        operation: name of the operation; empty where it is of the document as a whole.
        where: the place in it; empty for the operation as a whole.
        breaking: whether it breaks calls.
    """

    kind: ChangeKind
    operation: str
    where: str = ""
    breaking: bool = False


class Expected(Part):
    """What must come of a case; what is not said is not looked at, but a called operation must be exact.

    Attributes:
        error: the document is refused with these words.
        base_url: where calls go.
        report: of all operations, by method and path.
        tools: by method and path.
        definition: the called tool as the case's profile gives it to the provider, all of it.
        served: changes of the newer state that are in force, all of them in their order.
        held: its changes that wait, all of them in their order.
        refused: the call is refused with these words and nothing is sent.
        requests: all that arrives, in order, documents that are fetched not counted; `request` stands for a single one.
        seen: what the model is told of the last call.
    """

    error: tuple[str, ...] | None = None
    base_url: str | None = None
    report: dict[str, Fidelity | Reported] | None = None
    tools: dict[str, Offered] = {}
    definition: JsonObject | None = None
    served: tuple[Changed, ...] | None = None
    held: tuple[Changed, ...] | None = None
    refused: tuple[str, ...] | None = None
    requests: tuple[Wire, ...] | None = None
    seen: Seen | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_request(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        members = dict(cast("dict[str, Any]", given))
        if "request" in members:
            members["requests"] = [members.pop("request")]
        return members


class Case(Part):
    """One case.

    Attributes:
        id: its name.
        about: the construct of OpenAPI or HTTP that it tries.
        document: the document, or its text; `openapi`, `info` and `servers` are filled in where they are absent.
        newer: a newer state of the document, of which is taken what breaks nothing.
        documents: documents beside it, by relative path.
        served: texts that the system serves, by path.
        connector: how it is registered.
        files: artifacts at hand, by id.
        profile: the model provider's profile that the arguments are written in; they are the tool's own if None.
        call: what is called.
        answers: what the system answers, in order, the last one for ever.
        expect: what must come of it.
    """

    id: str
    about: str
    document: JsonObject | str
    newer: JsonObject | None = None
    documents: dict[str, JsonObject] = {}
    served: dict[str, str] = {}
    connector: JsonObject = {}
    files: dict[str, File] = {}
    profile: str | None = None
    call: Call | None = None
    answers: tuple[Answer, ...] = ()
    expect: Expected

    def at(self, authority: str) -> "Case":
        """The case with the system at a place of this machine.

        Args:
            authority: its host and port.
        """
        text = self.model_dump_json(by_alias=True, exclude_unset=True)
        return Case.model_validate_json(text.replace(SYSTEM, authority))


def load_cases() -> dict[str, tuple[Case, ...]]:
    """All cases that come with the package, by the name of their file."""
    folder = resources.files("practicum_connectors.conformance") / "cases"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".yaml")), key=lambda file: file.name)
    return {file.name.removesuffix(".yaml"): read_cases(file.read_text(encoding="utf-8")) for file in files}


def read_cases(text: str) -> tuple[Case, ...]:
    """Cases written as a YAML list.

    Args:
        text: the list.
    """
    return tuple(_cases(yaml.safe_load(text)))


def _cases(entries: Any) -> Iterator[Case]:
    for entry in cast("list[dict[str, Any]]", entries):
        whole = {key: _whole(entry[key]) for key in ("document", "newer") if key in entry}
        yield Case.model_validate_json(json.dumps(entry | whole))  # keys become text, as in JSON


def _whole(document: Any) -> Any:
    """A document with what every document has; one that is given as text stays as it is."""
    if isinstance(document, str):
        return document
    head: dict[str, Any] = {"info": {"title": "Case", "version": "1"}}
    if "swagger" not in document:
        head |= {"openapi": "3.1.0", "servers": [{"url": f"http://{SYSTEM}"}]}
    return head | cast("dict[str, Any]", document)
