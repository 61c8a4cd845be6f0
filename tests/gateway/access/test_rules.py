"""Access rules: one pure function."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from practicum.contracts.access import Outcome, Role, Rule, RuleSet
from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Effect, Tool
from practicum.errors import ForbiddenError, RequestError
from practicum_gateway.access.principals import CALLERS, Actor, Principal
from practicum_gateway.access.rulebook import Rulebook
from practicum_gateway.access.rules import check, decide, explain, revision_of
from practicum_gateway.store.engine import Store

SMALL: JsonObject = {
    "type": "object",
    "required": ["amount"],
    "properties": {"amount": {"type": "number", "maximum": 100}},
}


BOT = Actor("bot", Role.AGENT)


def tool(effect: Effect = Effect.MONEY, connector: str = "erp", operation: str = "create_refund") -> Tool:
    return Tool(
        name=f"{connector}_{operation}",
        connector=connector,
        operation=operation,
        description="",
        input_schema={"type": "object"},
        effect=effect,
        method="POST",
        path="/",
    )


@given(st.sampled_from(Effect), st.sampled_from(Role), st.dictionaries(st.text(), st.integers()))
def test_without_rules_reading_is_allowed_to_callers_and_nothing_else_to_anybody(
    effect: Effect, role: Role, arguments: dict[str, int]
) -> None:
    outcome = decide(RuleSet(), tool(effect), Actor("bot", role), {**arguments}).outcome
    if role not in CALLERS:
        assert outcome is Outcome.DENY
    else:
        assert outcome is (Outcome.ALLOW if effect is Effect.READ else Outcome.ASK)


rules = st.builds(
    Rule,
    id=st.from_regex(r"\A[a-z]{1,5}\Z"),
    tools=st.sampled_from([("*",), ("erp.*",), ("crm.*",), ("*.create_refund",)]),
    effects=st.lists(st.sampled_from(Effect), max_size=2).map(tuple),
    roles=st.lists(st.sampled_from(Role), max_size=2).map(tuple),
    arguments=st.sampled_from([None, SMALL]),
    outcome=st.sampled_from(Outcome),
)


@given(st.lists(rules, max_size=6), st.sampled_from(Effect), st.sampled_from(Role), st.integers(0, 200))
def test_what_moves_money_or_deletes_is_allowed_only_by_a_rule_that_says_so(
    some: list[Rule], effect: Effect, role: Role, amount: int
) -> None:
    decision = decide(RuleSet(rules=tuple(some)), tool(effect), Actor("bot", role), {"amount": amount})
    if decision.outcome is Outcome.ALLOW and effect is not Effect.READ:
        assert any(rule.id == decision.rule and rule.outcome is Outcome.ALLOW for rule in some)
    if role not in CALLERS:
        assert decision.outcome is Outcome.DENY


@given(st.lists(rules, min_size=1, max_size=6), st.sampled_from(Effect), st.sampled_from(sorted(CALLERS)))
def test_a_rule_behind_one_that_matches_everything_says_nothing(some: list[Rule], effect: Effect, role: Role) -> None:
    first = Rule(id="first", outcome=Outcome.DENY)
    decision = decide(RuleSet(rules=(first, *some)), tool(effect), Actor("bot", role), {})
    assert (decision.outcome, decision.rule) == (Outcome.DENY, "first")


def test_arguments_decide() -> None:
    limits = RuleSet(rules=(Rule(id="small", tools=("erp.create_*",), arguments=SMALL, outcome=Outcome.ALLOW),))
    assert decide(limits, tool(), BOT, {"amount": 100}).outcome is Outcome.ALLOW
    assert decide(limits, tool(), BOT, {"amount": 100.01}).outcome is Outcome.ASK
    assert decide(limits, tool(), BOT, {}).outcome is Outcome.ASK
    assert decide(limits, tool(), BOT, {"amount": "1"}).outcome is Outcome.ASK
    assert decide(limits, tool(connector="crm"), BOT, {"amount": 1}).outcome is Outcome.ASK


def test_the_reason_names_the_rule_and_the_tool() -> None:
    decision = decide(RuleSet(rules=(Rule(id="never", outcome=Outcome.DENY),)), tool(), BOT, {})
    assert decision.reason == "Rule 'never' denies erp.create_refund (money)."


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        (Rule(id="a", arguments={"type": 3}, outcome=Outcome.ALLOW), "not a JSON Schema"),
        (Rule(id="a", arguments={"$ref": "http://169.254.169.254/x"}, outcome=Outcome.ALLOW), "leads nowhere"),
        (Rule(id="a", arguments={"$ref": "#"}, outcome=Outcome.ALLOW), "without end"),
        (Rule(id="built-in.read", outcome=Outcome.DENY), "reserved"),
    ],
)
def test_a_rule_that_could_not_be_applied_is_refused(rule: Rule, fault: str) -> None:
    with pytest.raises(RequestError) as caught:
        check(RuleSet(rules=(rule,)))
    assert fault in str(caught.value)
    assert caught.value.errors[0].where.startswith("/rules/0")


def test_two_rules_do_not_share_a_name() -> None:
    twice = Rule(id="a", outcome=Outcome.DENY)
    with pytest.raises(RequestError, match="used twice"):
        check(RuleSet(rules=(twice, twice)))


def test_a_schema_that_cannot_be_evaluated_denies() -> None:
    broken = Rule(id="odd", arguments={"properties": {"a": {"$ref": "#/nowhere"}}}, outcome=Outcome.ALLOW)
    assert decide(RuleSet(rules=(broken,)), tool(), BOT, {"a": 1}).outcome is Outcome.DENY


def test_text_that_wears_a_pattern_out_does_not_slip_past_its_rule() -> None:
    fence = Rule(id="fence", arguments={"properties": {"a": {"pattern": "^(a|a)*$"}}}, outcome=Outcome.ALLOW)
    assert decide(RuleSet(rules=(fence,)), tool(), BOT, {"a": "a" * 60 + "!"}).outcome is Outcome.DENY


def test_principals_are_spoken_of_by_name() -> None:
    bots = RuleSet(rules=(Rule(id="bots", principals=("refund-*",), outcome=Outcome.ALLOW),))
    assert decide(bots, tool(), Actor("refund-bot", Role.AGENT), {}).rule == "bots"
    assert decide(bots, tool(), BOT, {}).rule == "built-in.ask"


def test_an_explanation_says_of_each_rule_why_it_does_not_decide() -> None:
    some = RuleSet(
        rules=(
            Rule(id="crm", tools=("crm.*",), outcome=Outcome.DENY),
            Rule(id="reads", effects=(Effect.READ,), outcome=Outcome.ALLOW),
            Rule(id="people", roles=(Role.DEVELOPER,), outcome=Outcome.ALLOW),
            Rule(id="ann", principals=("ann",), outcome=Outcome.ALLOW),
            Rule(id="small", arguments=SMALL, outcome=Outcome.ALLOW),
            Rule(id="all", outcome=Outcome.DENY),
        )
    )
    found = explain(some, tool(), BOT, {"amount": 200})
    assert [(one.rule, one.matched) for one in found.considered] == [
        ("crm", False),
        ("reads", False),
        ("people", False),
        ("ann", False),
        ("small", False),
        ("all", True),
    ]
    for one, word in zip(
        found.considered, ("erp.create_refund", "money", "agent", "bot", "arguments", "denies"), strict=True
    ):
        assert word in one.reason
    assert (found.decision.rule, found.principal, found.role, found.effect) == ("all", "bot", Role.AGENT, Effect.MONEY)


@given(st.lists(rules, max_size=6), st.sampled_from(Effect), st.sampled_from(Role), st.integers(0, 200))
def test_the_last_rule_looked_at_is_the_only_one_that_matched(
    some: list[Rule], effect: Effect, role: Role, amount: int
) -> None:
    found = explain(RuleSet(rules=tuple(some)), tool(effect), Actor("bot", role), {"amount": amount})
    assert [one.matched for one in found.considered] == [False] * (len(found.considered) - 1) + [True]
    assert found.considered[-1].rule == found.decision.rule


def test_a_rule_has_another_revision_when_it_says_something_else() -> None:
    rule = Rule(id="a", outcome=Outcome.ASK)
    assert revision_of(rule) == revision_of(Rule(id="a", outcome=Outcome.ASK))
    assert revision_of(rule) != revision_of(rule.model_copy(update={"tools": ("erp.*",)}))
    assert decide(RuleSet(rules=(rule,)), tool(), BOT, {}).revision == revision_of(rule)


async def test_the_latest_set_is_in_force_and_a_refused_one_changes_nothing(store: Store) -> None:
    rulebook, admin = Rulebook(store), Principal(name="root", role=Role.ADMIN, key_id="k")
    assert await rulebook.current() == RuleSet()
    strict = RuleSet(rules=(Rule(id="never", outcome=Outcome.DENY),))
    await rulebook.replace(strict, admin)
    with pytest.raises(RequestError):
        await rulebook.replace(RuleSet(rules=(Rule(id="a", arguments={"type": 3}, outcome=Outcome.ALLOW),)), admin)
    assert await Rulebook(store).current() == strict
    await rulebook.replace(RuleSet(), admin)
    assert (await rulebook.decide(tool(Effect.READ), BOT, {})).outcome is Outcome.ALLOW


def test_an_agent_may_not_change_rules() -> None:
    with pytest.raises(ForbiddenError):
        Principal(name="bot", role=Role.AGENT, key_id="k").require(to="change the access rules")
