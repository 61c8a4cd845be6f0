"""Draws the state of a small company: who its customers are, what they ordered, what its services run."""

import random
from collections.abc import Sequence

from examples.systems.store import Row, State
from examples.systems.vocabulary import HELD_OUT, TRAIN, Vocabulary

_STATUSES = ("open", "paid", "paid", "shipped", "delivered", "delivered", "cancelled")
_PRICES = (950, 29_950)
"""Cheapest and dearest product in cents."""


class Company:
    """Draws records whose numbers, names and words come from one vocabulary; none is drawn twice."""

    def __init__(self, draw: random.Random, words: Vocabulary) -> None:
        """Start with nothing drawn.

        Args:
            draw: the source of chance; the same seed gives the same company.
            words: what may be drawn.
        """
        self.draw = draw
        self.words = words
        self._used: set[str] = set()

    def number(self, low: int, high: int) -> int:
        """A number of this vocabulary from `low` to `high`, not drawn before."""
        while True:
            number = self.draw.randint(low, high)
            if self.words.takes(number) and self._unused(str(number)):
                return number

    def reserve(self, number: int) -> None:
        """Keep a number from being drawn."""
        self._used.add(str(number))

    def name(self) -> str:
        """A customer's name, not drawn before."""
        while True:
            name = f"{self.draw.choice(self.words.first_names)} {self.draw.choice(self.words.last_names)}"
            if self._unused(name):
                return name

    def email(self, name: str) -> str:
        """An address for this name."""
        first, _, last = name.lower().partition(" ")
        local = self.draw.choice((first, last, f"{first}.{last}"))
        return f"{local}@{self.draw.choice(self.words.domains)}"

    def new_email(self, name: str, old: str) -> str:
        """Another address for this name than the old one."""
        while (email := self.email(name)) == old:
            pass
        return email

    def amount(self, low: int, high: int) -> float:
        """An amount of money between two amounts in cents, a multiple of five cents."""
        return self.draw.randrange(low, high + 1, 5) / 100

    def crm(self, customers: int) -> State:
        """A CRM with so many customers."""
        ids = sorted(f"C{self.number(100, 999)}" for _ in range(customers))
        return {"customers": {key: self._customer() for key in ids}, "notes": {}, "tickets": {}}

    def erp(self, customers: Sequence[str], orders: int, products: int) -> State:
        """An ERP with so many orders of these customers, and so many products."""
        shelf: dict[str, Row] = {
            f"P{self.number(100, 999)}": {
                "name": self.draw.choice(self.words.products),
                "price": self.amount(*_PRICES),
                "stock": self.draw.randint(0, 80),
            }
            for _ in range(products)
        }
        numbers = sorted(self.number(1000, 4999) for _ in range(orders))
        book = {str(number): self.order(self.draw.choice(customers), shelf) for number in numbers}
        return {"products": shelf, "orders": book, "refunds": {}, "messages": {}}

    def order(self, customer: str, shelf: dict[str, Row], status: str | None = None) -> Row:
        """An order of this customer; the status is drawn unless given."""
        status = status or self.draw.choice(_STATUSES)
        sku = self.draw.choice(sorted(shelf))
        quantity = self.draw.randint(1, 3)
        paid = 0.0 if status == "open" else round(float(shelf[sku]["price"] or 0) * quantity, 2)
        return {
            "customer_id": customer,
            "sku": sku,
            "quantity": quantity,
            "status": status,
            "paid": paid,
            "refunded": 0.0,
        }

    def cicd(self, services: int, wanted: str | None = None) -> State:
        """A system with so many services, `wanted` among them: each with two builds that were live and a new one."""
        others = [name for name in self.words.services if name != wanted]
        names = sorted(
            [wanted, *self.draw.sample(others, services - 1)] if wanted else self.draw.sample(others, services)
        )
        state: State = {"services": {}, "builds": {}, "deployments": {}}
        for name in names:
            previous, live, latest = sorted(self.number(200, 999) for _ in range(3))
            state["services"][name] = {"live_build": live, "previous_build": previous}
            for build in (previous, live):
                state["builds"][str(build)] = self.build(name, "passed")
            state["builds"][str(latest)] = self.build(name, self.draw.choice(("passed", "failed")))
        return state

    def build(self, service: str, status: str) -> Row:
        """A build of this service that ended so."""
        failed = self.draw.choice(self.words.tests) if status == "failed" else None
        return {"service": service, "status": status, "failed_test": failed, "retry_of": None}

    def _customer(self) -> Row:
        name = self.name()
        return {"name": name, "email": self.email(name), "city": self.draw.choice(self.words.cities)}

    def _unused(self, word: str) -> bool:
        if word in self._used:
            return False
        self._used.add(word)
        return True


def seed_states(seed: int) -> dict[str, State]:
    """What the three systems begin with when they run as processes: one company, the same for the same seed."""
    draw = random.Random(seed)
    words = Vocabulary(
        first_names=TRAIN.first_names + HELD_OUT.first_names,
        last_names=TRAIN.last_names + HELD_OUT.last_names,
        cities=TRAIN.cities + HELD_OUT.cities,
        domains=TRAIN.domains + HELD_OUT.domains,
        products=TRAIN.products + HELD_OUT.products,
        services=TRAIN.services + HELD_OUT.services,
        tests=TRAIN.tests + HELD_OUT.tests,
        subjects=TRAIN.subjects + HELD_OUT.subjects,
        takes=lambda _number: True,
    )
    company = Company(draw, words)
    crm = company.crm(40)
    return {"crm": crm, "erp": company.erp(list(crm["customers"]), 60, 20), "cicd": company.cicd(8)}
