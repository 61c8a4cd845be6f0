"""Credentials: made from a registration and the document's security schemes, applied last, never shown."""

from practicum_connectors.auth.alternatives import Keyring, Security
from practicum_connectors.auth.credentials import Credentials, NoCredentials
from practicum_connectors.auth.redaction import REDACTED, redact, redact_bytes
from practicum_connectors.auth.referenced import Resolve, references_in, unresolved
from practicum_connectors.auth.registered import Rotated, Turn, credentials_for
from practicum_connectors.auth.schemes import schemes_of

__all__ = [
    "REDACTED",
    "Credentials",
    "Keyring",
    "NoCredentials",
    "Resolve",
    "Rotated",
    "Security",
    "Turn",
    "credentials_for",
    "redact",
    "redact_bytes",
    "references_in",
    "schemes_of",
    "unresolved",
]
