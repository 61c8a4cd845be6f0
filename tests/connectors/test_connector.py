"""The facade as a whole."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import practicum_connectors
from practicum.contracts.connectors import (
    ApiKeyAuth,
    CheckReport,
    ConnectorSpec,
    Fidelity,
)
from practicum.contracts.tools import Effect, Tool
from practicum.errors import DocumentError, NotFoundError
from practicum_connectors import (
    _HOMES,  # pyright: ignore[reportPrivateUsage]
    check,
    load_document,
    load_source,
)
from tests.connectors.documents import compiled, document, operation, query

DOCUMENT = document({"/a": {"get": operation(query("q")), "post": {"requestBody": {"$ref": "#/absent"}}}})


def test_tools_are_wire_values_although_they_are_not_validated_when_made() -> None:
    for name, tool in compiled(DOCUMENT).tools.items():
        assert Tool.model_validate_json(tool.model_dump_json()) == tool
        assert (name, tool.address) == (tool.name, "crm.act")


def test_compiling_twice_gives_the_same() -> None:
    first, second = compiled(DOCUMENT), compiled(load_document(DOCUMENT).canonical)
    assert (first.tools, first.report, first.digest) == (second.tools, second.report, second.digest)


def test_a_document_is_checked_without_a_system() -> None:
    spec = ConnectorSpec(name="crm", base_url="http://here")
    report = check(spec, load_document(DOCUMENT))
    assert (report.title, report.version, report.base_url, report.notes) == ("Test", "1", "http://here", ())
    assert report.operations == compiled(DOCUMENT).report
    assert [(entry.fidelity, entry.effect) for entry in report.operations] == [
        (Fidelity.EXACT, Effect.READ),
        (Fidelity.REFUSED, None),
    ]
    assert CheckReport.model_validate_json(report.model_dump_json()) == report
    nowhere = check(ConnectorSpec(name="crm"), load_document(DOCUMENT))
    assert (nowhere.base_url, nowhere.operations) == (None, report.operations)
    assert "`base_url`" in " ".join(nowhere.notes)
    with pytest.raises(DocumentError, match="apiKey"):
        check(ConnectorSpec(name="crm", auth=ApiKeyAuth(value="k")), load_document(DOCUMENT))


async def test_a_document_is_read_from_where_the_caller_says() -> None:
    asked: list[str] = []

    async def read(address: str) -> bytes:
        asked.append(address)
        return load_document(DOCUMENT).canonical

    loaded = await load_source(ConnectorSpec(name="crm", source="file:///crm.json"), read=read)
    assert (asked, loaded.digest) == (["file:///crm.json"], load_document(DOCUMENT).digest)


def test_only_tools_that_are_there_can_be_asked() -> None:
    connector = compiled(DOCUMENT)
    assert connector.expand("crm_act", {"q": "x"}) == {"q": "x"}
    assert connector.artifacts_of("crm_act", {"q": "x"}) == frozenset()
    for ask in (connector.expand, connector.artifacts_of, connector.prepare):
        with pytest.raises(NotFoundError):
            ask("crm_other", {})


def test_a_plan_knows_its_definitions_and_which_schemes_it_asks_for() -> None:
    schema = {"$ref": "#/components/schemas/A"}
    components = {"schemas": {"A": {"properties": {"b": {"$ref": "#/components/schemas/B"}}}, "B": {"type": "string"}}}
    made = operation(body=schema, security=[{"one": [], "two": []}, {}])
    plan = compiled(document({"/a": {"post": made}}, components=components)).prepare("crm_act", {"b": "x"}).plan
    assert plan.security == (("one", "two"), ())
    assert plan.needs == {"A", "B"}
    assert plan.definitions.closure({"A"}).keys() == {"A", "B"}
    assert plan.body is not None
    assert (plan.body.kind, plan.body.raw) == ("json", None), "only XML is written by the schema as it stands"


def test_type_checkers_are_told_the_same_and_nothing_is_imported_before_it_is_used() -> None:
    tree = ast.parse(Path(practicum_connectors.__file__).read_text())
    (checking,) = [node for node in tree.body if isinstance(node, ast.If)]
    told = [
        (alias.name, node.module) for node in checking.body if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    assert sorted(name for name, _ in told) == practicum_connectors.__all__
    assert all(module == f"practicum_connectors.{_HOMES[name]}" for name, module in told)
    code = (
        "import sys, practicum_connectors; print(*(name for name in ('httpx', 'openapi_core') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""


def test_the_front_door_is_what_it_says() -> None:
    assert sorted(practicum_connectors.__all__) == practicum_connectors.__all__
    assert all(hasattr(practicum_connectors, name) for name in practicum_connectors.__all__)
