from typing import Any

import pytest

from practicum.errors import DocumentError
from practicum_connectors import load_document
from practicum_connectors.document.yaml_reader import read_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NO", "NO"),
        ("yes", "yes"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("2024-01-31", "2024-01-31"),
        ("2024-01-31T10:00:00Z", "2024-01-31T10:00:00Z"),
        ("12:30:45", "12:30:45"),
        ("0123", 123),
        ("0o17", 15),
        ("0x1f", 31),
        ("1_000", "1_000"),
        ("1.0", 1.0),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.2.3", "1.2.3"),
        ("-7", -7),
        ("'7'", "7"),
        ('"true"', "true"),
        ("!!str 7", "7"),
        ("!!int '7'", 7),
        ("!!timestamp 2024-01-31", "2024-01-31"),
        ("!!python/object/apply:os.system ['true']", ["true"]),
        ("9007199254740993", 9007199254740993),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_scalars_are_read_as_json_means_them(text: str, value: Any) -> None:
    read: Any = read_yaml(f"key: {text}")
    assert read == {"key": value}
    assert type(read["key"]) is type(value)


def test_keys_are_text_as_written() -> None:
    assert read_yaml("200: a\nNO: b\ntrue: c\nnull: d\n1.0: e") == {
        "200": "a",
        "NO": "b",
        "true": "c",
        "null": "d",
        "1.0": "e",
    }


def test_anchors_aliases_and_merges() -> None:
    text = "base: &b {x: 1, y: 2}\none: {<<: *b, y: 3}\ntwo: {<<: [*b, {z: 4}]}\nlist: [*b, *b]\n&k key: v\nother: *k"
    assert read_yaml(text) == {
        "base": {"x": 1, "y": 2},
        "one": {"y": 3, "x": 1},
        "two": {"x": 1, "y": 2, "z": 4},
        "list": [{"x": 1, "y": 2}, {"x": 1, "y": 2}],
        "key": "v",
        "other": "key",
    }


def test_block_texts_and_nesting() -> None:
    assert read_yaml("a:\n  - b: |\n      line\n      next\n  - - 1\n    - {c: []}\n") == {
        "a": [{"b": "line\nnext\n"}, [1, {"c": []}]]
    }


def test_an_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [" + ", ".join("xxxxxxxxxx") + "]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(DocumentError, match="unfolds"):
        load_document("\n".join(lines))


@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 100_000 + "x", "a: " + "{a: " * 300 + "1" + "}" * 300])
def test_depth_is_bounded(text: str) -> None:
    with pytest.raises(DocumentError, match=r"deeper|not valid YAML"):
        read_yaml(text)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a: &a {b: *a}", "before or inside"),
        ("a: *nothing", "alias"),
        ("a: 1\n---\nb: 2", "more than one"),
        ("? {a: 1}\n: b", "key"),
        ("? [a]\n: b", "key"),
        ("a: [1, 2", "not valid YAML"),
        ("a: b: c", "not valid YAML"),
    ],
)
def test_what_has_no_meaning_as_json_is_refused(text: str, word: str) -> None:
    with pytest.raises(DocumentError, match=word):
        read_yaml(text)
