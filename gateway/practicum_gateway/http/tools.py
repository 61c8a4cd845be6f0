"""Tools: list, search, call."""

from typing import Annotated

from fastapi import APIRouter, Query

from practicum.contracts.access import Role
from practicum.contracts.tools import CallRequest, Observation, ProfiledTool, Tool
from practicum.errors import NotFoundError
from practicum_gateway.access.principals import CALLERS, Principal
from practicum_gateway.house import House
from practicum_gateway.http.bodies import JsonRoute
from practicum_gateway.http.dependencies import Caller, Limit, Services
from practicum_gateway.http.problems import documented
from practicum_gateway.invocation.intent import Intent
from practicum_gateway.models.tool_forms import profiled
from practicum_gateway.store.engine import new_id

router = APIRouter(prefix="/v1/tools", tags=["tools"], route_class=JsonRoute)


@router.get("")
async def tools(
    house: Services,
    caller: Caller,
    pattern: Annotated[list[str] | None, Query(description="Glob over `connector.operation`.")] = None,
    query: Annotated[str | None, Query(max_length=1000, description="Words; the best fit comes first.")] = None,
    limit: Limit = 100,
) -> tuple[Tool, ...]:
    """The tools there are, by name or best fit first; with an episode key, those of its episode."""
    caller.require(*CALLERS, Role.WORKER, Role.APPROVER, to="list tools")
    patterns, within = tuple(pattern or ("*",)), await _of_episode(house, caller)
    if query is None:
        return await house.catalogue.tools(patterns, limit, within)
    return await house.catalogue.search(query, limit, patterns, within)


@router.get("/{name}")
async def tool(
    name: str,
    house: Services,
    caller: Caller,
    profile: Annotated[str | None, Query(description="A provider's form, such as `openai_strict`.")] = None,
) -> Tool | ProfiledTool:
    """One tool, by exposed name or `connector.operation`; with a profile, as that family of providers takes it.

    An episode key sees those of its episode.
    """
    caller.require(*CALLERS, Role.WORKER, Role.APPROVER, to="see tools")
    found, within = await house.catalogue.tool(name), await _of_episode(house, caller)
    if within is not None and found.name not in within:
        raise NotFoundError(f"The episode has no tool '{found.name}'.", mend="List the tools to see their names.")
    return found if profile is None else profiled(found, profile)


@router.post("/{name}/call", responses=documented(409, 429, 502))
async def call(name: str, request: CallRequest, house: Services, caller: Caller) -> Observation:
    """Call a tool, once; a repeated idempotency key returns the recorded outcome.

    The answer is 200 whenever there is an observation, also when the system refused, a rule denied, or a person is
    asked first.
    """
    return await house.pipeline.invoke(await _intent(house, caller, name, request))


async def _of_episode(house: House, caller: Principal) -> set[str] | None:
    """Exposed names of the tools that an episode key may see; None for the keys of other roles, which see all."""
    if caller.episode is None:
        return None
    return {tool.name for tool in (await house.episodes.stored(caller, caller.episode)).tools}


async def _intent(house: House, caller: Principal, name: str, request: CallRequest) -> Intent:
    if caller.episode is None:
        return Intent(
            principal=caller,
            tool=name,
            arguments=request.arguments,
            key=request.idempotency_key or new_id("call"),
            raise_call_errors=True,
            fresh=request.idempotency_key is None,
        )
    stored = await house.episodes.stored(caller, caller.episode)
    placed = await house.chat.place(stored, name)
    return Intent(
        principal=caller,
        tool=placed.tool.name,
        arguments=request.arguments,
        key=request.idempotency_key or placed.key,
        episode=placed.episode,
        step=placed.step,
        call=placed.call,
        mode=placed.mode,
        raise_call_errors=True,
        fresh=request.idempotency_key is None,
    )
