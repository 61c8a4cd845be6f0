"""Signatures as Standard Webhooks 1.0 has them: HMAC-SHA256 over id, time and body. Pure."""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

ID_HEADER = "webhook-id"
TIME_HEADER = "webhook-timestamp"
SIGNATURE_HEADER = "webhook-signature"
TOLERANCE_SECONDS = 300
"""How far the time of a message may be from now."""
_PREFIX = "whsec_"
_SECRET_BYTES = 32
_VERSION = "v1,"
_MOST_SIGNATURES = 16
_ID = re.compile(r"[!-\-/-~]{1,200}")  # without a dot: the dots tell id, time and body apart
_TIME = re.compile(r"[0-9]{1,12}")


def new_secret() -> str:
    """A fresh secret of 256 random bits."""
    return f"{_PREFIX}{base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()}"


@dataclass(frozen=True, slots=True)
class Envelope:
    """What stands around a body that is signed.

    Attributes:
        id: the same for every attempt to send one message.
        time: seconds since 1970, as text.
        signatures: separated by spaces.
    """

    id: str
    time: str
    signatures: str = field(repr=False)

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """As it is sent."""
        return ((ID_HEADER, self.id), (TIME_HEADER, self.time), (SIGNATURE_HEADER, self.signatures))


def signed(body: bytes, *, id: str, at: float, by: Iterable[str]) -> Envelope:  # noqa: A002  # its name on the wire
    """The envelope of a body.

    Args:
        body: exactly what is sent.
        id: the message's.
        at: the present moment, in seconds since 1970.
        by: the secrets to sign with.
    """
    time = str(int(at))
    return Envelope(id, time, " ".join(_signature(secret, id, time, body) for secret in by))


def is_signed(body: bytes, envelope: Envelope, *, at: float, by: Sequence[str]) -> bool:
    """Whether a body was signed lately with one of these secrets; every one of them is tried.

    Args:
        body: exactly what came.
        envelope: what came with it.
        at: the present moment, in seconds since 1970.
        by: the secrets.
    """
    if not _ID.fullmatch(envelope.id) or not _TIME.fullmatch(envelope.time):
        return False
    given = envelope.signatures.split(" ")[:_MOST_SIGNATURES]
    expected = [_signature(secret, envelope.id, envelope.time, body).encode() for secret in by]
    fits = [hmac.compare_digest(each.encode(errors="replace"), one) for each in given for one in expected]
    return any(fits) and abs(at - int(envelope.time)) <= TOLERANCE_SECONDS


def _signature(secret: str, id: str, time: str, body: bytes) -> str:  # noqa: A002
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    digest = hmac.new(key, b".".join((id.encode(), time.encode(), body)), hashlib.sha256).digest()
    return f"{_VERSION}{base64.b64encode(digest).decode()}"
