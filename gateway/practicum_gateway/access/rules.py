"""Access rules: one pure function decides who may call what."""

from fnmatch import fnmatchcase
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing import Registry
from referencing.exceptions import Unresolvable

from practicum.contracts.access import Decision, Outcome, Role, Rule, RuleSet
from practicum.contracts.base import JsonObject
from practicum.contracts.problems import FieldProblem
from practicum.contracts.tools import Effect, Tool
from practicum.errors import RequestError
from practicum_connectors.patterns import SlowPatternError, StrictValidator
from practicum_gateway.access.principals import CALLERS

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


def decide(rules: RuleSet, tool: Tool, role: Role, arguments: JsonObject) -> Decision:
    """Whether a call may be made, must not be, or has to be asked for; the first rule that matches decides.

    A rule whose arguments schema cannot be evaluated denies: a fence that cannot be read is still a fence.

    Args:
        rules: the rules in force; the defaults stand behind them.
        tool: what would be called.
        role: on whose behalf.
        arguments: what would be sent.
    """
    if role not in CALLERS:
        return Decision(
            outcome=Outcome.DENY, rule="built-in.role", reason=f"The role '{role}' does not call tools on its own."
        )
    for rule in (*rules.rules, *DEFAULTS.rules):
        if not _speaks_of(rule, tool, role):
            continue
        try:
            matches = rule.arguments is None or _fits(rule.arguments, arguments)
        except (Unresolvable, RecursionError, SlowPatternError):
            reason = f"The arguments schema of rule '{rule.id}' cannot be evaluated."
            return Decision(outcome=Outcome.DENY, rule=rule.id, reason=reason)
        if matches:
            return Decision(outcome=rule.outcome, rule=rule.id, reason=_reason(rule, tool))
    raise AssertionError("the last default matches everything")


def check(rules: RuleSet) -> None:
    """Refuse rules that could not be applied as written.

    Raises:
        RequestError: two rules share an id, an id is reserved, or a schema is none.
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
    if faults:
        raise RequestError("The rules cannot be put in force.", errors=tuple(faults), mend="Nothing was changed.")


def _speaks_of(rule: Rule, tool: Tool, role: Role) -> bool:
    return (
        (not rule.roles or role in rule.roles)
        and (not rule.effects or tool.effect in rule.effects)
        and any(fnmatchcase(tool.address, pattern) for pattern in rule.tools)
    )


def _fits(schema: JsonObject, arguments: JsonObject) -> bool:
    # An empty registry: a $ref in a rule never makes the gateway fetch anything.
    validator: Any = StrictValidator(schema, registry=Registry())
    return bool(validator.is_valid(arguments))


def _schema_fault(schema: JsonObject) -> str | None:
    try:
        Draft202012Validator.check_schema(schema)
        _fits(schema, {})
    except SchemaError as error:
        return f"not a JSON Schema: {error.message}"
    except Unresolvable as error:
        return f"a $ref leads nowhere: {error.ref}"
    except RecursionError:
        return "it refers to itself without end"
    return None


def _reason(rule: Rule, tool: Tool) -> str:
    word = {Outcome.ALLOW: "allows", Outcome.DENY: "denies", Outcome.ASK: "asks a person about"}[rule.outcome]
    return f"Rule '{rule.id}' {word} {tool.address} ({tool.effect})."
