"""Budgets: what a call or a turn would spend, and from which pots. Pure."""

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase

from pydantic import JsonValue

from practicum.contracts.access import Budget, RuleSet, Share
from practicum.contracts.base import JsonObject
from practicum.contracts.problems import FieldProblem
from practicum.contracts.tools import Tool
from practicum_gateway.access.principals import Actor

_FOR_TOOLS = frozenset({"tools", "effects", "amount"})


@dataclass(frozen=True, slots=True)
class Spending:
    """What would be spent from one pot.

    Attributes:
        budget: the budget.
        pot: who spends together.
        amount: calls, tokens or money; None where the amount of a call cannot be read.
    """

    budget: Budget
    pot: str
    amount: float | None

    @property
    def most(self) -> float:
        """The most that may be spent."""
        return float(self.budget.calls or self.budget.tokens or self.budget.money or 0)


def spendings(
    rules: RuleSet, tool: Tool, actor: Actor, episode: str | None, arguments: JsonObject
) -> tuple[Spending, ...]:
    """What a tool call would spend, from every budget that speaks of it.

    Args:
        rules: what is in force.
        tool: what would be called.
        actor: on whose behalf.
        episode: the episode it belongs to, if it does.
        arguments: what would be sent.
    """
    found: list[Spending] = []
    for budget in rules.budgets:
        pot = None if budget.tokens is not None else _pot(budget, actor, episode)
        if pot is not None and _speaks_of(budget, tool):
            amount = 1.0 if budget.calls is not None else _amount(arguments, budget.amount or "")
            found.append(Spending(budget, pot, amount))
    return tuple(found)


def tokens_of(rules: RuleSet, actor: Actor, episode: str | None, tokens: int) -> tuple[Spending, ...]:
    """What a model's turn spends, from every budget of tokens.

    Args:
        rules: what is in force.
        actor: on whose behalf the model is asked.
        episode: the episode it belongs to, if it does.
        tokens: prompt and completion tokens.
    """
    budgets = [budget for budget in rules.budgets if budget.tokens is not None]
    pots = [(budget, _pot(budget, actor, episode)) for budget in budgets]
    return tuple(Spending(budget, pot, tokens) for budget, pot in pots if pot is not None)


def check_budgets(rules: RuleSet) -> list[FieldProblem]:
    """What is wrong with budgets that could not be applied as written."""
    faults: list[FieldProblem] = []
    taken = {rule.id for rule in rules.rules}
    for position, budget in enumerate(rules.budgets):
        where = f"/budgets/{position}"
        given = [name for name in ("calls", "tokens", "money") if getattr(budget, name) is not None]
        if budget.id in taken:
            faults.append(FieldProblem(where=f"{where}/id", what=f"'{budget.id}' is used twice"))
        taken.add(budget.id)
        if len(given) != 1:
            faults.append(FieldProblem(where=where, what="it needs exactly one of calls, tokens and money"))
        if budget.money is not None and budget.amount is None:
            faults.append(FieldProblem(where=f"{where}/amount", what="money needs the place of a call's amount"))
        if budget.money is None and budget.amount is not None:
            faults.append(FieldProblem(where=f"{where}/amount", what="only money has an amount"))
        if budget.tokens is not None:
            idle = sorted(_FOR_TOOLS & budget.model_fields_set - {"amount"})
            faults.extend(FieldProblem(where=f"{where}/{name}", what="tokens are no tool's") for name in idle)
    return faults


def _speaks_of(budget: Budget, tool: Tool) -> bool:
    return (not budget.effects or tool.effect in budget.effects) and any(
        fnmatchcase(tool.address, pattern) for pattern in budget.tools
    )


def _pot(budget: Budget, actor: Actor, episode: str | None) -> str | None:
    """Who spends together; None where the budget does not speak of this."""
    if budget.principals and not any(fnmatchcase(actor.name, pattern) for pattern in budget.principals):
        return None
    if budget.share is Share.EPISODE:
        return None if episode is None else f"episode:{episode}"
    return "tenant" if budget.share is Share.TENANT else f"principal:{actor.name}"


def _amount(arguments: JsonObject, pointer: str) -> float | None:
    """The amount at a place of the arguments, whatever its sign; None where there is none."""
    value: JsonValue = arguments
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = abs(float(Decimal(str(value).strip())))
    except InvalidOperation:
        return None
    return amount if math.isfinite(amount) else None
