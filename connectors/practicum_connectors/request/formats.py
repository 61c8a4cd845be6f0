"""The formats that are checked before a call: those a system surely refuses and a model can mend."""

import base64
import binascii
import functools

from jsonschema import FormatChecker

_BITS = {"int32": 31, "int64": 63}

EXAMPLES = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "email": "jo@example.com",
}
"""What a value of a format looks like, for messages."""


def _within(bits: int, value: object) -> bool:
    return not isinstance(value, int) or isinstance(value, bool) or -(1 << bits) <= value < 1 << bits


def _is_byte(value: object) -> bool:
    if not isinstance(value, str):
        return True
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _checker() -> FormatChecker:
    checker = FormatChecker(formats=("date", "date-time", "email", "ipv4", "ipv6", "uuid"))
    for name, bits in _BITS.items():
        checker.checks(name)(functools.partial(_within, bits))
    checker.checks("byte")(_is_byte)
    return checker


FORMATS = _checker()
"""Checks them; shared by all validators."""
