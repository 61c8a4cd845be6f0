"""Runs cases: each document is read and compiled, each call really sent, and what comes of it compared."""

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from practicum.contracts.connectors import Change, ConnectorSpec, Fidelity
from practicum.contracts.tools import Tool
from practicum.errors import CallError, DocumentError
from practicum_connectors.catalogue.profiles import PROFILES, Profiled
from practicum_connectors.conformance.case import Call, Case, Changed, Reported, Seen, Wire
from practicum_connectors.conformance.compare import as_arrived, content_differences, same_json, wire_differences
from practicum_connectors.conformance.order import names_of, turned_round
from practicum_connectors.conformance.system import Arrived, ScriptedSystem
from practicum_connectors.conformance.tools import offer_differences, report_differences, tool_faults
from practicum_connectors.connector import CompiledConnector, load_source
from practicum_connectors.document import Document, load_document
from practicum_connectors.exchange import Payload
from practicum_connectors.response.observe import DEFAULT_LIMIT, Observed

_NAME = "case"
_TEXT_PATH = "/openapi.yaml"
_MOST_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case.

    Attributes:
        case: the case.
        differences: from what was expected; none if it passed.
    """

    case: Case
    differences: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether all was as expected."""
        return not self.differences


def run(cases: Iterable[Case]) -> tuple[Outcome, ...]:
    """Run cases against a server of their own on this machine.

    Args:
        cases: what is run, in this order.
    """
    return asyncio.run(_run(cases))


async def _run(cases: Iterable[Case]) -> tuple[Outcome, ...]:
    async with ScriptedSystem() as system:
        return tuple([Outcome(case, await _outcome(case.at(system.authority), system)) for case in cases])


async def _outcome(case: Case, system: ScriptedSystem) -> tuple[str, ...]:
    system.script(case.answers, _served(case))
    try:
        async with asyncio.timeout(_MOST_SECONDS):
            return tuple(await _differences(case, system))
    except Exception as error:  # noqa: BLE001  # a case that ends in any other error has found a fault; the rest go on
        return (f"{type(error).__name__}: {error}",)


def _served(case: Case) -> dict[str, str]:
    return {**case.served, _TEXT_PATH: case.document} if isinstance(case.document, str) else case.served


def _spec(case: Case, system: ScriptedSystem) -> ConnectorSpec:
    given: dict[str, object] = {"name": _NAME, "private_network": True, "documents": case.documents}
    if isinstance(case.document, str):
        given["source"] = f"http://{system.authority}{_TEXT_PATH}"
    else:
        given["document"] = case.document
    return ConnectorSpec.model_validate({**given, **case.connector})


async def _differences(case: Case, system: ScriptedSystem) -> list[str]:
    spec, asked = _spec(case, system), case.expect.error
    try:
        newer = None if case.newer is None else load_document(case.newer)
        connector = CompiledConnector.compile(spec, await load_source(spec), newer=newer)
    except DocumentError as error:
        return [f"it is refused: {error}"] if asked is None else list(_unsaid("the error", asked, str(error)))
    async with connector:
        if asked is not None:
            return ["the document is not refused"]
        found = [*_import_differences(case, connector), *await _mended(case, spec, connector)]
        found += [*_change_differences("in force", case.expect.served, connector.served)]
        found += [*_change_differences("waiting", case.expect.held, connector.held)]
        found += await _order_differences(spec, newer, connector)
        if case.call is None:
            return found
        found += _definition_differences(case, case.call, connector)
        return found + await _call_differences(case, case.call, connector, system)


def _import_differences(case: Case, connector: CompiledConnector) -> Iterator[str]:
    expect = case.expect
    if expect.base_url not in {None, connector.base_url}:
        yield f"calls go to {connector.base_url}, not to {expect.base_url}"
    yield from tool_faults(connector.tools)
    tools = {f"{tool.method} {tool.path}": tool for tool in connector.tools.values()}
    for where, offered in expect.tools.items():
        if where in tools:
            yield from offer_differences(where, offered, tools[where])
        else:
            yield f"{where} is no tool"
    if expect.report is not None:
        yield from report_differences(expect.report, connector.report)
    elif case.call is not None:
        called = _tool_of(case.call, connector)
        yield from (
            f"{entry.method} {entry.path} is {entry.fidelity}: {' '.join(entry.notes)}"
            for entry in connector.report
            if entry.tool == called and entry.fidelity is not Fidelity.EXACT
        )


def _change_differences(what: str, expected: Sequence[Changed] | None, given: Sequence[Change]) -> Iterator[str]:
    if expected is None:
        return
    found = [Changed(kind=c.kind, operation=c.operation, where=c.where, breaking=c.breaking) for c in given]
    if found != list(expected):
        yield f"{what} are the changes {[change.model_dump(mode='json') for change in found]}"


async def _mended(case: Case, spec: ConnectorSpec, connector: CompiledConnector) -> list[str]:
    """Whether the patches that the report offers do what they promise."""
    found: list[str] = []
    for entry in connector.report:
        asked = (case.expect.report or {}).get(f"{entry.method} {entry.path}")
        if isinstance(asked, Reported) and asked.mended:
            again = spec.model_copy(update={"overlay": entry.mend})
            report = CompiledConnector.compile(again, await load_source(again)).report
            tools = {(other.method, other.path): other.tool for other in report}
            if not entry.mend or tools.get((entry.method, entry.path)) is None:
                found.append(f"{entry.method} {entry.path} is not mended by {list(entry.mend)}")
    return found


