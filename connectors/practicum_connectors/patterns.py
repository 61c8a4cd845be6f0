"""JSON Schema validators that end: neither a document's pattern nor its unions must be able to stop the process."""

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import regex  # takes a time limit, which `re` does not
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend  # pyright: ignore[reportUnknownVariableType]

_SECONDS = 0.2  # a pattern that is fit for its purpose needs microseconds
_SECONDS_OF_ALL: Final = 1.0
_SECONDS_OF_EACH: Final = 0.0005
"""Of processor time, for a whole value and for each part of it besides; a schema fit for its purpose needs a tenth."""
_STEPS: Final = 16
"""After so many the time is looked at."""

_Check = Callable[[Any, Any, Any, Any], Iterator[ValidationError]]


class SlowPatternError(ValueError):
    """A pattern or a schema cannot be evaluated in the time that it is given, or not at all."""


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


class _Spent:
    """What the check of one value has taken so far: unions within unions take twice as long at each level."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole
        self._end = time.thread_time() + _SECONDS_OF_ALL
        self._steps = 0
        self._counted = self._over = False

    def step(self) -> None:
        """Go on with a part of the value.

        Raises:
            SlowPatternError: all of it has taken too long.
        """
        self._steps += 1
        if (self._steps % _STEPS and not self._over) or time.thread_time() <= self._end:
            return
        if not self._counted:
            self._counted = True
            self._end += _parts_of(self._whole) * _SECONDS_OF_EACH
        if time.thread_time() > self._end:
            self._over = True  # whatever comes next is refused at once
            raise SlowPatternError("its schema takes too long")


class _Present(threading.local):
    """The check that is under way in this thread; it is held by its own steps alone, so it is gone when they are."""

    spent: "Callable[[], _Spent | None]" = staticmethod(lambda: None)


_PRESENT = _Present()


def _parts_of(value: Any) -> int:
    """How many values there are in a value, itself included."""
    count, waiting = 0, [value]
    while waiting:
        part = waiting.pop()
        count += 1
        if isinstance(part, dict):
            waiting.extend(cast("dict[str, Any]", part).values())
        elif isinstance(part, list):
            waiting.extend(cast("list[Any]", part))
    return count


def _bounded(check: _Check) -> _Check:
    def bounded(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        spent = _PRESENT.spent()
        if spent is None:
            spent = _Spent(instance)
            _PRESENT.spent = weakref.ref(spent)
        spent.step()
        yield from check(validator, value, instance, schema)

    return bounded


def _told(check: _Check) -> _Check:
    def checked(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        try:
            yield from check(validator, value, instance, schema)
        except SlowPatternError as error:
            yield ValidationError(f"cannot be checked: {error}")

    return checked


_DESCENDING: Final = (
    *("properties", "items", "prefixItems", "contains", "$ref", "$dynamicRef", "propertyNames"),
    *("anyOf", "oneOf", "allOf", "not", "if", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties"),
)
"""The keywords that lead to further schemas; those of the library as they are, within their time."""
_KNOWN = cast("dict[str, _Check]", Draft202012Validator.VALIDATORS)
_CHECKS: dict[str, _Check] = {
    **{name: _bounded(_KNOWN[name]) for name in _DESCENDING},
    "pattern": _pattern,
    "patternProperties": _bounded(_pattern_properties),
    "additionalProperties": _bounded(_additional_properties),
    "required": _required,
}
StrictValidator = cast("type[Draft202012Validator]", extend(Draft202012Validator, _CHECKS))
"""Raises `SlowPatternError` where it cannot tell: for fences."""
BoundedValidator = cast(
    "type[Draft202012Validator]", extend(Draft202012Validator, {name: _told(check) for name, check in _CHECKS.items()})
)
"""Counts what cannot be checked as what does not fit: for arguments and answers."""
