r"""Half characters in JSON: `\ud83d` without its other half, which JSON can write and no UTF-8 can carry."""

import re

_HEX = rb"[0-9a-fA-F]{2}"
_FIRST, _SECOND = rb"u[dD][89abAB]" + _HEX, rb"u[dD][c-fC-F]" + _HEX
_SUSPECT = re.compile(rb"\\" + _FIRST + rb"(?!\\" + _SECOND + rb")|(?<!\\" + _FIRST + rb")\\" + _SECOND)
_ESCAPE = re.compile(rb"\\(?:" + _FIRST + rb"\\" + _SECOND + rb"|(" + _FIRST + rb"|" + _SECOND + rb")|.)", re.DOTALL)
"""Any escape, so that the second of two backslashes begins none; the group is half a character."""


def without_halves(text: bytes) -> bytes:
    """JSON text with U+FFFD, which stands for what cannot be shown, in place of each half of a character.

    Args:
        text: JSON as UTF-8.
    """
    if _SUSPECT.search(text) is None:
        return text
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], text)
