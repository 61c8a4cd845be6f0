"""JSON as systems send it, read so that it can be written again."""

import json
import math
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

_CLOSING = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Json:
    """A body that is JSON, whatever it was called."""

    value: JsonValue


def parse_json(text: str | bytes) -> Json | None:
    """The value, None if it is no JSON; NaN, infinities and numbers beyond all floats read as null."""
    try:
        return Json(cast("JsonValue", json.loads(text, parse_constant=_no_number, parse_float=_finite)))
    except (ValueError, RecursionError):
        return None


def parse_beginning(text: str) -> Json | None:
    """The whole items at the beginning of JSON that was cut off; None if nothing can be made of it.

    Args:
        text: JSON without its end.
    """
    open_: list[str] = []
    end, closing = 0, ""
    in_text = escaped = False
    for position, sign in enumerate(text):
        if in_text:
            in_text = escaped or sign != '"'
            escaped = sign == "\\" and not escaped
        elif sign == '"':
            in_text = True
        elif sign in _CLOSING:
            open_.append(_CLOSING[sign])
            end, closing = position + 1, "".join(open_)
        elif sign in "]}" and open_:
            open_.pop()
            end, closing = position + 1, "".join(open_)
        elif sign == "," and open_:
            end, closing = position, "".join(open_)
    return parse_json(text[:end] + closing[::-1]) if end else None


def _finite(text: str) -> float | None:
    """A number beyond what floats hold would be written as an infinity again, so it reads as null like one."""
    number = float(text)
    return number if math.isfinite(number) else None


def _no_number(_: str) -> None:
    """NaN and infinities are no JSON and read as null."""
