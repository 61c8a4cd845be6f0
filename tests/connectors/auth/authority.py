"""A certificate authority for a test, and a server that looks at the certificate it is shown."""

import asyncio
import contextlib
import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as PEM."""

    certificate: str
    key: str


class Authority:
    """Signs certificates."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("Test authority")
        self.certificate = _pem(self._sign(self._name, self._key, authority=True))

    def issue(self, name: str, passphrase: bytes | None = None) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        hidden: KeySerializationEncryption = NoEncryption()
        if passphrase is not None:
            hidden = BestAvailableEncryption(passphrase)
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden).decode()
        return Pair(_pem(self._sign(_name(name), key)), pem)

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, authority: bool = False
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(hours=1))
            .not_valid_after(now + dt.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if not authority:
            builder = builder.add_extension(address, critical=False)
        return builder.sign(self._key, hashes.SHA256())


@dataclass
class Looking:
    """A server that notes who it was shown, None for nobody.

    Attributes:
        url: where it listens.
        shown: the common names of the certificates, in the order of the requests.
    """

    url: str = ""
    shown: list[str | None] = field(default_factory=list[str | None])
    connections: set[asyncio.Task[None] | None] = field(default_factory=set[asyncio.Task[None] | None])

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.add(asyncio.current_task())
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                found: Any = writer.get_extra_info("peercert")
                self.shown.append(found["subject"][0][0][1] if found else None)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
                await writer.drain()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            writer.close()
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def tls_server(authority: Authority, folder: Path, *, required: bool) -> AsyncGenerator[Looking]:
    """A server of the authority's, which asks for a certificate or takes one."""
    own = authority.issue("server")
    (folder / "authority.pem").write_text(authority.certificate)
    (folder / "server.pem").write_text(own.key + own.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    context.load_verify_locations(folder / "authority.pem")
    context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
    looking = Looking()
    server = await asyncio.start_server(looking.answer, "127.0.0.1", 0, ssl=context)
    async with server:
        looking.url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield looking
    tasks = [task for task in looking.connections if task is not None]
    if tasks:
        await asyncio.wait(tasks, timeout=5)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()
