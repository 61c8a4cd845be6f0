"""Whether what was read is what was meant."""

from typing import Any, cast

from pydantic import JsonValue


def same(wanted: JsonValue, read: Any) -> bool:
    """Whether two JSON values are the same; `1` and `1.0` are, `1` and `true` are not."""
    return _same(wanted, read, _equal)


def same_text(wanted: JsonValue, read: Any) -> bool:
    """Whether a value that was read from text means the one that was written, as far as text can."""
    return _same(wanted, read, _alike)


def _same(wanted: JsonValue, read: Any, alike: Any) -> bool:
    if isinstance(wanted, list):
        found = cast("list[Any]", read) if isinstance(read, list) else None
        return found is not None and len(wanted) == len(found) and all(map(_same, wanted, found, [alike] * len(found)))
    if isinstance(wanted, dict):
        members = cast("dict[str, Any]", read) if isinstance(read, dict) else None
        return (
            members is not None
            and wanted.keys() == members.keys()
            and all(_same(value, members[name], alike) for name, value in wanted.items())
        )
    return alike(wanted, read)


def _equal(wanted: Any, read: Any) -> bool:
    return isinstance(wanted, bool) == isinstance(read, bool) and wanted == read


def _alike(wanted: Any, read: Any) -> bool:
    if wanted is None or read is None:
        return wanted is read
    if isinstance(wanted, bool) or isinstance(read, bool):
        return str(wanted).lower() == str(read).lower()
    if isinstance(wanted, int | float):
        try:
            return wanted == read or float(wanted) == float(read)
        except (TypeError, ValueError, OverflowError):
            return False
    return wanted == read or str(wanted) == str(read)
