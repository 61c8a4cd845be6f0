"""What the catalogue's rows say, as the contracts say it, and the other way round."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from practicum.contracts.audit import Action
from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import (
    Auth,
    AuthorizationCodeAuth,
    Change,
    Connector,
    ConnectorReport,
    ConnectorSpec,
    Mode,
    OperationReport,
    PracticeSpec,
    RefreshReport,
    SchemesAuth,
)
from practicum.errors import NotFoundError
from practicum_connectors.connector import CompiledConnector
from practicum_connectors.exchange import origin_of
from practicum_gateway.audit.log import Deed
from practicum_gateway.store.catalogue_tables import ConnectorRow, OperationRow


@dataclass(frozen=True, slots=True)
class Counted:
    """A tool as it is kept, and how many of its answers departed from the document."""

    tool: JsonObject
    drift: int


def connector_of(row: ConnectorRow, drift: int) -> Connector:
    """A registered system.

    Args:
        row: its row.
        drift: how many answers of its operations departed from the document.
    """
    practice = practice_of(row)
    source, held = row.spec.get("source"), (row.look or {}).get("held")
    return Connector(
        name=row.name,
        title=row.title,
        version=row.version,
        base_url=row.base_url,
        mode=Mode(row.mode),
        practice=None if practice is None else practice.base_url,
        auth=row.auth,
        tools=row.tools,
        created=row.created,
        digest=row.digest,
        source=source if isinstance(source, str) else None,
        held=len(held) if isinstance(held, list) else 0,
        drift=drift,
        refreshed=row.refreshed,
        kind="openapi" if row.spec.get("mcp") is None else "mcp",
    )


def report_of(row: ConnectorRow, reports: Sequence[tuple[JsonObject, int]]) -> ConnectorReport:
    """A registration and what became of each operation.

    Args:
        row: its row.
        reports: of each operation its report, and how many of its answers departed from the document.
    """
    operations = tuple(OperationReport.model_validate(report | {"drift": drift}) for report, drift in reports)
    return ConnectorReport(connector=connector_of(row, sum(drift for _, drift in reports)), operations=operations)


def refresh_report_of(row: ConnectorRow, drift: int) -> RefreshReport:
    """What the latest look at a system's document found; nothing if there was none."""
    look = row.look or look_of(row.digest)
    return RefreshReport.model_validate({"connector": connector_of(row, drift), **look})


def look_of(
    digest: str, served: Sequence[Change] = (), held: Sequence[Change] = (), *, changed: bool = False
) -> JsonObject:
    """What a look at a document found, as it is kept.

    Args:
        digest: of the document that was looked at.
        served: changes in force.
        held: changes that wait.
        changed: whether it says anything else than the one before.
    """
    return {
        "digest": digest,
        "changed": changed,
        "served": [change.model_dump(mode="json") for change in served],
        "held": [change.model_dump(mode="json") for change in held],
    }


def operations_of(
    name: str, compiled: CompiledConnector, counted: Mapping[str, Counted] | None = None
) -> list[OperationRow]:
    """The rows of a connector's operations.

    Args:
        name: the connector.
        compiled: what its document became.
        counted: tools of which departures were counted; one that stays the same keeps its count.
    """
    made: list[OperationRow] = []
    for position, report in enumerate(compiled.report):
        tool = None if report.tool is None else compiled.tools[report.tool].model_dump(mode="json")
        before = (counted or {}).get(report.tool or "")
        made.append(
            OperationRow(
                connector=name,
                position=position,
                tool_name=report.tool,
                operation=report.operation,
                report=report.model_dump(mode="json", exclude={"drift"}),
                tool=tool,
                drift=before.drift if before is not None and before.tool == tool else 0,
            )
        )
    return made


def practice_of(row: ConnectorRow) -> PracticeSpec | None:
    """Where a connector's copies are, without their credential."""
    kept = row.spec.get("practice")
    return None if kept is None else PracticeSpec.model_validate(kept)


def kept_spec(spec: ConnectorSpec, compiled: CompiledConnector) -> JsonObject:
    """A registration as it is kept: without its document and without its credentials."""
    practice = None
    if spec.practice is not None and compiled.practice is not None:
        practice = spec.practice.model_copy(update={"base_url": compiled.practice.base_url})
    kept: JsonObject = json.loads(
        spec.model_copy(update={"practice": practice}).model_dump_json(
            exclude={"document": True, "documents": True, "auth": True, "practice": {"auth"}}
        )
    )
    return kept


def deed_of(action: Action, row: ConnectorRow) -> Deed:
    """What was done to a connector, for the audit log."""
    details: JsonObject = {
        "base_url": row.base_url,
        "mode": row.mode,
        "document": row.digest,
        "waits": row.newer_digest,
        "tools": row.tools,
    }
    return Deed(action, row.name, details=details)


def token_of(auth: Auth, scheme: str) -> str:
    """The refresh token of a credential, under a scheme's name where it holds several credentials.

    Raises:
        NotFoundError: it has none there.
    """
    found = auth.schemes.get(scheme) if isinstance(auth, SchemesAuth) else auth
    if not isinstance(found, AuthorizationCodeAuth):
        raise NotFoundError("The connector holds no refresh token any more.")
    return found.refresh_token


def with_token(auth: Auth, scheme: str, refresh_token: str, instead_of: str) -> Auth:
    """A credential with another refresh token, under a scheme's name where it holds several credentials.

    Raises:
        NotFoundError: it does not hold the one that is replaced.
    """
    if token_of(auth, scheme) != instead_of:
        raise NotFoundError("The connector holds another refresh token by now.")
    changed: Mapping[str, str] = {"refresh_token": refresh_token}
    if isinstance(auth, SchemesAuth):
        return auth.model_copy(
            update={"schemes": auth.schemes | {scheme: auth.schemes[scheme].model_copy(update=changed)}}
        )
    return auth.model_copy(update=changed)


def seal_context(name: str, base_url: str) -> str:
    """What a connector's credential is sealed together with: it opens only for the origin it was given for."""
    return f"connector {name} at {origin_of(base_url)}"


def practice_seal_context(name: str, base_url: str) -> str:
    """The same of its practice copies."""
    return f"practice copies of connector {name} at {origin_of(base_url)}"
