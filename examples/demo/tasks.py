"""Which tasks the demo shows: fixed ones of the held-out split, which no training has seen."""

from examples.tasks import SUITE
from practicum.contracts.tasks import Split, Task

_SHOWN = (
    "orders.held_out.broken_order.0",
    "orders.held_out.release_if_green.0",
    "orders.held_out.refund_full.0",
    "orders.held_out.customer_email.0",
)


def shown_tasks() -> tuple[Task, ...]:
    """The demo's tasks in the order of showing: an order, a release, a refund that asks a person, a question."""
    by_id = {task.id: task for task in SUITE.tasks(Split.HELD_OUT)}
    return tuple(by_id[task] for task in _SHOWN)
