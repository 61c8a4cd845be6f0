"""What a tenant differs in from its declaration, and in which order it is mended."""

from practicum.contracts.access import Outcome, Rule, RuleSet
from practicum.contracts.comparison import ConnectorComparison, Difference, ModelComparison
from practicum.contracts.connectors import Change, ChangeKind, ConnectorSpec
from practicum.contracts.issuers import Issuer
from practicum.contracts.models import ExampleSet, ModelSpec, Provider
from practicum.declaration import HOLD, Do, Plan, Present, WantedTenant, held_by, planned, rule_change

BREAKING = Change(kind=ChangeKind.REMOVED, operation="get", where="", breaking=True)
ALLOW = Rule(id="all", tools=("erp.*",), outcome=Outcome.ALLOW)
ERP = ConnectorSpec(name="erp", source="https://erp.example/openapi.json")
CRM = ConnectorSpec(name="crm", source="https://crm.example/openapi.json")
ISSUER = Issuer.model_validate(
    {"name": "okta", "issuer": "https://okta.example", "audience": "practicum", "roles": {"admins": "admin"}}
)


def model(alias: str, embedder: str | None = None) -> ModelSpec:
    examples = None if embedder is None else ExampleSet(episodes=(), embedder=embedder)
    return ModelSpec(alias=alias, provider=Provider.LITELLM, target="openai/x", examples=examples)


def same(digest: str = "d") -> ConnectorComparison:
    return ConnectorComparison(known=True, digest=digest)


def wanted(**parts: object) -> WantedTenant:
    return WantedTenant(name="main", admin="admin", **parts)  # type: ignore[arg-type]


def told(plan: Plan) -> list[str]:
    return [f"{step.do} {step.what} {step.name}".rstrip() for step in plan.steps]


def test_a_new_connector_comes_while_its_calls_are_denied_and_the_rules_that_allow_come_after_it() -> None:
    wish = wanted(
        connectors=(CRM, ERP), rules=(ALLOW,), issuers=(ISSUER,), models=(model("own", "near"), model("near"))
    )
    new = ConnectorComparison(known=False, digest="d", tools=2)
    unknown = ModelComparison(known=False)
    present = Present(connectors={"crm": same(), "erp": new}, models={"own": unknown, "near": unknown})
    plan = planned(wish, present)
    assert told(plan) == [
        f"hold rules {HOLD}",
        "create connector erp",
        "create model near",
        "create model own",
        "change rules",
        "create issuer okta",
    ]
    hold = rule_change(wish, present).held(held_by(plan.steps)).rules
    assert [(rule.id, rule.outcome, rule.tools) for rule in hold] == [(HOLD, Outcome.DENY, ("erp.*",))]


def test_where_the_rules_stay_nothing_is_held_and_where_nothing_differs_nothing_is_done() -> None:
    wish = wanted(connectors=(ERP,), rules=(ALLOW,))
    rules = RuleSet(rules=(ALLOW,))
    new = ConnectorComparison(known=False, digest="d")
    assert told(planned(wish, Present(rules=rules, connectors={"erp": new}))) == ["create connector erp"]
    assert planned(wish, Present(rules=rules, connectors={"erp": same()})) == Plan()


def test_a_hold_that_an_apply_left_stays_until_the_new_rules_come() -> None:
    wish = wanted(connectors=(ERP,), rules=(ALLOW,))
    left = rule_change(wish, Present()).held(("erp",))
    again = planned(wish, Present(rules=left, connectors={"erp": same()}))
    assert told(again) == ["change rules"]
    more = rule_change(wish, Present(rules=left)).held(("crm",)).rules
    assert [(rule.id, rule.tools) for rule in more] == [(HOLD, ("erp.*", "crm.*"))]
    (told_of,) = planned(wanted(), Present(rules=left)).left
    assert (told_of.name, "declare `rules`" in told_of.why) == (HOLD, True)


