"""A gateway that knows the shop, and callers of it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from practicum.contracts.access import Outcome, Role, Rule, RuleSet
from practicum_gateway.access.principals import Principal
from practicum_gateway.house import House
from practicum_gateway.invocation.intent import Intent
from tests.gateway.conftest import spec_of
from tests.gateway.shop import Shop

ADMIN = Principal(name="root", role=Role.ADMIN, key_id="k0")
BOT = Principal(name="bot", role=Role.AGENT, key_id="k1")
BOB = Principal(name="bob", role=Role.APPROVER, key_id="k2")
FREE = RuleSet(rules=(Rule(id="free", outcome=Outcome.ALLOW),))


def call(tool: str, arguments: dict[str, Any], key: str = "k", principal: Principal = BOT, **more: Any) -> Intent:
    return Intent(principal=principal, tool=tool, arguments=arguments, key=key, **more)


@pytest.fixture
async def stocked(house: House, shop: Shop) -> AsyncIterator[House]:
    """A house in which the shop is registered and the default rules hold."""
    await house.catalogue.register(spec_of(shop))
    yield house
    shop.released.set()


@pytest.fixture
async def free(stocked: House) -> House:
    """The same with every call allowed."""
    await stocked.rulebook.replace(FREE, ADMIN)
    return stocked
