"""Streams: what is counted as it arrives, and what is read of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from practicum_connectors.response.streams import (
    BOUNDS,
    Bounds,
    Kind,
    Stream,
    read_events,
    read_lines,
    stream_kind,
    watch,
)


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("text/event-stream; charset=utf-8", "events"),
        ("application/x-ndjson", "lines"),
        ("Application/JSONL", "lines"),
        ("application/json;stream=watch", "lines"),
        ("application/geo+json-seq", "lines"),
        ("application/json", None),
        ("text/plain", None),
        ("", None),
    ],
)
def test_which_answers_are_streams(content_type: str, kind: str | None) -> None:
    assert stream_kind(content_type) == kind
    assert (watch(content_type) is None) == (kind is None)


def test_every_kind_is_bounded() -> None:
    for bounds in BOUNDS.values():
        assert bounds.items > 0
        assert bounds.bytes <= 16 * 1024 * 1024
        assert bounds.seconds < 30


def count_until_enough(kind: Kind, data: bytes, cuts: list[int], items: int) -> int | None:
    """How many bytes were there when it was enough."""
    stream = Stream(kind, Bounds(items, 10**9, 1.0))
    places = sorted({min(cut, len(data)) for cut in cuts} | {len(data)})
    before = 0
    for place in places:
        if stream.enough(data[before:place]):
            return place
        before = place
    return None


EVENTS = b": hello\n\ndata: 1\n\nevent: x\r\ndata: {\r\ndata: }\r\n\r\nid: 3\n\ndata:4\r\rdata: 5\n\n"


@given(st.lists(st.integers(0, len(EVENTS)), max_size=20))
def test_events_are_counted_however_they_are_cut(cuts: list[int]) -> None:
    assert count_until_enough("events", EVENTS, cuts, items=5) is None
    assert count_until_enough("events", EVENTS, cuts, items=4) == len(EVENTS)


LINES = b'{"a": "long enough to be longer than a beginning"}\n\n \r\n{"a":2}\r\n3\n'


@given(st.lists(st.integers(0, len(LINES)), max_size=20))
def test_lines_are_counted_however_they_are_cut(cuts: list[int]) -> None:
    assert count_until_enough("lines", LINES, cuts, items=4) is None
    assert count_until_enough("lines", LINES, cuts, items=3) == len(LINES)


def test_a_stream_without_items_is_bounded_by_its_bytes() -> None:
    stream = Stream("events", Bounds(10, 1000, 1.0))
    said = [stream.enough(b"x" * 100) for _ in range(12)]
    assert said == [False] * 9 + [True] * 3


@pytest.mark.parametrize(
    ("text", "complete", "events"),
    [
        ("data: a\ndata: b\n\n", False, [{"data": "a\nb"}]),
        ('event: add\nid: 7\ndata: {"n": 1}\n\n', False, [{"event": "add", "id": "7", "data": {"n": 1}}]),
        (": ping\n\nretry: 10\n\ndata\n\n", False, [{"data": ""}]),
        ("\ufeffdata:1\r\n\r\ndata:2\r\rdata: 3", False, [{"data": 1}, {"data": 2}]),
        ("data: 1\n\ndata: 2", True, [{"data": 1}, {"data": 2}]),
        ("data: NaN\n\ndata: [DONE]\n\n", True, [{"data": None}, {"data": "[DONE]"}]),
        ("", True, []),
    ],
)
def test_events(text: str, complete: bool, events: list[Any]) -> None:
    assert read_events(text, complete=complete) == events


@pytest.mark.parametrize(
    ("text", "complete", "values"),
    [
        ('{"a":1}\n\n[2]\r\nnull\n', True, [{"a": 1}, [2], None]),
        ('{"a":1}\n{"a"', False, [{"a": 1}]),
        ('{"a":1}\n{"a"', True, None),
        ('{"a"\n{"a":1}\n', False, None),
        ('\x1e{"a":\n1}\n\x1e{"a":2}\n', True, [{"a": 1}, {"a": 2}]),
        ('{"a":"x\u2028y"}', True, [{"a": "x\u2028y"}]),
        ("", True, []),
    ],
)
def test_lines(text: str, complete: bool, values: list[Any] | None) -> None:
    assert read_lines(text, complete=complete) == values
