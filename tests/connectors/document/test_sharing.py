"""Equal parts of a document are held once, and the document stays what its text says."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from practicum_connectors import load_document
from practicum_connectors.document.parse import parse

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30)


@given(document=st.dictionaries(st.text(min_size=1), VALUES), indent=st.sampled_from([None, 2]))
def test_what_is_read_is_what_the_text_says(document: dict[str, Any], indent: int | None) -> None:
    text = json.dumps(document, ensure_ascii=False, indent=indent).encode(errors="surrogatepass")
    try:
        text.decode()
    except UnicodeDecodeError:
        text = json.dumps(document).encode()
    assert json.dumps(parse(text)) == json.dumps(document)


def test_equal_objects_lists_and_texts_are_one() -> None:
    read: Any = parse(
        b'{"a": {"type": ["string", "null"]}, "b": {"type": ["string", "null"]}, "c": ["a text", "a text"]}'
    )
    assert read["a"] is read["b"]
    assert read["c"][0] is read["c"][1]


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", "true"), ("1", "1.0"), ("0", "false"), ('"1"', "1"), ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'), ("[]", "{}")],
)
def test_what_merely_looks_equal_stays_apart(one: str, other: str) -> None:
    text = f'{{"a": {{"default": {one}}}, "b": {{"default": {other}}}, "c": [{one}], "d": [{other}]}}'
    assert json.dumps(parse(text.encode())) == text


def test_text_beyond_ascii_is_read_wherever_it_stands() -> None:
    words = ["schön", "☎", "🚀" * 3, "a,🚀,b"] * 20_000
    text = "\ufeff" + json.dumps({"🚀": words}, ensure_ascii=False)
    assert parse(text.encode()) == {"🚀": words}


def test_a_digest_is_that_of_the_whole_text_although_it_is_written_in_parts() -> None:
    root: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {},
        "paths": {"/x": {"get": {}}, "/é": {}},
        "components": {"schemas": {}},
        "x": [],
    }
    document = load_document(root)
    whole = json.dumps(root, separators=(",", ":")).encode()
    assert (document.canonical, document.digest) == (whole, hashlib.sha256(whole).hexdigest())
