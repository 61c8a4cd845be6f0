"""Webhooks: who is told of approvals, for administrators; and the answers that come back, signed."""

from datetime import timedelta
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.security import APIKeyHeader
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from practicum.contracts.access import Approval, Role
from practicum.contracts.webhooks import (
    NewWebhook,
    Webhook,
    WebhookAnswer,
    WebhookAttempt,
    WebhookRequest,
    WebhookRotation,
)
from practicum.errors import RequestError
from practicum_gateway.audit.refusals import Refused
from practicum_gateway.estate import Estate
from practicum_gateway.http.bodies import JsonRoute, read_json
from practicum_gateway.http.dependencies import Caller, Services
from practicum_gateway.http.problems import documented
from practicum_gateway.webhooks.answers import ReplayedError, person_of, require_signed
from practicum_gateway.webhooks.outbox import parted
from practicum_gateway.webhooks.signatures import ID_HEADER, SIGNATURE_HEADER, TIME_HEADER, Envelope

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"], route_class=JsonRoute)
answers = APIRouter(prefix="/v1/approvals", tags=["approvals"])

# Says in the OpenAPI document how to authenticate; `callback` does it.
_signed = APIKeyHeader(
    name=SIGNATURE_HEADER,
    auto_error=False,
    scheme_name="WebhookSignature",
    description="With `webhook-id` and `webhook-timestamp`, as Standard Webhooks 1.0 says.",
)
_MOST_BYTES = 64 * 1024
_REPLAYED = 409
_TOO_LARGE = 413  # its name in http.HTTPStatus changed with Python 3.13
_LONGEST_BASE = 300
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": WebhookAnswer.model_json_schema()}},
    }
}


@router.post("", status_code=201, responses=documented(409))
async def add(request: WebhookRequest, house: Services, caller: Caller, http: Request) -> NewWebhook:
    """Tell a receiver of approvals from now on; its secrets are shown in this answer and never again."""
    caller.require(to="register webhooks")
    base = str(http.base_url).rstrip("/")
    if len(base) > _LONGEST_BASE or not base.isascii():
        raise RequestError("The name of this host is too long.", mend="Set PRACTICUM_PUBLIC_URL.")
    return await house.webhooks.add(request, answers_at=base)


@router.get("")
async def webhooks(house: Services, caller: Caller) -> tuple[Webhook, ...]:
    """The webhooks, by name, with how their latest attempt went."""
    caller.require(Role.AUDITOR, to="list webhooks")
    return await house.webhooks.list()


@router.post("/{name}/test")
async def test(name: str, house: Services, caller: Caller) -> WebhookAttempt:
    """Post a message that tells nothing, once, and say what became of it."""
    caller.require(to="try webhooks")
    return await house.webhooks.test(name)


@router.post("/{name}/rotate", status_code=201)
async def rotate(name: str, request: WebhookRotation, house: Services, caller: Caller) -> NewWebhook:
    """Give a webhook other secrets, beside which the old ones go on for a while; they are shown this once."""
    caller.require(to="exchange the secrets of webhooks")
    return await house.webhooks.rotate(name, timedelta(seconds=request.grace_seconds))


@router.delete("/{name}", status_code=204)
async def remove(name: str, house: Services, caller: Caller) -> None:
    """Tell it nothing any more, and take no answer through it."""
    caller.require(to="remove webhooks")
    await house.webhooks.remove(name)


@answers.post(
    "/{approval_id}/callback", responses=documented(409), openapi_extra=_BODY, dependencies=[Depends(_signed)]
)
async def callback(approval_id: str, request: Request, webhook: Annotated[str, Query()] = "") -> Approval:
    """An answer through a webhook, known by its signature alone: no key is looked at."""
    estate: Estate = request.app.state.estate
    tenant, name = parted(webhook)
    house = estate.house(tenant)
    if house is not None:  # in whose audit log a refusal is counted
        request.state.house = house
    body = await _body(request)
    envelope = Envelope(*(_only(request, header) for header in (ID_HEADER, TIME_HEADER, SIGNATURE_HEADER)))
    receiver = require_signed(None if house is None else house.webhooks.find(name), envelope, body)
    answer = _answer(body)
    person = request.state.principal = person_of(receiver, answer.answered_by)
    if answer.approval != approval_id:
        raise RequestError("The answer is about another approval than its address.", mend="Post it to that one's.")
    house = house or estate.main
    try:
        return await house.answers.take(person, receiver, envelope.id, answer)
    except ReplayedError:
        # Of a conflict the log learns nothing elsewhere, and this one may be an attack.
        client = None if request.client is None else request.client.host
        house.audit.refused(Refused(person.who, f"POST {answers.prefix}/{{approval_id}}/callback", _REPLAYED, client))
        raise


async def _body(request: Request) -> bytes:
    """The bytes that were signed.

    Raises:
        HTTPException: they are more than any answer is, or did not all come.
    """
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MOST_BYTES:
                raise HTTPException(_TOO_LARGE, f"An answer has {_MOST_BYTES} bytes at most.")
    except ClientDisconnect:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "The body did not arrive.") from None
    return bytes(body)


def _only(request: Request, header: str) -> str:
    """A header that came exactly once, else nothing."""
    found = request.headers.getlist(header)
    return found[0] if len(found) == 1 else ""


def _answer(body: bytes) -> WebhookAnswer:
    try:
        return WebhookAnswer.model_validate(read_json(body))
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None
