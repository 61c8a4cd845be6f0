"""A document's patterns and unions cannot stop the process, whatever they are matched against."""

import time
from typing import Any

import pytest

from practicum_connectors.patterns import BoundedValidator, SlowPatternError, StrictValidator, found

ENDLESS, TEXT = "^(a|a)*$", "a" * 60 + "!"  # tried in 2 ** 60 ways by a matcher that goes back


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": ENDLESS}, TEXT),
        ({"patternProperties": {ENDLESS: {}}}, {TEXT: 1}),
        ({"patternProperties": {ENDLESS: {}}, "additionalProperties": False}, {TEXT: 1}),
        ({"pattern": "("}, "a"),
    ],
)
def test_what_takes_too_long_does_not_fit(schema: dict[str, Any], value: Any) -> None:
    began = time.monotonic()
    bounded: Any = BoundedValidator(schema)
    assert not bounded.is_valid(value)
    strict: Any = StrictValidator(schema)
    with pytest.raises(SlowPatternError):
        strict.is_valid(value)
    assert time.monotonic() - began < 10


def test_unions_that_stand_in_each_other_come_to_an_end() -> None:
    node: Any = {"anyOf": [{"$ref": "#/$defs/t"}, {"$ref": "#/$defs/t"}, {"type": "number"}]}
    tree = {"type": "object", "required": ["n"], "properties": {"n": node}}
    schema: Any = {"properties": {"many": {"items": node}}, "$defs": {"t": tree}}
    deep: Any = "no number"
    for _ in range(24):  # 2 ** 24 ways, some ten minutes
        deep = {"n": deep}
    bounded: Any = BoundedValidator(schema)
    began = time.thread_time()
    assert not bounded.is_valid({"many": [deep] * 9})
    with pytest.raises(SlowPatternError):
        StrictValidator(schema).is_valid({"many": [deep] * 9})  # pyright: ignore[reportUnknownMemberType]
    assert time.thread_time() - began < 8
    assert bounded.is_valid({"many": [{"n": 1}] * 2_000})  # what is only long has its time
    assert not bounded.is_valid({"many": [{"n": "1"}]})


@pytest.mark.parametrize("validator", [BoundedValidator, StrictValidator])
def test_other_schemas_mean_what_they_meant(validator: Any) -> None:
    schema = {
        "properties": {"sku": {"pattern": "^[A-Z]{2}-\\d+$"}},
        "patternProperties": {"^x-": {"type": "integer"}},
        "additionalProperties": {"type": "string"},
    }
    right: list[Any] = [{"sku": "AB-1"}, {"x-a": 1, "other": "b"}, {}, {"sku": 1}, "text", []]
    for fits in right:
        assert validator(schema).is_valid(fits), fits
    for wrong in ({"sku": "ab-1"}, {"x-a": "1"}, {"other": 1}):
        assert not validator(schema).is_valid(wrong), wrong
    assert not validator({"additionalProperties": False}).is_valid({"a": 1})
    assert found("b", "abc")
    assert not found("^b", "abc")


def test_all_that_an_object_lacks_is_one_error() -> None:
    validator: Any = BoundedValidator({"required": ["a", "b", "c"]})
    assert len(list(validator.iter_errors({"b": 1}))) == 1
    assert validator.is_valid({"a": 1, "b": 2, "c": None})
    assert validator.is_valid("no object")
