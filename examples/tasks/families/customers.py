"""Tasks about customers and their tickets."""

from examples.systems.store import State
from examples.tasks.sketch import Brief, Sketch, call, created, updated

_CUSTOMERS = 6
_PRIORITIES = ("low", "normal", "high")


def _named_customer(brief: Brief) -> tuple[State, str, str]:
    """A CRM, and the id and the name of the customer that a task is about."""
    crm = brief.company.crm(_CUSTOMERS)
    customer = brief.company.draw.choice(list(crm["customers"]))
    return crm, customer, str(crm["customers"][customer]["name"])


def change_email(brief: Brief) -> Sketch:
    """Find a customer by name and change the email address: two calls."""
    crm, customer, name = _named_customer(brief)
    email = brief.company.new_email(name, str(crm["customers"][customer]["email"]))
    return Sketch(
        words={"name": name, "email": email},
        start={"crm": crm},
        calls=(
            call("crm_find_customers", name=name),
            call("crm_update_customer", customer_id=customer, email=email),
        ),
        conclusion=f"The email of {name} is now {email}",
        entities=(f"customer {customer}", f"name {name}", f"email {email}"),
        expected=(updated(f"crm/customers/{customer}", email=email),),
    )


def open_ticket(brief: Brief) -> Sketch:
    """Find a customer by name and open a ticket: two calls."""
    crm, customer, name = _named_customer(brief)
    subject, priority = brief.company.draw.choice(brief.company.words.subjects), _PRIORITIES[brief.turn % 3]
    return Sketch(
        words={"name": name, "subject": subject, "priority": priority},
        start={"crm": crm},
        calls=(
            call("crm_find_customers", name=name),
            call("crm_create_ticket", customer_id=customer, subject=subject, priority=priority),
        ),
        conclusion=f"I opened a {priority} priority ticket for {name}.",
        entities=(f"customer {customer}", f"name {name}", f"subject {subject}"),
        expected=(
            created(
                "crm/tickets",
                customer_id=customer,
                priority=priority,
                status="open",
                mentions={"subject": subject},
            ),
        ),
    )
