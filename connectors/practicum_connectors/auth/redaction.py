"""Taking secrets out of texts, in every spelling in which they might come back."""

import base64
import functools
import html
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

REDACTED = "[redacted]"
"""Stands where a secret stood."""

_PERCENT = re.compile("%[0-9A-F]{2}")
_SHORTEST_SECRET = 4  # shorter ones occur in any text by chance
_SHORTEST_ENCODED = 8


def redact(text: str, secrets: Iterable[str]) -> str:
    """The text without the secrets, also where they are URL-encoded, escaped, in hexadecimal or in base64."""
    for spelling in _all_spellings(tuple(secrets)):
        text = text.replace(spelling, REDACTED)
    return text


def redact_bytes(data: bytes, secrets: Iterable[str]) -> bytes:
    """The same for UTF-8 that is not read yet, so that no later cut can leave half of a secret standing."""
    for spelling in _all_spellings(tuple(secrets)):
        data = data.replace(spelling.encode(), REDACTED.encode())
    return data


@functools.lru_cache(maxsize=64)
def _all_spellings(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """The longest first; remembered, for every header and body of every answer asks for them."""
    spellings = {spelling for secret in secrets if len(secret) >= _SHORTEST_SECRET for spelling in _spellings(secret)}
    return tuple(sorted(spellings, key=len, reverse=True))


def _spellings(secret: str) -> set[str]:
    once = {secret, *_in_json(secret)}
    twice = {*once, *(spelling for known in once for spelling in _in_json(known))}
    slashed = {spelling.replace("/", "\\/") for spelling in twice}
    encoded = {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    lowered = {_PERCENT.sub(lambda found: found[0].lower(), spelling) for spelling in encoded}
    escaped = {html.escape(secret), html.escape(secret, quote=False), html.escape(secret).replace("&#x27;", "&#39;")}
    return {*twice, *slashed, *encoded, *lowered, *escaped, *_in_other_alphabets(secret)}


def _in_other_alphabets(secret: str) -> set[str]:
    """The secret in hexadecimal and in base64, there also in the middle of a longer text at any of its three places."""
    data = secret.encode()
    if len(data) < _SHORTEST_ENCODED:
        return set()
    found = {data.hex(), data.hex().upper()}
    for before in range(3):
        text = base64.b64encode(bytes(before) + data).decode()
        # Only what the secret alone decides: the characters at both ends hold bits of their neighbours.
        inner = text[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        found |= {inner, inner.replace("+", "-").replace("/", "_")}
    return found


def _in_json(text: str) -> tuple[str, str]:
    return json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]
