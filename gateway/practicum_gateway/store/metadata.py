"""The whole schema: importing this module makes every table known to `Base.metadata`."""

from sqlalchemy import MetaData

from practicum_gateway.store import (
    access_tables,
    artifact_tables,
    audit_tables,
    budget_tables,
    catalogue_tables,
    issuer_tables,
    ledger_tables,
    model_tables,
    practice_tables,
    record_tables,
    secret_tables,
    webhook_tables,
)
from practicum_gateway.store.engine import Base

TABLES = (
    access_tables,
    artifact_tables,
    audit_tables,
    budget_tables,
    catalogue_tables,
    issuer_tables,
    ledger_tables,
    model_tables,
    practice_tables,
    record_tables,
    secret_tables,
    webhook_tables,
)
"""The modules that define tables."""

metadata: MetaData = Base.metadata
