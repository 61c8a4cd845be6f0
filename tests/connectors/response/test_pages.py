"""From page to page: what `next` gives is fetched from a system, until nothing is left."""

import csv
import io
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from practicum.contracts.connectors import ConnectorSpec
from practicum.contracts.tools import CallStatus, Observation
from practicum.errors import CallError
from practicum_connectors import CompiledConnector, load_document
from practicum_connectors.response.lists import find_list
from tests.connectors.documents import Json, compiled
from tests.connectors.response.paging_system import CSV, DOCUMENT, IDS, PagingSystem
from tests.serving import in_a_thread

MOST_PAGES = 12


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[PagingSystem, str]]:
    system = PagingSystem()
    with in_a_thread(system) as url:
        yield system, url


@pytest.fixture
async def connector(served: tuple[PagingSystem, str]) -> AsyncIterator[CompiledConnector]:
    served[0].asked.clear()
    async with compiled(DOCUMENT, served[1]) as made:
        yield made


async def called(connector: CompiledConnector, tool: str, arguments: Json, limit: int = 20_000) -> Observation:
    return connector.observe(await connector.send(connector.prepare(tool, arguments)), limit)


async def pages(connector: CompiledConnector, tool: str, arguments: Json, limit: int = 20_000) -> list[Observation]:
    seen = [await called(connector, tool, arguments, limit)]
    while seen[-1].next is not None:
        assert len(seen) < MOST_PAGES
        seen.append(await called(connector, tool, {"next": seen[-1].next}, limit))
    return seen


def ids(page: Observation) -> list[str]:
    listing = find_list(json.loads(page.content))
    assert listing is not None
    items: list[Any] = listing.items
    return [item["id"] for item in items]


@pytest.mark.parametrize(
    ("tool", "arguments", "sizes"),
    [
        ("crm_offset", {}, [3, 3, 1]),
        ("crm_filter", {"limit": 2, "q": "x"}, [2, 2, 2, 1]),
        ("crm_filter", {"limit": 7}, [7, 0]),
        ("crm_page", {}, [3, 3, 1]),
        ("crm_cursor", {}, [3, 3, 1]),
        ("crm_stripe", {"limit": 4}, [4, 3]),
        ("crm_odata", {"top": 2}, [2, 2, 2, 1]),
        ("crm_link", {"q": "a b"}, [3, 3, 1]),
        ("crm_all", {}, [7]),
        ("crm_lines", {}, [7]),
    ],
)
async def test_every_way_of_paging(connector: CompiledConnector, tool: str, arguments: Json, sizes: list[int]) -> None:
    seen = await pages(connector, tool, arguments)
    assert [len(ids(page)) for page in seen] == sizes
    assert [name for page in seen for name in ids(page)] == IDS


@pytest.mark.parametrize("tool", ["crm_all", "crm_wrapped", "crm_lines", "crm_cursor", "crm_odata"])
@pytest.mark.parametrize("limit", [250, 330, 600])
async def test_a_list_that_was_cut_goes_on_where_it_was_cut(
    connector: CompiledConnector, tool: str, limit: int
) -> None:
    seen = await pages(connector, tool, {}, limit)
    assert [name for page in seen for name in ids(page)] == IDS
    assert len(seen) > 1
    assert all(len(page.content) <= limit for page in seen)


async def test_a_table_that_was_cut_goes_on_with_its_head(connector: CompiledConnector) -> None:
    seen = await pages(connector, "crm_csv", {}, 50)
    rows = [list(csv.reader(io.StringIO(page.content))) for page in seen]
    assert {tuple(page[0]) for page in rows} == {("id", "text")}
    assert [row for page in rows for row in page[1:]] == list(csv.reader(io.StringIO(CSV)))[1:]
    assert len(seen) > 2


async def test_the_query_of_a_link_is_asked_as_it_was_given(
    connector: CompiledConnector, served: tuple[PagingSystem, str]
) -> None:
    await pages(connector, "crm_odata", {"top": 4})
    assert served[0].asked == ["/odata?%24top=4", "/odata?$top=4&$skiptoken=4"]


async def test_rules_see_the_whole_call_behind_a_handle(connector: CompiledConnector) -> None:
    first = await called(connector, "crm_offset", {"limit": 2})
    assert connector.expand("crm_offset", {"next": first.next}) == {"limit": 2, "offset": 2}
    assert connector.expand("crm_offset", {"limit": 2}) == {"limit": 2}


async def test_a_handle_of_another_tool_or_connector_is_refused(
    connector: CompiledConnector, served: tuple[PagingSystem, str]
) -> None:
    first = await called(connector, "crm_offset", {})
    with pytest.raises(CallError, match="cannot be fetched"):
        connector.prepare("crm_page", {"next": first.next})
    async with compiled(DOCUMENT, served[1]) as other:
        with pytest.raises(CallError, match="cannot be fetched"):
            other.prepare("crm_offset", {"next": first.next})


async def test_connectors_that_share_a_key_open_each_others_handles(served: tuple[PagingSystem, str]) -> None:
    first, second = (compiled_with(b"k" * 32, served[1]) for _ in range(2))
    async with first, second:
        page = await called(first, "crm_offset", {})
        assert ids(await called(second, "crm_offset", {"next": page.next})) == IDS[3:6]


def compiled_with(key: bytes, url: str) -> CompiledConnector:
    spec = ConnectorSpec(name="crm", base_url=url, private_network=True)
    return CompiledConnector.compile(spec, load_document(DOCUMENT), page_key=key)


@pytest.mark.parametrize(("tool", "first"), [("crm_events", {"data": {"n": 1}}), ("crm_ticks", {"n": 1})])
async def test_an_endless_stream_is_told_as_far_as_it_came(
    connector: CompiledConnector, tool: str, first: Json
) -> None:
    observed = connector.shape(await connector.send(connector.prepare(tool, {}), timeout_seconds=2.0))
    seen = observed.observation
    assert (seen.status, seen.http_status, seen.truncated) == (CallStatus.OK, 200, True)
    assert json.loads(seen.content)[0] == first
    assert any("a stream that goes on" in warning for warning in seen.warnings)
    assert observed.payloads[0][1].complete is False
    assert seen.next is None
