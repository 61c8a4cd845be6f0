"""The house's idempotency key in the form that a system's header takes."""

import hashlib
import uuid

from practicum_connectors.document.operations import Parameter
from practicum_connectors.document.pointers import as_node

_UUID_CHARACTERS = 36


def key_for(parameter: Parameter, key: str) -> str:
    """The key as the header wants it; the same key always gives the same value.

    Args:
        parameter: the header's parameter.
        key: the house's key, printable text of any length.
    """
    schema = as_node(parameter.schema)
    longest = schema.get("maxLength")
    if schema.get("format") == "uuid" or longest == _UUID_CHARACTERS:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"practicum:{key}"))
    most = longest if isinstance(longest, int) else 255
    fits = key.isascii() and key.isprintable() and " " not in key and len(key) <= most and "pattern" not in schema
    return key if fits else hashlib.sha256(key.encode()).hexdigest()[: max(1, most)]
