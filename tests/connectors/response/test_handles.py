"""What a handle promises: the whole call, for its tool, for an hour, written by nobody else."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from practicum.contracts.tools import Effect, Tool
from practicum.errors import CallError
from practicum_connectors.exchange import HttpRequest
from practicum_connectors.response.handles import Handles, Step

KEY = b"k" * 32


def tool(name: str = "crm_list", *, paged: bool = True) -> Tool:
    return Tool(
        name=name,
        connector="crm",
        operation="list",
        description="",
        input_schema={"type": "object"},
        effect=Effect.READ,
        method="GET",
        path="/things",
        paged=paged,
    )


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
STEPS = st.builds(
    Step,
    st.dictionaries(st.text(max_size=20), JSON, max_size=5),
    st.none() | st.text(max_size=30),
    st.integers(0, 10**6),
    st.lists(st.text(max_size=10), max_size=2).map(tuple),
)


@given(STEPS)
def test_a_handle_opens_to_what_was_sealed(step: Step) -> None:
    handle = Handles(KEY).seal(tool(), step)
    assert handle is not None
    assert Handles(KEY).step(tool(), {"next": handle}) == step


def test_a_handle_is_short_enough_to_be_copied() -> None:
    handle = Handles(KEY).seal(tool(), Step({"status": "open", "limit": 20}, skip=14))
    assert handle is not None
    assert len(handle) < 100
    assert Handles(KEY).seal(tool(), Step({"text": base64.b64encode(bytes(range(256)) * 40).decode()})) is not None
    assert Handles(KEY).seal(tool(), Step({str(n): n * 7919 for n in range(2000)})) is None


@given(st.data())
def test_a_changed_handle_is_refused(data: st.DataObject) -> None:
    handles = Handles(KEY)
    handle = handles.seal(tool(), Step({"page": 2}))
    assert handle is not None
    raw = bytearray(base64.urlsafe_b64decode(handle + "=" * (-len(handle) % 4)))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(CallError) as error:
        handles.step(tool(), {"next": base64.urlsafe_b64encode(raw).decode()})
    assert error.value.errors[0].where == "next"


@pytest.mark.parametrize("forged", ["abc", "a", "!!", "ü", "{}", "A" * 60, 7, True, ["x"], {"page": 2}])
def test_what_is_no_handle_is_refused(forged: Any) -> None:
    with pytest.raises(CallError, match="cannot be fetched"):
        Handles(KEY).step(tool(), {"next": forged})


def test_a_handle_is_good_for_its_tool_and_its_key_alone() -> None:
    handle = Handles(KEY).seal(tool(), Step({}))
    with pytest.raises(CallError):
        Handles(KEY).step(tool("crm_other"), {"next": handle})
    with pytest.raises(CallError):
        Handles(b"o" * 32).step(tool(), {"next": handle})


def test_a_handle_ends_after_an_hour() -> None:
    now = [1_000_000.0]
    handles = Handles(KEY, clock=lambda: now[0])
    handle = handles.seal(tool(), Step({"page": 2}))
    now[0] += 3599
    assert handles.step(tool(), {"next": handle}).arguments == {"page": 2}
    now[0] += 2
    with pytest.raises(CallError) as error:
        handles.step(tool(), {"next": handle})
    assert "has expired" in error.value.errors[0].what


def test_arguments_beside_a_handle_must_be_what_it_holds() -> None:
    handles = Handles(KEY)
    handle = handles.seal(tool(), Step({"id": 7, "page": 2}))
    assert handles.step(tool(), {"id": 7, "next": handle}).arguments == {"id": 7, "page": 2}
    for other in ({"id": 8}, {"page": 1}, {"more": 1}):
        with pytest.raises(CallError) as error:
            handles.step(tool(), {**other, "next": handle})
        assert "give it alone" in error.value.errors[0].what


@pytest.mark.parametrize("absent", [None, ""])
def test_no_handle_yet(absent: str | None) -> None:
    assert Handles(KEY).step(tool(), {"id": 7, "next": absent}) == Step({"id": 7})
    assert Handles(KEY).step(tool(), {"id": 7}) == Step({"id": 7})


def test_a_tool_that_is_not_paged_keeps_its_own_argument_of_that_name() -> None:
    assert Handles(KEY).step(tool(paged=False), {"next": "monday"}) == Step({"next": "monday"})


def test_a_links_query_takes_the_place_of_the_built_one() -> None:
    request = HttpRequest("GET", "http://h/things?top=2", (("Accept", "x"),))
    assert Step({}).ask(request) == request
    asked = Step({"top": 2}, query="$skiptoken=a%20b").ask(request)
    assert (asked.url, asked.headers) == ("http://h/things?$skiptoken=a%20b", request.headers)


def test_the_key_is_not_shown() -> None:
    assert "kkkk" not in repr(Handles(KEY))
