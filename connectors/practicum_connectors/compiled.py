"""A whole document compiled: every operation a tool or a reason why not."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ConnectorSpec, Fidelity, OperationReport
from practicum.contracts.tools import Effect
from practicum.errors import DocumentError
from practicum_connectors.auth import Keyring
from practicum_connectors.catalogue.compile import Compiler
from practicum_connectors.catalogue.names import Nameable, Naming, name_operations
from practicum_connectors.catalogue.plan import ToolPlan
from practicum_connectors.catalogue.received import Received
from practicum_connectors.catalogue.selection import Selection
from practicum_connectors.catalogue.stated import stated
from practicum_connectors.compensation import Ways
from practicum_connectors.document import Document, Operation, Unreadable, list_operations
from practicum_connectors.document.pointers import BrokenReferenceError
from practicum_connectors.exchange import origin_of
from practicum_connectors.request.paths import Routes
from practicum_connectors.servers import operation_url


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a document became.

    Attributes:
        base_url: where the connector's calls go.
        plans: tools and how they are called, by exposed name.
        base_of: where each tool's calls go, by exposed name.
        report: what became of each operation, in the document's order; those left out by pattern are not there.
        routes: all routes of the document.
        notes: what has to be said about the document as a whole.
    """

    base_url: str
    plans: dict[str, ToolPlan]
    base_of: dict[str, str]
    report: tuple[OperationReport, ...]
    routes: Routes
    notes: tuple[str, ...] = ()


def compile_document(spec: ConnectorSpec, document: Document, base_url: str, keyring: Keyring) -> Compiled:
    """Compile each operation that the registration wants.

    Args:
        spec: the registration.
        document: its document.
        base_url: where the connector's calls go.
        keyring: its credentials.
    """
    compiler = Compiler(spec.name, document, keyring.places())
    operations = list(list_operations(document))
    namings = name_operations(spec.name, [_nameable(operation) for operation in operations])
    plans: dict[str, ToolPlan] = {}
    base_of: dict[str, str] = {}
    report: list[OperationReport] = []
    selection = Selection(spec, document)
    for operation, naming in zip(operations, namings, strict=True):
        if not selection.wants(operation, naming.operation) or _is_hidden(operation):
            continue
        try:
            if isinstance(operation, Unreadable):  # refused as what cannot be compiled is
                raise BrokenReferenceError(operation.reason, operations=operation.mend)
            url, moved = operation_url(spec, document, operation, base_url)
            plan = compiler.compile(operation, naming)
        except DocumentError as error:
            report.append(_refused(operation, naming, error))
            continue
        plans[naming.tool], base_of[naming.tool] = plan, url
        notes = [*plan.notes, *moved, *_credential_notes(plan, keyring, url, base_url)]
        report.append(_reported(operation, naming, plan.tool.effect, notes))
    if spec.mcp is not None:
        received = Received(document)
        plans = {tool: _with_answer(plan, received.shown(plan)) for tool, plan in plans.items()}
    routes = Routes((o.method, o.wire_path) for o in operations if isinstance(o, Operation))
    ways = Ways(plans)
    told = tuple(one if one.tool is None else _with_note(one, ways.note(plans[one.tool])) for one in report)
    return Compiled(base_url, plans, base_of, told, routes, (*document.notes, *selection.notes))


def _with_answer(plan: ToolPlan, schema: JsonObject | None) -> ToolPlan:
    return replace(plan, tool=plan.tool.model_copy(update={"output_schema": schema}))


def _nameable(operation: Operation | Unreadable) -> Nameable:
    name = stated(operation.extensions).name if isinstance(operation, Operation) else None
    return Nameable(name or operation.operation_id, operation.method, operation.path)


def _is_hidden(operation: Operation | Unreadable) -> bool:
    return isinstance(operation, Operation) and stated(operation.extensions).hide


def _credential_notes(plan: ToolPlan, keyring: Keyring, url: str, base_url: str) -> Iterator[str]:
    """What of its credential an operation does not get."""
    lacking = keyring.lacking(plan.security)
    if lacking:
        names = ", ".join(f"`{name}`" for name in lacking)
        yield f"It asks for {names}, for which there is no credential: a call of it is refused."
    elif origin_of(url) != origin_of(base_url) and keyring.shows(plan.security):
        yield f"It is called at {origin_of(url)}, where the connector's credential is not sent."


def _reported(operation: Operation, naming: Naming, effect: Effect, notes: Iterable[str]) -> OperationReport:
    lost = tuple(dict.fromkeys(notes))
    return OperationReport(
        operation=naming.operation,
        method=operation.method,
        path=operation.path,
        tool=naming.tool,
        fidelity=Fidelity.DEGRADED if lost else Fidelity.EXACT,
        notes=lost,
        effect=effect,
    )


def _with_note(report: OperationReport, note: str | None) -> OperationReport:
    if note is None:
        return report
    return report.model_copy(update={"fidelity": Fidelity.DEGRADED, "notes": (*report.notes, note)})


def _refused(operation: Operation | Unreadable, naming: Naming, error: DocumentError) -> OperationReport:
    return OperationReport(
        operation=naming.operation,
        method=operation.method,
        path=operation.path,
        tool=None,
        fidelity=Fidelity.REFUSED,
        notes=(error.detail, error.mend) if error.mend else (error.detail,),
        mend=error.operations if isinstance(error, BrokenReferenceError) else (),
    )
