"""Definitions, held once for a connector."""

import subprocess
import sys

import pytest

from practicum.errors import CallError, DocumentError
from practicum_connectors import load_document
from practicum_connectors.catalogue.definitions import DefinitionTable
from practicum_connectors.catalogue.schemas import SchemaConverter
from tests.connectors.documents import Json, compiled, document, operation

PREFIX = "#/components/schemas/"


def ref(name: str) -> Json:
    return {"$ref": f"{PREFIX}{name}"}


def table(*needs: str, version: str = "3.1.0", **schemas: Json) -> tuple[DefinitionTable, frozenset[str]]:
    converter = SchemaConverter(load_document(document({}, version, components={"schemas": schemas})), "write")
    made = converter.convert({"anyOf": [ref(name) for name in needs]})
    return DefinitionTable(converter), made.needs


def test_all_that_is_reachable_and_nothing_else() -> None:
    held, needs = table("A", A={"items": ref("B")}, B={"properties": {"a": ref("A")}}, Unused={"type": "string"})
    assert list(held.closure(needs)) == ["A", "B"]
    assert held.closure(needs)["A"] is held.closure({"B"})["A"]


def test_what_is_lost_in_a_circle_is_told_of_all_who_reach_it() -> None:
    bad: Json = {"type": "string", "pattern": "("}
    schemas: Json = {
        "A": {"items": ref("B")},
        "B": {"items": ref("C")},
        "C": {"items": ref("B"), "properties": {"bad": ref("Bad")}},
        "Bad": bad,
        "Good": {"properties": {"other": {"type": "integer"}}},
    }
    held, _ = table("A", "Good", **schemas)
    notes, fault = held.state({"A"})
    assert fault is None
    assert len(notes) == 1
    assert "pattern" in notes[0]
    assert held.state({"B"}) == held.state({"C"}) == (notes, None)
    assert held.state({"Good"}) == ((), None)


def test_a_broken_reference_refuses_those_who_reach_it() -> None:
    held, needs = table("A", A={"items": ref("B")}, B={"properties": {"x": ref("None")}}, Good={"type": "string"})
    _, fault = held.state(needs)
    assert fault is not None
    assert "None" in fault.detail
    with pytest.raises(DocumentError, match="None"):
        held.closure(needs)


@pytest.mark.parametrize(
    ("schemas", "path"),
    [
        ({"A": {"allOf": [ref("A"), {"type": "object"}]}}, "`A` → `A`"),
        ({"A": {"allOf": [ref("B")]}, "B": {"allOf": [ref("A"), {"type": "object"}]}}, "`A` → `B` → `A`"),
        ({"A": ref("B"), "B": ref("A")}, "`A` → `B` → `A`"),
        ({"A": {"not": ref("B")}, "B": {"if": ref("A")}}, "`A` → `B` → `A`"),
    ],
)
def test_a_schema_that_includes_itself_is_refused_with_its_path(schemas: Json, path: str) -> None:
    paths = {"/a": {"post": operation(body={"properties": {"x": ref("A")}})}, "/b": {"get": {"operationId": "ok"}}}
    made = compiled(document(paths, components={"schemas": schemas}))
    refused = {entry.operation: entry for entry in made.report}["act"]
    assert refused.fidelity == "refused"
    assert path in refused.notes[0]
    assert list(made.tools) == ["crm_ok"]


def test_a_schema_that_holds_itself_is_no_such_thing() -> None:
    schemas: Json = {"A": {"allOf": [{"properties": {"after": ref("A"), "all": {"items": ref("A")}}}]}}
    made = compiled(document({"/a": {"post": operation(body=ref("A"))}}, components={"schemas": schemas}))
    assert made.prepare("crm_act", {"after": {"after": {"all": []}}})


def test_a_supertype_may_list_the_subtypes_that_take_it_over() -> None:
    schemas: Json = {
        "Pet": {
            "type": "object",
            "properties": {"kind": {"type": "string"}},
            "required": ["kind"],
            "oneOf": [ref("Cat"), ref("Dog")],
            "discriminator": {"propertyName": "kind"},
        },
        "Cat": {"allOf": [ref("Pet"), {"properties": {"lives": {"type": "integer"}}, "required": ["lives"]}]},
        "Dog": {"allOf": [ref("Pet"), {"properties": {"bark": {"type": "string"}}}]},
    }
    made = compiled(
        document({"/a": {"post": operation(body={"properties": {"pet": ref("Pet")}})}}, components={"schemas": schemas})
    )
    assert made.prepare("crm_act", {"pet": {"kind": "Cat", "lives": 9}})
    with pytest.raises(CallError):
        made.prepare("crm_act", {"pet": {"kind": "Cat"}})


_ELEVEN_THOUSAND = """
import json
from practicum.contracts.connectors import ConnectorSpec
from practicum_connectors import CompiledConnector, load_document

def schema(n, many):
    fields = {f"p{j}": {"type": "string", "description": "property " + "x" * 60} for j in range(12)}
    fields["next"] = {"$ref": f"#/components/schemas/S{(n * 7 + 1) % many}"}
    fields["list"] = {"type": "array", "items": {"$ref": f"#/components/schemas/S{(n * 3 + 2) % many}"}}
    return {"type": "object", "description": "Entity " + "d" * 500, "properties": fields}

def operation(n, verb, many):
    made = {"operationId": f"entity{n}.{verb}", "summary": f"{verb} property {n}", "description": "y" * 250,
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "responses": {"200": {"description": "ok"}}}
    if verb == "update":
        content = {"application/json": {"schema": {"$ref": f"#/components/schemas/S{n % many}"}}}
        made["requestBody"] = {"required": True, "content": content}
    return made

many = 5000
paths = {
    f"/entities{n}/{{id}}": {"get": operation(n, "get", many), "patch": operation(n, "update", many)}
    for n in range(5500)
}
schemas = {f"S{n}": schema(n, many) for n in range(many)}
text = json.dumps({"openapi": "3.0.3", "info": {"title": "big", "version": "1"}, "servers": [{"url": "https://g.x"}],
                   "paths": paths, "components": {"schemas": schemas}}).encode()
del paths, schemas
made = CompiledConnector.compile(ConnectorSpec(name="big"), load_document(text))
size = sum(len(json.dumps(tool.input_schema)) for tool in made.tools.values())
# Not getrusage: what it tells of a child begins with what its parent held.
peak = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(len(text), len(made.tools), size, peak)
"""


@pytest.mark.timeout(1800)
def test_eleven_thousand_connected_operations_fit_in_a_gigabyte() -> None:
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n{_ELEVEN_THOUSAND}"
    run = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    read, tools, written, peak = map(int, run.stdout.split())
    assert read > 15_000_000
    assert tools == 11_000
    assert written < tools * 30_000
    assert peak < 2**30
