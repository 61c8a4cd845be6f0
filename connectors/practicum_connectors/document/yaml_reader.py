"""YAML as OpenAPI means it: the JSON subset of YAML 1.2, read from the event stream.

`NO` stays a string, dates stay strings, every key is text as written (`200`, `on`, `null`). The tree is built without
recursion, and an alias counts as often as it is used, so that neither depth nor an alias bomb can hurt.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml
from pydantic import JsonValue

from practicum.errors import DocumentError
from practicum_connectors.document.limits import MAX_DEPTH, MAX_NODES

_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, JsonValue] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_MERGE = "<<"
_BOMB = "Send a smaller document, or one without nested aliases."


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end has not been seen."""

    value: dict[str, JsonValue] | list[JsonValue]
    anchor: str | None
    nodes_before: int
    key: str | None = None
    merges: list[JsonValue] = field(default_factory=list[JsonValue])


@dataclass(slots=True)
class _Tree:
    """The document as far as it has been read."""

    stack: list[_Open] = field(default_factory=list[_Open])
    anchors: dict[str, tuple[JsonValue, int]] = field(default_factory=dict[str, tuple[JsonValue, int]])
    nodes: int = 0
    root: JsonValue = None

    def count(self, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise DocumentError(f"The YAML document unfolds to more than {MAX_NODES} values.", mend=_BOMB)

    def open(self, value: dict[str, JsonValue] | list[JsonValue], event: Any) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise DocumentError(f"The YAML document nests deeper than {MAX_DEPTH} levels{_place(event)}.", mend=_BOMB)
        if self.expects_key():
            raise DocumentError(f"A mapping or list stands as a key{_place(event)}.", mend="Use plain text keys.")
        self.count(1)
        self.stack.append(_Open(value, event.anchor, self.nodes))

    def close(self) -> None:
        done = self.stack.pop()
        if done.merges and isinstance(done.value, dict):
            for merged in done.merges:
                _merge(done.value, merged)
        self.add(done.value)
        if done.anchor is not None:
            self.anchors[done.anchor] = (done.value, self.nodes - done.nodes_before + 1)

    def expects_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None

    def add(self, value: JsonValue) -> None:
        if not self.stack:
            self.root = value
            return
        parent = self.stack[-1]
        if isinstance(parent.value, list):
            parent.value.append(value)
            return
        key, parent.key = parent.key or "", None
        if key == _MERGE:
            parent.merges.extend(value if isinstance(value, list) else [value])
        else:
            parent.value[key] = value

    def scalar(self, event: Any) -> None:
        self.count(1)
        text: str = event.value
        if self.expects_key():
            self.stack[-1].key = text
            value: JsonValue = text
        else:
            plain = event.implicit[0] and not event.style
            value = _resolve(text) if plain else _tagged(event.tag, text)
            self.add(value)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, 1)

    def alias(self, event: Any) -> None:
        if event.anchor not in self.anchors:
            raise DocumentError(
                f"The alias *{event.anchor} stands before or inside what it names{_place(event)}.",
                mend="Write recursion with `$ref`, not with YAML aliases.",
            )
        value, nodes = self.anchors[event.anchor]
        if self.expects_key():
            if not isinstance(value, str):
                raise DocumentError(f"An alias stands as a key{_place(event)}.", mend="Use plain text keys.")
            self.stack[-1].key = value
            return
        self.count(nodes)
        self.add(value)


def read_yaml(text: str) -> JsonValue:
    """The value a YAML text stands for.

    Raises:
        DocumentError: it is not YAML, nests too deep, unfolds too far, or holds more than one document.
    """
    tree = _Tree()
    documents = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            match event:
                case yaml.ScalarEvent():
                    tree.scalar(event)
                case yaml.MappingStartEvent():
                    tree.open({}, event)
                case yaml.SequenceStartEvent():
                    tree.open([], event)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    tree.close()
                case yaml.AliasEvent():
                    tree.alias(event)
                case yaml.DocumentStartEvent():
                    documents += 1
                case _:
                    pass
    except yaml.YAMLError as error:
        raise DocumentError(f"The document is not valid YAML: {_flat(error)}", mend="Mend the YAML there.") from None
    if documents > 1:
        raise DocumentError("The YAML text holds more than one document.", mend="Send one document.")
    return tree.root


def _resolve(text: str) -> JsonValue:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "-+.0123456789":
        return text
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) < 400 else text  # noqa: PLR2004 (Python refuses integers of thousands of digits)
    if _OCTAL.fullmatch(text):
        return int(text, 0)
    if _HEXADECIMAL.fullmatch(text):
        return int(text, 0)
    return float(text) if _FLOAT.fullmatch(text) else text


def _tagged(tag: str | None, text: str) -> JsonValue:
    """A quoted or tagged scalar; only the core tags mean anything, others leave text."""
    if tag in {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float", "tag:yaml.org,2002:bool", "tag:yaml.org,2002:null"}:
        return _resolve(text)
    return text


def _merge(target: dict[str, JsonValue], merged: JsonValue) -> None:
    if isinstance(merged, dict):
        for key, value in merged.items():
            target.setdefault(key, value)


def _place(event: Any) -> str:
    mark = event.start_mark
    return f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""


def _flat(error: yaml.YAMLError) -> str:
    return " ".join(str(error).split())
