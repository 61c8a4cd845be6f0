"""What would become of a document, said without a system to call."""

from practicum.contracts.connectors import CheckReport, ConnectorSpec, NoAuth
from practicum.errors import DocumentError
from practicum_connectors.auth import credentials_for, schemes_of
from practicum_connectors.compiled import compile_document
from practicum_connectors.document import Document
from practicum_connectors.sender import Sender
from practicum_connectors.servers import base_url_of

_UNKNOWN = "https://unknown.invalid"
"""Stands for the place where a checked system listens while nobody has said it."""


def check(spec: ConnectorSpec, document: Document) -> CheckReport:
    """What would become of a document, without a system to call: CPU only, seconds of it for the largest.

    Args:
        spec: the registration as it would be.
        document: its document.

    Raises:
        DocumentError: the credential does not fit the document.
    """
    base_url, notes = None, list[str]()
    try:
        base_url = base_url_of(spec, document)
    except DocumentError as error:
        spec = spec.model_copy(update={"base_url": _UNKNOWN})
        notes.extend(text for text in (error.detail, error.mend) if text)
    keyring = credentials_for(spec.auth, document, base_url or _UNKNOWN, Sender(private_network=spec.private_network))
    if isinstance(spec.auth, NoAuth) and schemes_of(document):
        names = ", ".join(f"`{scheme.name}`" for scheme in schemes_of(document))
        notes.append(f"The document knows the security schemes {names}; this is without a credential for any.")
    compiled = compile_document(spec, document, base_url or _UNKNOWN, keyring)
    return CheckReport(
        title=document.title,
        version=document.version,
        base_url=base_url,
        operations=compiled.report,
        notes=(*notes, *compiled.notes),
    )
