"""Tables are cut by whole rows."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from practicum_connectors.response.tables import show_rows, split_rows

CELLS = st.text(st.sampled_from('ab,"\n ü'), max_size=12)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=20), st.integers(60, 300))
def test_rows_stay_whole_and_none_is_lost(rows: list[list[str]], limit: int) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([["one", "two"], *rows])
    shown: list[list[str]] = []
    while True:
        page = show_rows(text.getvalue(), limit, len(shown))
        head, *body = csv.reader(io.StringIO(page.text))
        assert head == ["one", "two"]
        assert len(body) == page.shown
        assert len(page.text) <= limit
        shown.extend(body)
        if not page.left:
            break
    assert shown == rows


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a\nb\n", ["a\n", "b\n"]),
        ("a\r\nb", ["a\r\n", "b"]),
        ('"a\nb",c\nd\n', ['"a\nb",c\n', "d\n"]),
        ('a"\nb\nc\n', ['a"\n', "b\n", "c\n"]),
        ("", []),
    ],
)
def test_what_a_row_is(text: str, rows: list[str]) -> None:
    assert split_rows(text) == rows


def test_a_giant_row_is_shown_in_part() -> None:
    page = show_rows("head\n" + "x" * 500 + "\nlast\n", 100)
    assert (len(page.text), page.shown, page.left) == (100, 1, 1)
    assert show_rows("", 100).text == ""
