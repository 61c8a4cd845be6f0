"""The facade as a whole."""

import practicum_connectors
from practicum.contracts.base import utc_now
from practicum.contracts.connectors import BearerAuth, ConnectorReport, Fidelity, Mode
from practicum.contracts.tools import Tool
from practicum_connectors import load_document
from tests.connectors.documents import compiled, document, operation, query

DOCUMENT = document({"/a": {"get": operation(query("q")), "post": {"requestBody": {"$ref": "#/absent"}}}})


def test_a_registration_is_described_as_a_wire_value() -> None:
    created = utc_now()
    connector = compiled(DOCUMENT, auth=BearerAuth(token="topsecret"), mode=Mode.PRACTICE)
    report = connector.describe(created)
    assert ConnectorReport.model_validate_json(report.model_dump_json()) == report
    assert "topsecret" not in report.model_dump_json()
    shown = report.connector
    assert (shown.name, shown.title, shown.version, shown.mode, shown.auth) == (
        "crm",
        "Test",
        "1",
        "practice",
        "bearer",
    )
    assert (shown.tools, shown.base_url, shown.created) == (1, "http://127.0.0.1:1", created)
    assert shown.digest == load_document(DOCUMENT).digest
    assert [entry.fidelity for entry in report.operations] == [Fidelity.EXACT, Fidelity.REFUSED]


def test_tools_are_wire_values_although_they_are_not_validated_when_made() -> None:
    for name, tool in compiled(DOCUMENT).tools.items():
        assert Tool.model_validate_json(tool.model_dump_json()) == tool
        assert (name, tool.address) == (tool.name, "crm.act")


def test_compiling_twice_gives_the_same() -> None:
    first, second = compiled(DOCUMENT), compiled(load_document(DOCUMENT).canonical)
    assert (first.tools, first.report, first.digest) == (second.tools, second.report, second.digest)


def test_the_front_door_is_what_it_says() -> None:
    assert sorted(practicum_connectors.__all__) == practicum_connectors.__all__
    assert all(hasattr(practicum_connectors, name) for name in practicum_connectors.__all__)
