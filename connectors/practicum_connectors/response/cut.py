"""JSON made to fit: lists lose whole items from their end, and what is left is always valid JSON."""

import json
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

_MARK = 40
"""Characters kept free for the note at the end of a cut text."""
_SHORTEST_SHARE = 60
_SHORTENED = "Long texts are shortened."


def compact(value: JsonValue) -> str:
    """JSON without needless spaces, any script as it is; lone surrogates stay escaped."""
    text = json.dumps(cast("object", value), ensure_ascii=False, separators=(",", ":"))
    return text if text.isascii() else _encodable(text, value)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A value made to fit.

    Attributes:
        text: it as JSON.
        value: what of it is shown.
        left_out: what is not, in words; empty if all is.
    """

    text: str
    value: JsonValue
    left_out: tuple[str, ...] = ()


def fit(value: JsonValue, limit: int) -> Fitted:
    """A value as JSON of about `limit` characters at most.

    Args:
        value: what to write.
        limit: most characters.
    """
    text = compact(value)
    if len(text) <= limit:
        return Fitted(text, value)
    left_out: list[str] = []
    shown = _shrink(value, limit, "", left_out)
    return Fitted(compact(shown), shown, tuple(left_out))


def _shrink(value: JsonValue, budget: int, where: str, left_out: list[str]) -> JsonValue:
    if len(compact(value)) <= budget:
        return value
    if isinstance(value, str):
        kept = value[: max(0, budget - _MARK)]
        if _SHORTENED not in left_out:
            left_out.append(_SHORTENED)
        return f"{kept}… ({len(value) - len(kept)} more characters)"
    if isinstance(value, list):
        return _shrink_list(value, budget, where, left_out)
    if isinstance(value, dict):
        return _shrink_object(value, budget, where, left_out)
    return value


def _shrink_list(items: list[JsonValue], budget: int, where: str, left_out: list[str]) -> JsonValue:
    kept: list[JsonValue] = []
    left = budget - 2
    for item in items:
        size = len(compact(item)) + 1
        if size > left:
            break
        kept.append(item)
        left -= size
    if not kept and items:
        kept.append(_shrink(items[0], max(left, _SHORTEST_SHARE), f"{where}[0]", left_out))
    if len(kept) < len(items):
        left_out.append(f"{where or 'The list'} shows {len(kept)} of {len(items)} items.")
    return kept


def _shrink_object(members: dict[str, JsonValue], budget: int, where: str, left_out: list[str]) -> JsonValue:
    """Small members stay whole; what is left is shared among the big ones."""
    sizes = {key: len(compact(key)) + len(compact(value)) + 2 for key, value in members.items()}
    kept: dict[str, JsonValue] = {}
    left = budget - 2
    waiting = sorted(members, key=lambda key: sizes[key])
    for number, key in enumerate(waiting):
        share = left // (len(waiting) - number)
        if sizes[key] <= share:
            kept[key] = members[key]
            left -= sizes[key]
        elif share >= _SHORTEST_SHARE:
            path = f"{where}.{key}" if where else key
            kept[key] = _shrink(members[key], share - len(compact(key)) - 2, path, left_out)
            left -= len(compact(key)) + len(compact(kept[key])) + 2
    if len(kept) < len(members):
        left_out.append(f"{where or 'The object'} shows {len(kept)} of {len(members)} members.")
    return {key: kept[key] for key in members if key in kept}


def cut_text(text: str, limit: int) -> tuple[str, list[str]]:
    """A text of at most `limit` characters, ended at a line, and what was left out."""
    if len(text) <= limit:
        return text, []
    kept = text[:limit]
    kept = kept[: kept.rindex("\n") + 1] if "\n" in kept[limit // 2 :] else kept
    return kept, [f"The text shows {len(kept)} of {len(text)} characters."]


def _encodable(text: str, value: JsonValue) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(cast("object", value), separators=(",", ":"))
    return text