def test_a_rule_that_holds_nothing_back_is_told_unless_its_tools_may_still_come() -> None:
    patterns = frozenset({"emp.*", "erp.delete_*"})
    deny = Rule(id="none", tools=("emp.*", "erp.delete_*"), outcome=Outcome.DENY)
    wish = wanted(connectors=(ERP,), rules=(deny, ALLOW))
    there = Present(rules=RuleSet(rules=(deny, ALLOW)), connectors={"erp": same()}, idle=patterns)
    assert [(left.name, left.why.partition("fits ")[2]) for left in planned(wish, there).left] == [
        ("none", "`emp.*`"),
        ("none", "`erp.delete_*`"),
    ]
    new = Present(connectors={"erp": ConnectorComparison(known=False, digest="d")}, idle=patterns)
    assert ["emp" in left.why for left in planned(wish, new).left] == [True]


def test_another_credential_holds_no_calls_and_another_address_does() -> None:
    wish = wanted(connectors=(ERP, CRM), rules=(ALLOW,))
    key = ConnectorComparison(known=True, digest="d", fields=(Difference(where="auth", secret=True),))
    place = ConnectorComparison(known=True, digest="d", fields=(Difference(where="base_url", after="https://x"),))
    plan = planned(wish, Present(connectors={"erp": key, "crm": place}))
    assert told(plan)[1:3] == ["replace connector erp", "replace connector crm"]
    assert held_by(plan.steps) == ("crm",)


def test_what_breaks_calls_waits_and_is_refused_where_it_could_not_wait() -> None:
    wish = wanted(connectors=(ERP,))
    newer = ConnectorComparison(known=True, digest="d", changed=True, held=(BREAKING,))
    waiting = newer.model_copy(update={"changed": False})
    moved = newer.model_copy(update={"fields": (Difference(where="base_url"),)})
    steps = [
        planned(wish, Present(connectors={"erp": found}), accept=accept).steps[0]
        for accept in (False, True)
        for found in (newer, waiting, moved)
    ]
    assert [step.do for step in steps] == [Do.CHANGE, Do.ACCEPT, Do.REPLACE] * 2
    assert [bool(step.waits) for step in steps] == [False, True, False, False, False, False]
    assert [bool(step.refused) for step in steps] == [False, False, True, False, False, False]


def test_what_is_not_declared_is_left_alone_unless_it_shall_go_and_its_issuers_go_first() -> None:
    wish = wanted(connectors=(ERP,), issuers=(), models=())
    present = Present(
        connectors={"erp": ConnectorComparison(known=False, digest="d")},
        connector_names=frozenset({"old"}),
        issuers={"okta": ISSUER},
        model_names=frozenset({"gone"}),
    )
    plan = planned(wish, present)
    assert told(plan) == ["create connector erp"]
    assert [left.name for left in plan.left] == ["old", "gone", "okta"]
    pruned = planned(wish, present, prune=True)
    assert told(pruned) == ["remove issuer okta", "create connector erp", "remove connector old", "remove model gone"]
    silent = planned(wanted(rules=()), present, prune=True)
    assert told(silent) == [], "a section that is not there is not spoken of"


def test_an_alias_that_somebody_promoted_is_never_moved() -> None:
    wish = wanted(models=(model("own"),))

    def do(found: ModelComparison, *, promoted: bool) -> list[str]:
        names = frozenset({"own"} if promoted else ())
        return told(planned(wish, Present(models={"own": found}, promoted=names)))

    other = (Difference(where="target", before="a", after="b"),)
    new = ModelComparison(known=True, names="v1", fields=other)
    old = ModelComparison(known=True, names="v2", version="v1")
    assert do(new, promoted=False) == do(old, promoted=False) == ["change model own"]
    assert do(new, promoted=True) == ["add_version model own"]
    assert do(old, promoted=True) == []
    assert do(ModelComparison(known=True, names="v1", version="v1"), promoted=False) == []


def test_rules_are_told_one_by_one_and_their_order_counts() -> None:
    deny = Rule(id="none", outcome=Outcome.DENY)
    tighter = ALLOW.model_copy(update={"tools": ("erp.get_*",)})
    change = rule_change(wanted(rules=(deny, tighter)), Present(rules=RuleSet(rules=(ALLOW, deny))))
    assert [each.where for each in change.differences] == ["rules.all.tools", "order of rules"]
