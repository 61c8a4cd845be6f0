"""Whole operations drawn at random: what is built says what was asked for, or the call is refused for a reason.

What must stand on the wire is written down here a second time, decoded and by the rules of OpenAPI alone, and read from
the request by the standard library and python-multipart.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from practicum.errors import CallError
from practicum_connectors import HttpRequest
from tests.connectors.documents import Json, compiled, document
from tests.connectors.request.bodies import BYTES, FORM, MULTIPART
from tests.connectors.request.test_multipart import served

EASY = st.text("ab0", min_size=1, max_size=5)
ODD = st.text(st.sampled_from("ab0,|; =&/?#[]+ü\n"), max_size=5)
TEXTS = {
    "path": st.one_of(EASY, ODD),
    "query": ODD,
    "header": st.one_of(EASY, EASY, EASY, ODD),
    "cookie": ODD,
    "body": ODD,
}
OTHERS: dict[str, st.SearchStrategy[Any]] = {"integer": st.integers(-(2**70), 2**70), "boolean": st.booleans()}
FEWEST = st.sampled_from([1, 1, 1, 1, 1, 1, 0])
"""How many items a list has at least; mostly one, for an empty one cannot be sent in most places."""
STYLES = {
    "path": ["simple", "label", "matrix"],
    "query": ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
    "header": ["simple"],
    "cookie": ["form"],
}
BETWEEN = {"form": ",", "spaceDelimited": " ", "pipeDelimited": "|"}


@dataclass(frozen=True)
class Drawn:
    """A schema and a value that it allows."""

    schema: Json
    value: Any


@st.composite
def kinds(draw: st.DrawFn, place: str) -> tuple[str, st.SearchStrategy[Any]]:
    """A type, and the values of it that are tried in a place."""
    kind = draw(st.sampled_from(["string", *OTHERS]))
    return kind, TEXTS[place] if kind == "string" else OTHERS[kind]


@st.composite
def scalars(draw: st.DrawFn, place: str) -> Drawn:
    kind, values = draw(kinds(place))
    return Drawn({"type": kind}, draw(values))


@st.composite
def lists(draw: st.DrawFn, place: str) -> Drawn:
    kind, values = draw(kinds(place))
    return Drawn({"type": "array", "items": {"type": kind}}, draw(st.lists(values, min_size=draw(FEWEST), max_size=3)))


@st.composite
def objects(draw: st.DrawFn, prefix: str, members: st.SearchStrategy[Drawn]) -> Drawn:
    drawn = {f"{prefix}{number}": draw(members) for number in range(draw(st.integers(1, 3)))}
    named = draw(st.lists(st.sampled_from(sorted(drawn)), unique=True, min_size=draw(FEWEST)))
    schema = {"type": "object", "properties": {name: member.schema for name, member in drawn.items()}}
    return Drawn(schema, {name: drawn[name].value for name in named})


@st.composite
def listed_objects(draw: st.DrawFn) -> Drawn:
    kind, values = draw(kinds("body"))
    schema = {"type": "array", "items": {"type": "object", "properties": {"x": {"type": kind}, "y": {"type": kind}}}}
    item = st.fixed_dictionaries({"x": values}, optional={"y": values})
    return Drawn(schema, draw(st.lists(item, min_size=draw(FEWEST), max_size=2)))


def mapped(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def listed(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def flat(value: Any) -> list[str]:
    """Names and texts of an object one after the other, or the texts of a list."""
    if mapped(value):
        return [part for name, member in value.items() for part in (name, text(member))]
    return [text(item) for item in value]


def hollow(value: Any) -> bool:
    """Whether an empty list or object stands somewhere in it: nothing would be sent for it."""
    if mapped(value) or listed(value):
        return not value or any(map(hollow, value.values() if mapped(value) else value))
    return False


def brackets(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if mapped(value):
        for key, member in value.items():
            yield from brackets(f"{name}[{key}]", member)
    elif listed(value):
        nested = any((mapped(item) or listed(item)) for item in value)
        for number, item in enumerate(value):
            yield from brackets(f"{name}[{number}]" if nested else f"{name}[]", item)
    else:
        yield name, text(value)


@st.composite
def parameters(draw: st.DrawFn, name: str, location: str) -> tuple[Json, Any]:
    style = draw(st.sampled_from(STYLES[location]))
    members = st.one_of(scalars(location), lists(location)) if style == "deepObject" else scalars(location)
    drawn = draw(st.one_of(scalars(location), lists(location), objects(f"{name}k", members)))
    made = {"name": name, "in": location, "required": location == "path", "schema": drawn.schema, "style": style}
    return {**made, "explode": draw(st.booleans())}, drawn.value


def pairs_of(made: Json, value: Any) -> list[tuple[str, str]]:
    """What a query parameter is, decoded."""
    name, style = made["name"], made["style"]
    if not (mapped(value) or listed(value)):
        return [(name, text(value))]
    if style == "deepObject":
        return list(brackets(name, value))
    if made["explode"]:
        return [(key, text(item)) for key, item in value.items()] if mapped(value) else [(name, text(i)) for i in value]
    return [(name, BETWEEN[style].join(flat(value)))]


def segment_of(made: Json, value: Any) -> str:
    """What a path parameter is, decoded."""
    style, explode = made["style"], made["explode"]
    named = f"{made['name']}="
    lead = {"simple": "", "label": ".", "matrix": ";"}[style]
    between = {"simple": ",", "label": ".", "matrix": ";"}[style] if explode else ","
    if mapped(value) and explode:
        return lead + between.join(f"{name}={text(item)}" for name, item in value.items())
    if listed(value) and explode and style == "matrix":
        return lead + ";".join(f"{named}{text(item)}" for item in value)
    inside = between.join(flat(value)) if (mapped(value) or listed(value)) else text(value)
    return lead + (named if style == "matrix" else "") + inside


def header_of(made: Json, value: Any) -> str:
    if mapped(value) and made["explode"]:
        return ",".join(f"{name}={text(item)}" for name, item in value.items())
    return ",".join(flat(value)) if (mapped(value) or listed(value)) else text(value)


def unwritable(made: Json, value: Any) -> bool:
    """Whether OpenAPI has no way to say a value in a parameter's style."""
    items = flat(value) if (mapped(value) or listed(value)) else [text(value)]
    inside = mapped(value) or listed(value)
    match made["in"]:
        case "path":
            nothing = value == "" or not segment_of(made, value).strip(".")
            return hollow(value) or nothing or "\n" in "".join(items)
        case "header":
            whole = header_of(made, value)
            loose = inside and any("," in item or item != item.strip() for item in items)
            return hollow(value) or not whole.isascii() or not whole.isprintable() or whole != whole.strip() or loose
        case "query":
            packed = inside and made["style"] != "deepObject" and not made["explode"]
            between = {"spaceDelimited": " ", "pipeDelimited": "|"}.get(made["style"])
            return hollow(value) or (packed and between is not None and any(between in item for item in items))
        case _:
            return hollow(value)


