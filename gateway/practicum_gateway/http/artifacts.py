"""Artifacts: what systems answered in bytes, for who asked."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Response

from practicum.contracts.access import Role
from practicum.contracts.audit import Action
from practicum_gateway.access.principals import CALLERS
from practicum_gateway.audit.log import Deed
from practicum_gateway.http.bodies import JsonRoute
from practicum_gateway.http.dependencies import Caller, Services
from practicum_gateway.invocation.intent import scope_of

_BYTES = "application/octet-stream"

_ANSWERED: dict[int | str, dict[str, Any]] = {
    200: {"description": "The bytes, in the media type that the system gave.", "content": {"*/*": {}}}
}

router = APIRouter(prefix="/v1/artifacts", tags=["tools"], route_class=JsonRoute)


@router.get("/{artifact}", response_class=Response, responses=_ANSWERED)
async def get_artifact(
    artifact: str,
    house: Services,
    caller: Caller,
    episode: Annotated[str | None, Query(description="The episode in which it was answered, if it was in one.")] = None,
) -> Response:
    """The bytes of an artifact, as the system gave them; seven days after it was answered they are gone."""
    caller.require(*CALLERS, Role.WORKER, Role.APPROVER, to="fetch artifacts")
    within = episode or caller.episode
    if within is not None:
        await house.episodes.get(caller, within)
    payload = await house.artifacts.get(scope_of(caller, within), artifact)
    await house.audit.note(Deed(Action.ARTIFACT_READ, artifact, episode=within))
    return Response(
        payload.content,
        media_type=payload.media_type if payload.media_type.isascii() else _BYTES,  # a header holds no more
        headers={
            # A file to keep, never a page to show: what a system answers may hold scripts.
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(payload.name or artifact, safe='')}",
            "X-Content-Type-Options": "nosniff",
            "Practicum-Complete": str(payload.complete).lower(),
        },
    )
