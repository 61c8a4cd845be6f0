"""Rules are replaced as a whole, and on demand only if they are still those that somebody saw."""

import asyncio

import pytest

from practicum.contracts.access import Outcome, Role, Rule, RuleSet
from practicum.errors import ConflictError
from practicum_gateway.access.principals import Principal
from practicum_gateway.access.rulebook import Rulebook
from practicum_gateway.store.engine import Store

ADMIN = Principal(name="root", role=Role.ADMIN, key_id="k")


def rules(name: str) -> RuleSet:
    return RuleSet(rules=(Rule(id=name, outcome=Outcome.DENY),))


async def test_of_two_who_saw_the_same_set_one_replaces_it(store: Store) -> None:
    rulebook, seen = Rulebook(store), RuleSet().digest
    done = await asyncio.gather(
        *(rulebook.replace(rules(name), ADMIN, instead_of=seen) for name in ("one", "two")), return_exceptions=True
    )
    assert sum(isinstance(each, ConflictError) for each in done) == 1
    present = await rulebook.current()
    assert present in (rules("one"), rules("two"))
    assert await rulebook.replace(RuleSet(), ADMIN, instead_of=present.digest) == RuleSet()
    with pytest.raises(ConflictError):
        await rulebook.replace(rules("three"), ADMIN, instead_of=present.digest)
    assert await Rulebook(store).current() == RuleSet()


def test_what_a_later_version_adds_by_default_changes_no_digest() -> None:
    said = RuleSet.model_validate({"rules": [{"id": "a", "outcome": "deny", "tools": ["*"], "principals": []}]})
    assert said.digest == RuleSet(rules=(Rule(id="a", outcome=Outcome.DENY),)).digest
    assert said.digest != rules("b").digest
