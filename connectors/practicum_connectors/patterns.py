"""JSON Schema validators whose regular expressions end: a document's pattern must not be able to stop the process."""

from collections.abc import Callable, Iterator
from typing import Any, cast

import regex  # takes a time limit, which `re` does not
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend  # pyright: ignore[reportUnknownVariableType]

_SECONDS = 0.2  # a pattern that is fit for its purpose needs microseconds

_Check = Callable[[Any, Any, Any, Any], Iterator[ValidationError]]


class SlowPatternError(ValueError):
    """A pattern cannot be evaluated in the time that it is given, or not at all."""


def found(pattern: str, text: str) -> bool:
    """Whether a pattern occurs in a text.

    Raises:
        SlowPatternError: it cannot be told in a bearable time, or the pattern is none.
    """
    try:
        return regex.search(pattern, text, timeout=_SECONDS) is not None
    except TimeoutError:
        raise SlowPatternError(f"the pattern {pattern!r} takes too long") from None
    except regex.error:
        raise SlowPatternError(f"the pattern {pattern!r} cannot be read") from None


def _pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not found(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "object"):
        for pattern, subschema in patterns.items():
            for name, value in instance.items():
                if found(pattern, name):
                    yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, rest: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, value in instance.items():
        if name in known or any(found(pattern, name) for pattern in patterns):
            continue
        if rest is False:
            yield ValidationError(f"Additional properties are not allowed ({name!r} was unexpected)")
            return
        yield from validator.descend(value, rest, path=name)


def _required(validator: Any, required: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    """One error for all that an object lacks, where the library makes one for each."""
    if validator.is_type(instance, "object"):
        missing = [name for name in required if name not in instance]
        if missing:
            yield ValidationError(f"{len(missing)} required properties are missing")


def _told(check: _Check) -> _Check:
    def checked(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        try:
            yield from check(validator, value, instance, schema)
        except SlowPatternError as error:
            yield ValidationError(f"cannot be checked: {error}")

    return checked


_CHECKS: dict[str, _Check] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "required": _required,
}
StrictValidator = cast("type[Draft202012Validator]", extend(Draft202012Validator, _CHECKS))
"""Raises `SlowPatternError` where it cannot tell: for fences."""
BoundedValidator = cast(
    "type[Draft202012Validator]", extend(Draft202012Validator, {name: _told(check) for name, check in _CHECKS.items()})
)
"""Counts what cannot be checked as what does not fit: for arguments and answers."""
