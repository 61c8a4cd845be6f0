"""How one set of rules becomes another, and what holds meanwhile."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from practicum.contracts.access import Budget, Outcome, Rule, RuleSet
from practicum.contracts.base import JsonObject
from practicum.contracts.comparison import Difference, differences

HOLD = "apply-hold"
"""Id of the rule that denies the calls of connectors that are being changed. It goes when the new rules come."""
_ALL = ".*"


@dataclass(frozen=True, slots=True)
class RuleChange:
    """The rules in force and those that shall be.

    Attributes:
        present: in force, perhaps with a hold that an apply left which did not come to its end.
        wanted: those that shall be.
    """

    present: RuleSet
    wanted: RuleSet

    @property
    def differences(self) -> tuple[Difference, ...]:
        """What they say differently, rule by rule; the order counts."""
        return (
            *_of("rules", self.present.rules, self.wanted.rules),
            *_of("budgets", self.present.budgets, self.wanted.budgets),
        )

    def held(self, connectors: Sequence[str]) -> RuleSet:
        """The rules in force until the new ones come: calls of these connectors are denied, all else is as before.

        What an apply that did not come to its end has left denied goes on being denied.
        """
        tools = tuple(f"{name}{_ALL}" for name in dict.fromkeys((*denied_by(self.present), *connectors)))
        hold = Rule(id=HOLD, tools=tools, outcome=Outcome.DENY)
        return self.present.model_copy(update={"rules": (hold, *_without_hold(self.present.rules))})


def denied_by(rules: RuleSet) -> tuple[str, ...]:
    """Connectors whose calls a hold in these rules denies."""
    return tuple(tool.removesuffix(_ALL) for rule in rules.rules if rule.id == HOLD for tool in rule.tools)


def holding_back(rules: Sequence[Rule] | None, budgets: Sequence[Budget] | None) -> Iterator[tuple[str, str]]:
    """What is meant to hold calls back: the ids of rules that deny or ask and of budgets, each with a tool pattern."""
    for each in (*(rule for rule in rules or () if rule.outcome is not Outcome.ALLOW), *(budgets or ())):
        yield from ((each.id, pattern) for pattern in each.tools if pattern != "*")


def change_of(present: RuleSet, rules: Sequence[Rule] | None, budgets: Sequence[Budget] | None) -> RuleChange:
    """How the rules change; what is not spoken of stays.

    Args:
        present: in force.
        rules: as they shall be; None leaves them.
        budgets: likewise.
    """
    wanted = RuleSet(
        rules=present.rules if rules is None else tuple(rules),
        budgets=present.budgets if budgets is None else tuple(budgets),
    )
    return RuleChange(present, wanted)


def _without_hold(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules if rule.id != HOLD)


def _of(
    section: str, before: Sequence[Rule] | Sequence[Budget], after: Sequence[Rule] | Sequence[Budget]
) -> Iterator[Difference]:
    old, new = ({each.id: _said(each) for each in side} for side in (before, after))
    for name in dict.fromkeys((*old, *new)):
        if name in old and name in new:
            yield from differences(old[name], new[name], f"{section}.{name}")
        else:
            yield Difference(where=f"{section}.{name}", before=old.get(name), after=new.get(name))
    stayed, stays = [each for each in old if each in new], [each for each in new if each in old]
    if stayed != stays:
        yield Difference(where=f"order of {section}", before=[*stayed], after=[*stays])


def _said(each: Rule | Budget) -> JsonObject:
    said: JsonObject = json.loads(each.model_dump_json(exclude={"id"}, exclude_defaults=True))
    return said
