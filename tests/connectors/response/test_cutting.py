import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from practicum_connectors.response.content import html_to_text
from practicum_connectors.response.cut import compact, cut_text, fit

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=60,
)


@given(JSON, st.integers(200, 2000))
def test_what_fits_is_whole_and_what_does_not_is_still_json(value: Any, limit: int) -> None:
    fitted = fit(value, limit)
    read = json.loads(fitted.text)
    fitted.text.encode()
    assert read == fitted.value
    if len(compact(value)) <= limit:
        assert (read, fitted.left_out) == (value, ())


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.text(max_size=300), min_size=1), min_size=1),
    st.integers(500, 3000),
)
def test_lists_lose_items_from_their_end(items: list[Any], limit: int) -> None:
    fitted = fit({"items": items, "total": len(items)}, limit)
    read = json.loads(fitted.text)
    assert read["total"] == len(items)
    assert len(fitted.text) <= limit * 1.3
    if len(read["items"]) > 1:
        assert read["items"] == items[: len(read["items"])]
    assert bool(fitted.left_out) == (read["items"] != items)


def test_one_giant_item_is_shortened_inside() -> None:
    fitted = fit([{"id": 1, "text": "x" * 100_000, "tags": list(range(5000))}, {"id": 2}], 2000)
    (item,) = json.loads(fitted.text)
    assert item["id"] == 1
    assert item["text"].startswith("xxx")
    assert "more characters" in item["text"]
    assert item["tags"][:3] == [0, 1, 2]
    assert len(fitted.text) < 2500
    assert any("of 2 items" in note for note in fitted.left_out)
    assert any("[0].tags shows" in note for note in fitted.left_out)
    assert "Long texts are shortened." in fitted.left_out


def test_many_members() -> None:
    fitted = fit({f"k{number}": "v" * 90 for number in range(500)}, 1000)
    assert 1 < len(json.loads(fitted.text)) < 500
    assert len(fitted.text) < 1300
    assert any("of 500 members" in note for note in fitted.left_out)


@pytest.mark.parametrize(("text", "limit", "kept"), [("ab", 2, "ab"), ("abc", 2, "ab"), ("ab\ncd\nef", 7, "ab\ncd\n")])
def test_texts(text: str, limit: int, kept: str) -> None:
    assert cut_text(text, limit)[0] == kept


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a<br>b</p><style>x{}</style>c", "a\nb\nc"),
        ("<head><title>t</title><body>b", "b"),
        ("a < b &lt; c", "a < b < c"),
        ("<table><tr><td>1</td> <td>2</td></tr></table>", "1 2"),
        ("<<<", "<<<"),
    ],
)
def test_html(html: str, text: str) -> None:
    assert html_to_text(html) == text
