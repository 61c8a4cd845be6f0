"""Credentials: made from a registration and the document's security schemes, applied last, never shown."""

from practicum_connectors.auth.credentials import Credentials
from practicum_connectors.auth.redaction import REDACTED, redact, redact_bytes
from practicum_connectors.auth.schemes import credential_parameters, credentials_for, token_url_of

__all__ = [
    "REDACTED",
    "Credentials",
    "credential_parameters",
    "credentials_for",
    "redact",
    "redact_bytes",
    "token_url_of",
]
