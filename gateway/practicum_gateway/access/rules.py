"""Access rules: pure functions decide who may call what, and say why."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Self

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing import Registry
from referencing.exceptions import Unresolvable

from practicum.contracts.access import Considered, Decision, Explanation, Outcome, Rule, RuleSet
from practicum.contracts.base import JsonObject
from practicum.contracts.problems import FieldProblem
from practicum.contracts.tools import Effect, Tool
from practicum.errors import RequestError
from practicum_connectors.patterns import SlowPatternError, StrictValidator
from practicum_gateway.access.budgets import check_budgets
from practicum_gateway.access.principals import CALLERS, Actor

BUILT_IN = "built-in."
"""How the ids of the built-in rules begin; no other rule's may."""
DEFAULTS = RuleSet(
    rules=(
        Rule(id="built-in.read", effects=(Effect.READ,), outcome=Outcome.ALLOW),
        Rule(id="built-in.ask", outcome=Outcome.ASK),
    )
)
"""What holds after the last rule: reading is allowed to whoever may call tools, everything else is asked.

Money and deletion are never allowed by default, whatever is added to `Effect` later.
"""
_WORDS = {Outcome.ALLOW: "allows", Outcome.DENY: "denies", Outcome.ASK: "asks a person about"}


def decide(rules: RuleSet, tool: Tool, actor: Actor, arguments: JsonObject) -> Decision:
    """Whether a call may be made, must not be, or has to be asked for; the first rule that matches decides.

    A rule whose arguments schema cannot be evaluated denies: a fence that cannot be read is still a fence.

    Args:
        rules: the rules in force; the defaults stand behind them.
        tool: what would be called.
        actor: on whose behalf.
        arguments: what would be sent.
    """
    return PreparedRules(rules).decide(tool, actor, arguments)


def explain(rules: RuleSet, tool: Tool, actor: Actor, arguments: JsonObject) -> Explanation:
    """What would be decided about a call, and by which rule; arguments as for `decide`."""
    return PreparedRules(rules).explain(tool, actor, arguments)


