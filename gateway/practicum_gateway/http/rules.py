"""Access rules: read them, replace them, ask what they would say."""

from typing import Annotated

from fastapi import APIRouter, Query

from practicum.contracts.access import ExplainRequest, Explanation, Role, RuleSet
from practicum_gateway.access.principals import Actor
from practicum_gateway.access.rules import check
from practicum_gateway.http.bodies import JsonRoute
from practicum_gateway.http.dependencies import Caller, Services
from practicum_gateway.http.problems import documented

router = APIRouter(prefix="/v1/rules", tags=["rules"], route_class=JsonRoute)

Seen = Annotated[
    str | None,
    Query(pattern="^[0-9a-f]{64}$", description="SHA-256 of the set that it shall replace; refused if another is."),
]


@router.get("")
async def rules(house: Services, caller: Caller) -> RuleSet:
    """The rules in force; behind them stand the defaults: reading is allowed, everything else is asked."""
    caller.require(Role.DEVELOPER, Role.APPROVER, Role.AUDITOR, to="see the access rules")
    return await house.rulebook.current()


@router.put("", responses=documented(409))
async def replace(rules: RuleSet, house: Services, caller: Caller, instead_of: Seen = None) -> RuleSet:
    """Put a new set in force at once."""
    caller.require(to="change the access rules")
    return await house.rulebook.replace(rules, caller, instead_of=instead_of)


@router.post("/check")
async def check_only(rules: RuleSet, caller: Caller) -> RuleSet:
    """See whether a set could be put in force; nothing is changed."""
    caller.require(to="change the access rules")
    check(rules)
    return rules


@router.post("/explain")
async def explain(request: ExplainRequest, house: Services, caller: Caller) -> Explanation:
    """What would be decided about a call, by which rule and why; nothing is called."""
    caller.require(Role.DEVELOPER, Role.APPROVER, Role.AUDITOR, to="see the access rules")
    tool = await house.catalogue.tool(request.tool)
    return await house.rulebook.explain(tool, Actor(request.principal or caller.name, request.role), request.arguments)