@st.composite
def bodies(draw: st.DrawFn) -> tuple[str, Json, Json]:
    """A media type, its description, and the members of the body."""
    media_type = draw(st.sampled_from(["application/json", FORM, MULTIPART, "application/xml"]))
    inner = objects("n", st.one_of(scalars("body"), lists("body")))
    drawn = draw(objects("m", st.one_of(scalars("body"), lists("body"), inner, listed_objects())))
    schema: Json = {**drawn.schema, "xml": {"name": "root"}}
    value = {name: drawn.value[name] for name in schema["properties"] if name in drawn.value}
    if media_type == MULTIPART and draw(st.booleans()):
        schema["properties"]["file"] = BYTES
        content = draw(st.binary(max_size=20))
        value["file"] = {"base64": base64.b64encode(content).decode(), "name": "a.bin"}
    return media_type, {"schema": schema}, value


def unsendable(media_type: str, value: Json) -> bool:
    """Whether a body has no form in its media type."""
    members = [member for name, member in value.items() if name != "file"]
    if media_type == FORM:
        return any(map(hollow, members))
    if media_type == MULTIPART:
        return [] in members
    lists_inside = [inner for member in members if mapped(member) for inner in member.values()]
    return media_type == "application/xml" and [] in [*members, *lists_inside]


def parts_of(value: Json) -> Iterator[tuple[str, str | None, bytes]]:
    for name, member in value.items():
        for item in member if listed(member) else [member]:
            if name == "file":
                yield name, item["name"], base64.b64decode(item["base64"])
            elif mapped(item):
                yield name, None, json.dumps(item, ensure_ascii=False).encode()
            else:
                yield name, None, text(item).encode()


def fields_of(value: Json) -> Iterator[tuple[str, str]]:
    for name, member in value.items():
        if listed(member) and not any(mapped(item) for item in member):
            yield from ((name, text(item)) for item in member)
        else:
            yield from brackets(name, member)


def leaves_of(value: Any) -> list[str]:
    if mapped(value) or listed(value):
        inside = [value[name] for name in sorted(value)] if mapped(value) else value
        return [leaf for member in inside for leaf in leaves_of(member)]
    return [text(value)] if text(value) else []


def check_body(request: HttpRequest, media_type: str, value: Json) -> None:
    body = request.body or b""
    assert (request.header("content-type") or "").partition(";")[0] == media_type
    if media_type == "application/json":
        assert json.loads(body) == value
    elif media_type == FORM:
        assert parse_qsl(body.decode(), keep_blank_values=True) == list(fields_of(value))
    elif media_type == MULTIPART:
        assert not value or served(request) == list(parts_of(value))
    else:
        assert [leaf for leaf in ET.fromstring(body).itertext() if leaf] == leaves_of(value)  # noqa: S314 (our own)


def check_parameters(request: HttpRequest, drawn: dict[str, tuple[Json, Any]]) -> None:
    parts = urlsplit(request.url)
    assert request.url.isascii()
    assert unquote(parts.path) == f"/t/{segment_of(*drawn['p'])}/x"
    expected = [pair for name in drawn if name in "qr" for pair in pairs_of(*drawn[name])]
    assert parse_qsl(parts.query, keep_blank_values=True) == expected
    assert request.header("h") == header_of(*drawn["h"])
    made, value = drawn["c"]
    assert unquote(request.header("cookie") or "") == f"c={header_of({**made, 'explode': False}, value)}"


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "p": parameters("p", "path"),
            "q": parameters("q", "query"),
            "r": parameters("r", "query"),
            "h": parameters("h", "header"),
            "c": parameters("c", "cookie"),
        }
    ),
    bodies(),
)
def test_what_is_built_says_what_was_asked_for(
    drawn: dict[str, tuple[Json, Any]], body: tuple[str, Json, Json]
) -> None:
    media_type, described, value = body
    made: Json = {
        "operationId": "act",
        "parameters": [parameter for parameter, _ in drawn.values()],
        "requestBody": {"required": True, "content": {media_type: described}},
    }
    arguments = {**{name: each for name, (_, each) in drawn.items()}, **value}
    refused = any(unwritable(*each) for each in drawn.values()) or unsendable(media_type, value)
    connector = compiled(document({"/t/{p}/x": {"post": made}}))
    if refused:
        with pytest.raises(CallError):
            connector.prepare("crm_act", arguments)
        return
    request = connector.prepare("crm_act", arguments).request
    check_parameters(request, drawn)
    check_body(request, media_type, value)
