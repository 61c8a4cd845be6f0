"""The families of tasks: each draws one task's start state, reference solution and expected change."""

from examples.tasks.families import customers, orders, services
from examples.tasks.sketch import Family

FAMILIES: dict[str, Family] = {
    "broken_order": orders.broken_order,
    "cancel_and_note": orders.cancel_and_note,
    "release_if_green": services.release_if_green,
    "open_ticket": customers.open_ticket,
    "refund_full": orders.refund_full,
    "change_email": customers.change_email,
    "customer_email": orders.customer_email,
    "retry_build": services.retry_build,
    "failed_test": services.failed_test,
    "refund_amount": orders.refund_amount,
    "cancel_order": orders.cancel_order,
    "order_status": orders.order_status,
    "stock_level": orders.stock_level,
    "rollback_service": services.rollback_service,
}
"""By name, the longest first: these get the tasks that are left over when a split does not divide evenly."""
