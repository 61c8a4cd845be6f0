"""OAuth 2 client credentials: short-lived bearer tokens, kept as hashes."""

import base64
import binascii
import hashlib
import secrets
from collections.abc import Callable
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Security
from fastapi.openapi.models import OAuthFlowClientCredentials, OAuthFlows
from fastapi.responses import JSONResponse
from fastapi.security import OAuth2

from examples.systems.credentials import Credentials, same_secret
from examples.systems.erp.problems import ProblemError
from examples.systems.store import Store

SCHEMA = """
CREATE TABLE IF NOT EXISTS tokens (
    id TEXT PRIMARY KEY, expires REAL NOT NULL
) STRICT;
"""

router = APIRouter(include_in_schema=False)
# The token URL is relative to where the API is served, so that it also holds below a path.
_scheme = OAuth2(
    flows=OAuthFlows(clientCredentials=OAuthFlowClientCredentials(tokenUrl="oauth/token", scopes={})),
    scheme_name="OAuth2",
    auto_error=False,
)


class Desk:
    """Issues tokens and recognises them."""

    def __init__(self, store: Store, credentials: Credentials, seconds: float, clock: Callable[[], float]) -> None:
        """Say whom to trust, and for how long.

        Args:
            store: where tokens are kept; its schema holds `SCHEMA`.
            credentials: the client that may have tokens.
            seconds: how long a token lives.
            clock: seconds since some fixed moment.
        """
        self._store = store
        self._credentials = credentials
        self._seconds = seconds
        self._clock = clock

    def issue(self, client_id: str, client_secret: str) -> dict[str, object] | None:
        """A new token for the client, or None if it is not the known one."""
        known = same_secret(client_id, self._credentials.erp_client_id)
        if not (same_secret(client_secret, self._credentials.erp_client_secret) and known):
            return None
        token, now = secrets.token_urlsafe(24), self._clock()
        with self._store.transaction():
            self._store.write("DELETE FROM tokens WHERE expires <= :now", now=now)
            self._store.insert("tokens", {"id": _digest(token), "expires": now + self._seconds})
        return {"access_token": token, "token_type": "Bearer", "expires_in": int(self._seconds)}

    def recognises(self, token: str) -> bool:
        """Whether the token was issued here and is still good."""
        good = "SELECT 1 FROM tokens WHERE id = :id AND expires > :now"
        return self._store.row(good, id=_digest(token), now=self._clock()) is not None


async def check_token(request: Request, header: Annotated[str | None, Security(_scheme)]) -> None:
    """Let only a request with a good token pass.

    Raises:
        ProblemError: there is none (401).
    """
    desk: Desk = request.app.state.desk
    kind, _, token = (header or "").partition(" ")
    if kind.lower() != "bearer" or not desk.recognises(token):
        refusal = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
        raise ProblemError(401, "token", "Not authorised", "the access token is missing, wrong or expired", refusal)


@router.post("/oauth/token")
async def issue_token(request: Request) -> JSONResponse:
    """Issue a token (RFC 6749, section 4.4); the client shows itself by HTTP Basic or in the form."""
    desk: Desk = request.app.state.desk
    form = {name: values[0] for name, values in parse_qs((await request.body()).decode("latin-1")).items()}
    if form.get("grant_type") != "client_credentials":
        return JSONResponse({"error": "unsupported_grant_type"}, 400)
    client_id, client_secret = _basic(request) or (form.get("client_id", ""), form.get("client_secret", ""))
    issued = desk.issue(client_id, client_secret)
    if issued is None:
        return JSONResponse({"error": "invalid_client"}, 401, {"WWW-Authenticate": "Basic"})
    return JSONResponse(issued, headers={"Cache-Control": "no-store"})


def _basic(request: Request) -> tuple[str, str] | None:
    kind, _, encoded = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return None
    try:
        client_id, _, client_secret = base64.b64decode(encoded).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return client_id, client_secret


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
