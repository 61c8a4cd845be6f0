"""JSON in one form alone, and the hash of it."""

import hashlib
import json

from pydantic import JsonValue

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical(value: JsonValue) -> bytes:
    """A JSON value in its canonical form: keys sorted, no spaces, UTF-8."""
    return _CANONICAL.encode(value).encode("utf-8", "surrogatepass")


def digest(value: JsonValue) -> str:
    """SHA-256 of a JSON value in its canonical form."""
    return hashlib.sha256(canonical(value)).hexdigest()
