"""Notices: what the gateways on one PostgreSQL database tell each other. On SQLite there is nobody to tell.

A notice is sent in the transaction of what it tells of, so that it is heard once that holds, and not otherwise.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncSession

from practicum.contracts.tenants import MAIN

CHANNEL = "practicum"
"""On which all of them listen."""
SCHEMA = "practicum_tenant_"
"""How the schemas of tenants begin."""
_MOST_BYTES = 6_000
"""PostgreSQL takes 8,000 in a notice."""
_TELL = text(
    "SELECT pg_notify(:channel, json_build_array(current_setting('application_name'), current_schema(), "
    "CAST(:topic AS text), CAST(:subject AS text))::text)"
).bindparams(channel=CHANNEL)


class Topic(StrEnum):
    """Of what others have to hear."""

    RULES = "rules"
    KEYS = "keys"
    ISSUERS = "issuers"
    CONNECTORS = "connectors"
    WEBHOOKS = "webhooks"
    SEALS = "seals"
    """Another data key seals; the subject is its id."""
    TENANTS = "tenants"
    LEAVING = "leaving"
    """A tenant, the subject, is about to be removed."""
    CANCELLED = "cancelled"
    """An episode, the subject, was ended before it was done."""
    EVENTS = "events"
    """Episodes, by their ids, have further events. Sent behind the transaction: who missed it looks anyway."""
    MESSAGES = "messages"
    """Messages to webhooks are due; sent as `EVENTS` are."""


@dataclass(frozen=True, slots=True)
class Notice:
    """What was heard.

    Attributes:
        sender: the gateway that told it, by its boot.
        tenant: of which tenant it is.
        topic: of what; one that is not among the topics comes from a newer release.
        subject: of which one.
    """

    sender: str
    tenant: str
    topic: str
    subject: str


def tell_on(connection: Connection, topic: Topic, subject: str = "") -> None:
    """Tell the other gateways something about this tenant, once the transaction of this connection is committed."""
    if connection.dialect.name == "postgresql":
        connection.execute(_TELL, {"topic": topic, "subject": subject})


async def tell(session: AsyncSession, topic: Topic, subject: str = "") -> None:
    """`tell_on` for a session."""
    await session.run_sync(lambda within: tell_on(within.connection(), topic, subject))


def payloads(sender: str, topic: Topic, subjects: Iterable[tuple[str, str]]) -> list[str]:
    """Notices outside of a transaction, as few as hold them.

    Args:
        sender: who tells.
        topic: of what.
        subjects: tenants, each with the id of something of it.
    """
    of_tenant: dict[str, list[str]] = {}
    for tenant, subject in subjects:
        of_tenant.setdefault(tenant, []).append(subject)
    return [
        json.dumps([sender, schema_of(tenant), topic, part])
        for tenant, ids in of_tenant.items()
        for part in _parts(ids)
    ]


def notice_of(payload: str) -> Notice:
    """A notice as it was sent."""
    sender, schema, topic, subject = json.loads(payload)
    tenant = schema.removeprefix(SCHEMA) if schema.startswith(SCHEMA) else MAIN
    return Notice(sender, tenant, topic, subject)


def schema_of(tenant: str) -> str:
    """The schema of a tenant; the main one's is whatever the database gives, and nothing here."""
    return "" if tenant == MAIN else f"{SCHEMA}{tenant}"


def _parts(ids: Iterable[str]) -> list[str]:
    parts: list[str] = [""]
    for each in ids:
        if len(parts[-1]) + len(each) > _MOST_BYTES:
            parts.append("")
        parts[-1] = f"{parts[-1]} {each}".strip()
    return parts