def possible(rules: RuleSet, tool: Tool, actor: Actor) -> frozenset[Outcome]:
    """What could be decided about calls of a tool, whatever their arguments.

    Args:
        rules: the rules in force; the defaults stand behind them.
        tool: what would be called.
        actor: on whose behalf.
    """
    if actor.role not in CALLERS:
        return frozenset({Outcome.DENY})
    found: set[Outcome] = set()
    for rule in (*rules.rules, *DEFAULTS.rules):
        if _of_another(rule, tool, actor) is None:
            found.add(rule.outcome)
            if rule.arguments is None:
                break
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A rule with what is made of it once: its revision, and what holds arguments against its schema."""

    rule: Rule
    revision: str
    validator: Any

    @classmethod
    def of(cls, rule: Rule) -> Self:
        return cls(rule, revision_of(rule), None if rule.arguments is None else _validator(rule.arguments))


class PreparedRules:
    """A set of rules, ready to decide about many calls; it knows nothing else and changes nothing."""

    def __init__(self, rules: RuleSet) -> None:
        """Prepare rules; the defaults stand behind them."""
        self._rules = tuple(_Prepared.of(rule) for rule in (*rules.rules, *DEFAULTS.rules))

    def decide(self, tool: Tool, actor: Actor, arguments: JsonObject) -> Decision:
        """What is decided about a call; see `decide`."""
        return next(decision for *_, decision in self._looked_at(tool, actor, arguments) if decision is not None)

    def explain(self, tool: Tool, actor: Actor, arguments: JsonObject) -> Explanation:
        """What would be decided about a call, and by which rule."""
        looked = tuple(self._looked_at(tool, actor, arguments))
        decision = looked[-1][2]
        if decision is None:
            raise AssertionError("the last default matches everything")
        return Explanation(
            tool=tool.name,
            address=tool.address,
            effect=tool.effect,
            principal=actor.name,
            role=actor.role,
            decision=decision,
            considered=tuple(
                Considered(rule=rule, matched=decided is not None, reason=reason) for rule, reason, decided in looked
            ),
        )

    def _looked_at(self, tool: Tool, actor: Actor, arguments: JsonObject) -> Iterator[tuple[str, str, Decision | None]]:
        """Rules with a reason each, up to the one that decides; that one with its decision."""
        if actor.role not in CALLERS:
            reason = f"The role '{actor.role}' does not call tools on its own."
            yield "built-in.role", reason, Decision(outcome=Outcome.DENY, rule="built-in.role", reason=reason)
            return
        for prepared in self._rules:
            rule = prepared.rule
            outcome = rule.outcome
            try:
                missed = _why_not(prepared, tool, actor, arguments)
                reason = missed or f"Rule '{rule.id}' {_WORDS[outcome]} {tool.address} ({tool.effect})."
            except (Unresolvable, RecursionError, SlowPatternError):
                missed, outcome = None, Outcome.DENY
                reason = f"The arguments schema of rule '{rule.id}' cannot be evaluated."
            if missed is None:
                decision = Decision(outcome=outcome, rule=rule.id, reason=reason, revision=prepared.revision)
                yield rule.id, reason, decision
                return
            yield rule.id, reason, None


def check(rules: RuleSet) -> None:
    """Refuse rules and budgets that could not be applied as written.

    Raises:
        RequestError: two share an id, an id is reserved, a schema is none, or a budget says what it cannot hold.
    """
    faults: list[FieldProblem] = []
    seen: set[str] = set()
    for position, rule in enumerate(rules.rules):
        where = f"/rules/{position}"
        if rule.id in seen:
            faults.append(FieldProblem(where=f"{where}/id", what=f"'{rule.id}' is used twice"))
        if rule.id.startswith(BUILT_IN):
            faults.append(FieldProblem(where=f"{where}/id", what=f"ids that begin with '{BUILT_IN}' are reserved"))
        seen.add(rule.id)
        if rule.arguments is not None and (fault := _schema_fault(rule.arguments)):
            faults.append(FieldProblem(where=f"{where}/arguments", what=fault))
    faults.extend(check_budgets(rules))
    if faults:
        raise RequestError("The rules cannot be put in force.", errors=tuple(faults), mend="Nothing was changed.")


def revision_of(rule: Rule) -> str:
    """SHA-256 of a rule as it stands, hexadecimal."""
    return hashlib.sha256(rule.model_dump_json().encode()).hexdigest()


def _why_not(prepared: _Prepared, tool: Tool, actor: Actor, arguments: JsonObject) -> str | None:
    """Why a rule does not speak of a call; None where it does."""
    missed = _of_another(prepared.rule, tool, actor)
    if missed is None and prepared.validator is not None and not prepared.validator.is_valid(arguments):
        return "The arguments do not fit its schema."
    return missed


def _of_another(rule: Rule, tool: Tool, actor: Actor) -> str | None:
    """Why a rule speaks of no call of the tool by this actor; None where its arguments decide."""
    if not any(fnmatchcase(tool.address, pattern) for pattern in rule.tools):
        return f"It speaks of {', '.join(rule.tools) or 'no tool'}, not of {tool.address}."
    if rule.effects and tool.effect not in rule.effects:
        return f"It speaks of the effects {', '.join(rule.effects)}, not of {tool.effect}."
    if rule.roles and actor.role not in rule.roles:
        return f"It speaks of the roles {', '.join(rule.roles)}, not of {actor.role}."
    if rule.principals and not any(fnmatchcase(actor.name, pattern) for pattern in rule.principals):
        return f"It speaks of {', '.join(rule.principals)}, not of {actor.name}."
    return None


def _validator(schema: JsonObject) -> Any:
    # An empty registry: a $ref in a rule never makes the gateway fetch anything.
    return StrictValidator(schema, registry=Registry())


def _schema_fault(schema: JsonObject) -> str | None:
    try:
        Draft202012Validator.check_schema(schema)
        _validator(schema).is_valid({})
    except SchemaError as error:
        return f"not a JSON Schema: {error.message}"
    except Unresolvable as error:
        return f"a $ref leads nowhere: {error.ref}"
    except RecursionError:
        return "it refers to itself without end"
    return None
