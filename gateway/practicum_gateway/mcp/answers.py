"""Answers as the protocol writes them: tools, results of calls, questions and errors. Pure."""

import json
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any, cast

from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    ListToolsResult,
    TextContent,
    Tool,
)

from practicum.contracts import tools
from practicum.contracts.base import JsonObject
from practicum.contracts.problems import Problem
from practicum.contracts.tools import CallStatus, Observation
from practicum.episode.observations import told
from practicum_connectors.catalogue.profiles.mcp import PARTIAL
from practicum_connectors.patterns import BoundedValidator
from practicum_gateway.mcp.calls import Made
from practicum_gateway.mcp.looks import waiting_text
from practicum_gateway.mcp.shown import definition

CALL_META = "practicum/call"
"""Where a result's `_meta` says how the call ended, and under which idempotency key."""
QUESTION = "go_on"
"""The one input that is asked for: whether to go on waiting."""


def page(shown: Sequence[tools.Tool], cursor: str | None) -> ListToolsResult:
    """A page of the list of tools; it is this caller's alone and holds for the moment."""
    listed = [Tool.model_validate(definition(tool)) for tool in shown]
    return ListToolsResult(tools=listed, next_cursor=cursor, ttl_ms=0, cache_scope="private")


def result(made: Made) -> CallToolResult:
    """What became of a call: the text that a model of our own reads, and the answer itself where it is an object.

    Whatever is not the outcome of a successful call is an error to the client's model, a call that waits as well.
    """
    observation = made.observation
    text = told(observation)
    if observation.status is CallStatus.WAITING and observation.approval is not None and made.tool is not None:
        text = waiting_text(made.tool, observation.approval)
    return CallToolResult(
        content=[TextContent(text=text)],
        structured_content=_described(made, _structured(observation, text)),
        is_error=observation.status is not CallStatus.OK,
        _meta={CALL_META: _about(made)},
    )


def question(tool: str, approval: str) -> InputRequiredResult:
    """Asks whoever sits at the client whether to go on waiting for a person; it is not asked for the yes itself."""
    asked = ElicitRequestFormParams(
        message=(
            f"The call of {tool} waits for somebody else to approve it ({approval}); you cannot approve it yourself. "
            f"Accept to go on waiting, decline to look again some other time."
        ),
        requested_schema={"type": "object", "properties": {}},
    )
    return InputRequiredResult(input_requests={QUESTION: ElicitRequest(params=asked)}, request_state=approval)


def error(problem: Problem) -> MCPError:
    """A problem as an error of the protocol, for what no model can mend."""
    code = INVALID_PARAMS
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        code = INTERNAL_ERROR
    elif problem.status in {HTTPStatus.FORBIDDEN, HTTPStatus.CONFLICT}:
        code = INVALID_REQUEST
    message = problem.detail if problem.mend is None else f"{problem.detail} {problem.mend}"
    return MCPError(code, message, problem.model_dump(mode="json", exclude_none=True))


def _about(made: Made) -> JsonObject:
    observation, undoing = made.observation, made.observation.compensation
    about: JsonObject = {
        "status": observation.status,
        "idempotencyKey": made.key,
        "approval": observation.approval,
        "httpStatus": observation.http_status,
        "next": observation.next,
        "compensation": None if undoing is None else undoing.model_dump(mode="json"),
        "artifacts": [artifact.model_dump(mode="json") for artifact in observation.artifacts] or None,
    }
    return {name: value for name, value in about.items() if value is not None}


def _described(made: Made, value: dict[str, Any] | None) -> dict[str, Any] | None:
    """The answer of a tool that the list describes: as described, or said to be something else.

    A client that checks answers against the list refuses what is neither.
    """
    if (
        made.answers is None
        or made.observation.status is not CallStatus.OK
        or (value is not None and _fits(made, value))
    ):
        return value
    return {PARTIAL: "The answer is in the text: it was cut, or is not as the tool describes it."}


def _fits(made: Made, value: dict[str, Any]) -> bool:
    faults = cast("Iterator[object]", BoundedValidator(made.answers or {}).iter_errors(value))  # pyright: ignore[reportUnknownMemberType]
    try:
        return next(faults, None) is None
    except RecursionError:
        return False


def _structured(observation: Observation, text: str) -> dict[str, Any] | None:
    """The answer as an object, where it is one and nothing was left out or said besides."""
    whole = observation.status is CallStatus.OK and not observation.truncated and text == observation.content
    if not whole or not text.startswith("{"):
        return None
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