async def _order_differences(spec: ConnectorSpec, newer: Document | None, connector: CompiledConnector) -> list[str]:
    """Whether the document turned round gives the same names and keys."""
    turned = turned_round(spec)
    if turned is None:
        return []
    other = CompiledConnector.compile(turned, await load_source(turned), newer=newer)
    first, second = ({f"{t.method} {t.path}": t for t in each.tools.values()} for each in (connector, other))
    return [
        f"{where} depends on the document's order: {names_of(first[where])} or {names_of(second[where])}"
        for where in first
        if names_of(first[where]) != names_of(second[where])
    ]


def _tool_of(call: Call, connector: CompiledConnector) -> str | None:
    places = {f"{tool.method} {tool.path}": name for name, tool in connector.tools.items()}
    if call.tool is None:
        return next(iter(places.values())) if len(places) == 1 else None
    return places.get(call.tool)


def _profiled(case: Case, tool: Tool) -> Profiled | None:
    return None if case.profile is None else PROFILES[case.profile].tool(tool)


def _definition_differences(case: Case, call: Call, connector: CompiledConnector) -> Iterator[str]:
    expected, name = case.expect.definition, _tool_of(call, connector)
    if expected is None or name is None:
        return
    profiled = _profiled(case, connector.tools[name])
    if profiled is None or not same_json(profiled.definition, expected):
        yield f"the definition is {json.dumps(profiled and profiled.definition)}"


async def _call_differences(case: Case, call: Call, connector: CompiledConnector, system: ScriptedSystem) -> list[str]:
    name, expect = _tool_of(call, connector), case.expect
    if name is None:
        return [f"there is no tool to call, or more than one: {[f'{e.tool}: {e.notes}' for e in connector.report]}"]
    files = {key: Payload(f.media_type, f.name, f.content or b"", complete=True) for key, f in case.files.items()}
    profiled = _profiled(case, connector.tools[name])
    arguments = call.arguments if profiled is None else profiled.restore(call.arguments)
    try:
        prepared = connector.prepare(name, arguments, files)
    except CallError as error:
        found = list(_request_differences(expect.requests, system.arrived))
        if expect.refused is None:
            return [*found, f"it is refused: {error}"]
        return [*found, *_unsaid("the refusal", expect.refused, str(error))]
    if expect.refused is not None:
        return [f"it is not refused: {prepared.request.method} {prepared.request.url}"]
    if urlsplit(prepared.request.url).netloc != system.authority:
        return list(_request_differences(expect.requests, [as_arrived(prepared.request, absolute=True)]))
    for _ in range(call.times - 1):
        await connector.send(prepared, idempotency_key=call.key)
    sent = await connector.send(prepared, idempotency_key=call.key)
    found = list(_request_differences(expect.requests, system.arrived))
    if expect.seen is not None:
        observed = connector.shape(sent, DEFAULT_LIMIT if expect.seen.limit is None else expect.seen.limit)
        found += _seen_differences(expect.seen, observed)
        found += _next_differences(expect.seen.next, observed.observation.next, connector, name)
    return found


def _request_differences(expected: Sequence[Wire] | None, arrived: Sequence[Arrived]) -> Iterator[str]:
    if expected is None:
        return
    if len(expected) != len(arrived):
        yield f"{[request.line for request in arrived]} arrived, not {[wire.line for wire in expected]}"
        return
    for wire, request in zip(expected, arrived, strict=True):
        yield from wire_differences(wire, request)


def _unsaid(what: str, words: Iterable[str], text: str) -> Iterator[str]:
    yield from (f"{what} {text!r} does not say {word!r}" for word in words if word.lower() not in text.lower())


def _seen_differences(expected: Seen, observed: Observed) -> Iterator[str]:
    seen = observed.observation
    if seen.status is not expected.status:
        yield f"the call is {seen.status}, not {expected.status}: {seen.content}"
    yield from _content_differences(expected, seen.content)
    if seen.warnings and not expected.warnings:
        yield f"there are warnings: {' '.join(seen.warnings)}"
    yield from _unsaid("the warnings", expected.warnings, " ".join(seen.warnings))
    if seen.truncated is not expected.truncated:
        yield f"truncated is {seen.truncated}"
    if expected.departures not in {None, observed.departures}:
        yield f"{observed.departures} departures are counted, not {expected.departures}"
    if expected.artifacts is None:
        return
    given = [(entry.media_type, entry.name) for entry in seen.artifacts]
    asked = [(file.media_type, file.name) for file in expected.artifacts]
    if given != asked or [entry.id for entry in seen.artifacts] != [key for key, _ in observed.payloads]:
        yield f"the artifacts are {given}, not {asked}"
        return
    for file, (_, payload) in zip(expected.artifacts, observed.payloads, strict=True):
        yield from content_differences("the artifact", file, payload.content)


def _content_differences(expected: Seen, content: str) -> Iterator[str]:
    if expected.text not in {None, content}:
        yield f"the content is {content!r}, not {expected.text!r}"
    if expected.is_json:
        yield from content_differences("the content", expected, content.encode())
    yield from _unsaid("the content", expected.contains, content)
    yield from (f"the content {content!r} says {word!r}" for word in expected.lacks if word in content)


def _next_differences(
    expected: Wire | None, handle: str | None, connector: CompiledConnector, name: str
) -> Iterator[str]:
    """Whether the handle leads where it should: it is given back as a model would."""
    if expected is None or handle is None:
        if expected is not None or handle is not None:
            yield f"the handle for more is {handle!r}, not one to {expected and expected.line!r}"
        return
    following = connector.prepare(name, {"next": handle}).request
    yield from wire_differences(expected, as_arrived(following, absolute=False))
