"""Whether arguments fit a tool, said so that a model can mend them."""

import json
from collections.abc import Iterable
from typing import Any, cast

from jsonschema.exceptions import ValidationError

from practicum.contracts.base import JsonObject
from practicum.contracts.problems import FieldProblem
from practicum.errors import CallError
from practicum_connectors.catalogue.plan import ToolPlan
from practicum_connectors.patterns import BoundedValidator
from practicum_connectors.request.formats import EXAMPLES, FORMATS

_MOST_DEPTH = 64
_MOST_PROBLEMS = 8
_MOST_VALUE_CHARACTERS = 80
_MOST_NAMES = 20
_UNIONS = frozenset({"anyOf", "oneOf"})


class ArgumentCheck:
    """Checks arguments against one tool's whole schema, of which a model may see less; made once for many calls."""

    def __init__(self, plan: ToolPlan, definitions: JsonObject) -> None:
        """Prepare the schema.

        Args:
            plan: the tool.
            definitions: what its schemas refer to.
        """
        self._tool = plan.tool
        whole: Any = {
            "type": "object",
            "properties": {key: argument.schema for key, argument in plan.arguments.items()},
            "required": [key for key, argument in plan.arguments.items() if argument.required],
            "additionalProperties": False,
            "$defs": definitions,
        }
        self._validator = BoundedValidator(whole, format_checker=FORMATS)

    def check(self, arguments: JsonObject) -> None:
        """Say what is wrong with the arguments, all of it.

        Raises:
            CallError: they do not fit.
        """
        if _is_deeper(arguments, _MOST_DEPTH):
            raise CallError(
                f"The arguments of the tool {self._tool.name} are nested more than {_MOST_DEPTH} levels deep.",
                mend="Call it again with less inside of each other.",
                errors=(FieldProblem(where="arguments", what=f"must not nest deeper than {_MOST_DEPTH} levels"),),
            )
        found = cast("Iterable[ValidationError]", self._validator.iter_errors(arguments))  # pyright: ignore[reportUnknownMemberType]
        errors = sorted(found, key=lambda error: [str(step) for step in error.absolute_path])
        if errors:
            raise CallError(
                f"The arguments do not fit the tool {self._tool.name}.",
                mend="Call it again with the arguments corrected.",
                errors=tuple(explain(errors)),
            )


def explain(errors: Iterable[ValidationError]) -> list[FieldProblem]:
    """Faults in words, the nearest cause of each, at most a few."""
    problems: list[FieldProblem] = []
    for error in errors:
        for cause in _causes(error):
            problem = FieldProblem(where=_where(cause), what=_what(cause))
            if problem not in problems:
                problems.append(problem)
    return problems[:_MOST_PROBLEMS]


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether lists and objects stand in each other more often than so; told without descending into them."""
    layer: list[Any] = [value]
    for _ in range(levels):
        inside = [inner for outer in layer for inner in _items(outer)]
        layer = [inner for inner in inside if isinstance(inner, dict | list)]
        if not layer:
            return False
    return True


def _items(value: Any) -> list[Any]:
    return list(cast("dict[str, Any]", value).values()) if isinstance(value, dict) else cast("list[Any]", value)


def _causes(error: ValidationError) -> list[ValidationError]:
    """The branch of a union that was nearest to fitting, or the error itself."""
    context = error.context or []
    if error.validator not in _UNIONS or not context:
        return [error]
    branches: dict[Any, list[ValidationError]] = {}
    for inner in context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    deep = [faults for faults in branches.values() if not any(_is_wrong_type(fault, error) for fault in faults)]
    if len(deep) != 1:
        return [error]
    return [cause for fault in deep[0] for cause in _causes(fault)]


def _is_wrong_type(fault: ValidationError, parent: ValidationError) -> bool:
    return fault.validator == "type" and len(fault.absolute_path) == len(parent.absolute_path)


def _where(error: ValidationError) -> str:
    return ".".join(map(str, error.absolute_path)) or "arguments"


def _what(error: ValidationError) -> str:
    expected: Any = error.validator_value
    given = _shown(error.instance)
    match error.validator:
        case "required":
            there = cast("JsonObject", error.instance)
            missing = [name for name in cast("list[str]", expected) if name not in there]
            text = f"is missing {_named(missing)}"
        case "additionalProperties" | "unevaluatedProperties":
            text = _unknown_names(error)
        case "type":
            kinds = cast("list[str]", expected) if isinstance(expected, list) else [str(expected)]
            text = f"must be {' or '.join(kinds)}, not {given}"
        case "enum":
            text = f"must be one of {_listed(cast('list[Any]', expected))}, not {given}"
        case "const":
            text = f"must be {_shown(expected)}, not {given}"
        case "format":
            example = EXAMPLES.get(str(expected))
            text = f"must be a valid {expected}{f' such as {example}' if example else ''}, not {given}"
        case "anyOf" | "oneOf":
            names = _only_required(cast("list[Any]", expected))
            count = "exactly" if error.validator == "oneOf" else "at least"
            text = f"must have {count} one of {names}" if names else f"fits none of the allowed forms: {given}"
        case _:
            text = f"{given} breaks {error.validator}: {_shown(expected)}"
    return text


def _only_required(branches: list[Any]) -> str:
    """The names that alternatives ask for, where each is nothing but `{required: [name]}`."""
    asked = [cast("list[str]", branch["required"]) for branch in branches if set(branch) == {"required"}]
    return ", ".join(" with ".join(names) for names in asked) if len(asked) == len(branches) else ""


def _unknown_names(error: ValidationError) -> str:
    known = list(cast("dict[str, Any]", cast("dict[str, Any]", error.schema).get("properties", {})))
    unknown = [name for name in cast("dict[str, Any]", error.instance) if name not in known]
    return f"has unknown {_named(unknown)}; known are {_listed(known) if known else 'none'}"


def _named(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:_MOST_NAMES]))
    return f"{shown} and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else shown


def _listed(values: list[Any]) -> str:
    shown = ", ".join(_shown(value) for value in values[:_MOST_NAMES])
    return f"{shown} ..." if len(values) > _MOST_NAMES else shown


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MOST_VALUE_CHARACTERS else f"{text[:_MOST_VALUE_CHARACTERS]}..."
