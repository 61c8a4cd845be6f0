"""Mutual TLS: the client shows a certificate when the connection is made."""

import contextlib
import os
import ssl
import sys
import tempfile
from collections.abc import Generator, Iterable
from pathlib import Path

from practicum.errors import DocumentError
from practicum_connectors.auth.credentials import Place
from practicum_connectors.exchange import HttpRequest
from practicum_connectors.sender import new_tls


class ClientCertificate:
    """Goes with the connection; nothing is added to a request."""

    def __init__(self, certificate: str, private_key: str) -> None:
        """Take over a certificate and its key, both PEM.

        Args:
            certificate: the certificate, with those between it and its authority if there are any.
            private_key: its key, without a passphrase.

        Raises:
            DocumentError: one of them cannot be read, or they do not belong together.
        """
        self._private_key = private_key
        self._tls = new_tls()
        try:
            with _file_of(f"{private_key.strip()}\n{certificate.strip()}\n") as path:
                self._tls.load_cert_chain(path, password="")  # else it would ask for one at the terminal
        except (ssl.SSLError, ValueError) as error:
            reason = getattr(error, "reason", None) or "it cannot be read"
            raise DocumentError(
                f"The client certificate cannot be used: {str(reason).replace('_', ' ').lower()}.",
                mend="Give the certificate and its own private key as PEM text, the key without a passphrase.",
            ) from None

    async def apply(self, request: HttpRequest) -> HttpRequest:
        """The request as it is."""
        return request

    def renew(self, refused: HttpRequest) -> bool:
        """A certificate does not change."""
        del refused
        return False

    def secrets(self) -> Iterable[str]:
        """The key."""
        return (self._private_key,)

    def places(self) -> frozenset[Place]:
        """It stands in no request."""
        return frozenset()

    def tls(self) -> ssl.SSLContext | None:
        """Connections that show the certificate."""
        return self._tls


@contextlib.contextmanager
def _file_of(text: str) -> Generator[str]:
    """A file for the time of the block, as `ssl` reads from nothing else: in memory where there are such files."""
    if sys.platform == "linux":
        handle = os.memfd_create("certificate")
        try:
            os.write(handle, text.encode())
            yield f"/proc/self/fd/{handle}"
        finally:
            os.close(handle)
    else:
        with tempfile.TemporaryDirectory() as folder:  # for this user alone
            path = Path(folder) / "certificate.pem"
            path.write_text(text)
            yield str(path)
