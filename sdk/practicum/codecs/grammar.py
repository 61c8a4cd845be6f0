"""GBNF, the grammars that llama.cpp holds decoding to, made from JSON Schemas."""

import json
from collections.abc import Sequence

from pydantic import JsonValue

from practicum.codecs.schemas import Schemas, choices, kind, properties, required
from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Tool

_BASE = r"""
ws ::= " "?
char ::= [^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F])
string ::= "\"" char* "\""
integer ::= "-"? ("0" | [1-9] [0-9]{0,17})
number ::= integer ("." [0-9]{1,12})?
boolean ::= "true" | "false"
null ::= "null"
member ::= string ":" ws value
object ::= "{" (member ("," ws member)*)? "}"
array ::= "[" (value ("," ws value)*)? "]"
value ::= object | array | string | number | boolean | null
"""
_NAMED = {"string", "integer", "number", "boolean", "null"}
_DEPTH = 8
"""Objects within objects deeper than this are held to JSON alone."""


def literal(text: str) -> str:
    """A GBNF literal that matches exactly this text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def words(mark: str) -> str:
    """Text with any character that holds nothing that reads as the first two letters of a mark."""
    first, second = (f"\\{letter}" if letter in r"[]\^-" else letter for letter in mark[:2])
    return rf"[^{first}\x00-\x20] ([^{first}\x00] | {literal(mark[0])} [^{second}\x00])*"


def thought(opening: str, closing: str) -> str:
    """What a model thinks before it speaks, if it thinks."""
    return rf"({literal(opening)} ([^<\x00] | {literal('<')} [^/\x00])* {literal(closing)} [\n ]*)?"


def object_call(grammar: "Grammar", tools: Sequence[Tool], arguments: str = "arguments") -> str:
    """Add the rules of a call as a JSON object, its name first, and return the name of the first.

    Args:
        grammar: in the making.
        tools: of which one is called.
        arguments: how the member with the arguments is called.
    """
    bodies = [
        f"{literal(json.dumps(tool.name) + ',')} ws {literal(json.dumps(arguments) + ':')} ws "
        + grammar.arguments(f"tool-{index}", tool.input_schema)
        for index, tool in enumerate(tools)
    ]
    grammar.add("tool", " | ".join(bodies))
    return grammar.add("object-call", f'{literal("{" + json.dumps("name") + ":")} ws tool "}}"')


class Grammar:
    """A grammar in the making: rules are added, and the whole is written at the end.

    White space is one space at most, after a colon or a comma, so that a small model cannot lose itself in it.
    Keywords that narrow a value beyond its type (`pattern`, `minimum`, `oneOf` ...) are not held; whoever makes the
    call validates it.
    """

    def __init__(self) -> None:
        self._rules: list[str] = []

    def add(self, name: str, body: str) -> str:
        """Add a rule and return its name."""
        self._rules.append(f"{name} ::= {body}")
        return name

    def arguments(self, name: str, schema: JsonObject) -> str:
        """Add the rules of a tool's arguments, an object, and return the name of the first."""
        return self._object(Schemas(schema), name, schema, 0)

    def text(self, root: str) -> str:
        """The whole grammar.

        Args:
            root: body of the rule that everything must match.
        """
        return "\n".join([f"root ::= {root}", *self._rules]) + _BASE

    def _object(self, schemas: Schemas, name: str, schema: JsonValue, depth: int) -> str:
        plain = schemas.plain(schema)
        fields = list(properties(plain).items())
        if not fields:
            return self.add(name, literal("{}") if plain.get("additionalProperties") is False else "object")
        needed = required(plain)
        # Rule `i-first` goes on while no property was written yet, `i-rest` once one was: the comma differs.
        for index, (field, inner) in enumerate(fields):
            body = self._value(schemas, f"{name}-{index}", inner, depth + 1)
            pair = f"{literal(json.dumps(field, ensure_ascii=False) + ':')} ws {body}"
            last = index + 1 == len(fields)
            after = "" if last else f" {name}-{index + 1}-rest"
            skip_first = '""' if last else f"{name}-{index + 1}-first"
            skip_rest = '""' if last else f"{name}-{index + 1}-rest"
            optional = field not in needed
            self.add(f"{name}-{index}-first", f"{pair}{after}" + (f" | {skip_first}" if optional else ""))
            self.add(f"{name}-{index}-rest", f'"," ws {pair}{after}' + (f" | {skip_rest}" if optional else ""))
        return self.add(name, f'"{{" {name}-0-first "}}"')

    def _value(self, schemas: Schemas, name: str, schema: JsonValue, depth: int) -> str:
        plain = schemas.plain(schema)
        if values := choices(plain):
            return self.add(name, " | ".join(literal(json.dumps(value, ensure_ascii=False)) for value in values))
        match kind(plain):
            case "object" if depth < _DEPTH:
                return self._object(schemas, name, plain, depth)
            case "array" if depth < _DEPTH:
                item = self._value(schemas, f"{name}-item", plain.get("items"), depth + 1)
                return self.add(name, f'"[" ({item} ("," ws {item})*)? "]"')
            case str(word) if word in _NAMED:
                return word
            case _:
                return "value"
