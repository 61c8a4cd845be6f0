"""HashiCorp Vault and OpenBao over HTTP: logging in, asking, and secrets of KV version 2. Both speak the same API."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from ssl import SSLContext
from typing import Any, Protocol, cast
from urllib.parse import quote

from practicum.contracts.base import JsonObject
from practicum.contracts.secrets import DEFAULT_FIELD, SecretReference
from practicum.errors import RequestError, SecretSourceError
from practicum_connectors.exchange import HttpRequest, HttpResponse, origin_of
from practicum_connectors.resilience import Clock
from practicum_connectors.sender import Sender

TIMEOUT_SECONDS = 10.0
_MOST_BYTES = 1024 * 1024
_MARGIN_SHARE = 0.8
"""The share of its life after which a token is exchanged."""

_LONGEST_LIFE = 10**9
"""More seconds than any token lives; what says otherwise may not even fit into a float."""

Post = Callable[[str, JsonObject], Awaitable[HttpResponse]]
"""Posts to a path without a token."""


@dataclass(frozen=True, slots=True)
class Token:
    """What is shown with each request.

    Attributes:
        value: the token.
        seconds: how long it lives; None where that is not known.
    """

    value: str = field(repr=False)
    seconds: float | None = None


class Login(Protocol):
    """How the gateway gets a token."""

    async def token(self, post: Post) -> Token:
        """A token.

        Raises:
            SecretSourceError: none can be had.
        """
        ...


@dataclass(frozen=True, slots=True)
class FixedToken:
    """A token that the operator gave."""

    value: str = field(repr=False)

    async def token(self, post: Post) -> Token:
        """The token."""
        del post
        return Token(self.value)


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A token that somebody else keeps fresh in a file, such as Vault's agent."""

    path: Path

    async def token(self, post: Post) -> Token:
        """The token in the file now.

        Raises:
            SecretSourceError: it cannot be read.
        """
        del post
        return Token(await asyncio.to_thread(_text, self.path))


@dataclass(frozen=True, slots=True)
class AppRole:
    """An AppRole, with its role id and secret id."""

    mount: str
    role: str
    secret: str = field(repr=False)

    async def token(self, post: Post) -> Token:
        """A fresh token.

        Raises:
            SecretSourceError: the login was refused.
        """
        return _logged_in(
            await post(f"auth/{self.mount}/login", {"role_id": self.role, "secret_id": self.secret}), "AppRole"
        )


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """A role of the Kubernetes method, with the token of the pod's service account."""

    mount: str
    role: str
    path: Path

    async def token(self, post: Post) -> Token:
        """A fresh token.

        Raises:
            SecretSourceError: the login was refused.
        """
        jwt = await asyncio.to_thread(_text, self.path)
        return _logged_in(await post(f"auth/{self.mount}/login", {"role": self.role, "jwt": jwt}), "Kubernetes")


class OpenBao:
    """A server, asked with a token that is exchanged before it ends, and once after it was refused."""

    def __init__(
        self,
        url: str,
        login: Login,
        *,
        namespace: str | None = None,
        tls: SSLContext | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Ask nothing yet.

        Args:
            url: where it listens.
            login: how a token is had.
            namespace: in which the login is made.
            tls: what connections are made with, where it takes more than the usual.
            clock: the time.
        """
        self._url = url.rstrip("/")
        self._login = login
        self._namespace = namespace
        self._tls = tls
        self._clock = clock or Clock()
        self._sender = Sender(private_network=True, max_response_bytes=_MOST_BYTES)
        self._token: Token | None = None
        self._until = float("inf")
        self._logging_in = asyncio.Lock()
        self._logins = 0
        self._failure: SecretSourceError | None = None

    async def ask(
        self, method: str, path: str, body: JsonObject | None = None, *, namespace: str | None = None
    ) -> tuple[int, JsonObject]:
        """Status and JSON of an answer; what says that the server cannot be asked now is raised.

        Args:
            method: the HTTP method.
            path: behind `/v1/`.
            body: what is sent.
            namespace: where it is asked, when not in that of the login.

        Raises:
            SecretSourceError: the server does not answer, is sealed or overloaded, or gives no token.
        """
        token, fresh = await self._current()
        response = await self._send(method, path, body, token.value, namespace)
        if response.status == HTTPStatus.FORBIDDEN and not fresh:
            # A token that ended is refused like one that may not: one more try with another tells them apart.
            another, _ = await self._current(refused=token)
            if another.value != token.value:
                response = await self._send(method, path, body, another.value, namespace)
        return response.status, _json(response)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._sender.aclose()

    async def _current(self, refused: Token | None = None) -> tuple[Token, bool]:
        """A token, and whether it was had just now; one login answers all who wait for it, also that there is none."""
        before = self._logins
        async with self._logging_in:
            known = self._token
            if known is not None and known is not refused and self._clock.now() < self._until:
                return known, False
            if self._failure is not None and self._logins != before:
                raise SecretSourceError(self._failure.detail, mend=self._failure.mend)
            self._failure, token = None, await self._log_in()
            self._token = token
            life = float("inf") if token.seconds is None else token.seconds * _MARGIN_SHARE
            self._until = self._clock.now() + life
            return token, True

    async def _log_in(self) -> Token:
        try:
            return await self._login.token(self._post)
        except SecretSourceError as error:
            self._failure = error
            raise
        finally:
            self._logins += 1

    async def _post(self, path: str, body: JsonObject) -> HttpResponse:
        return await self._send("POST", path, body, None, None)

    async def _send(
        self, method: str, path: str, body: JsonObject | None, token: str | None, namespace: str | None
    ) -> HttpResponse:
        headers = [("Accept", "application/json"), ("X-Vault-Request", "true")]
        if body is not None:
            headers.append(("Content-Type", "application/json"))
        if token is not None:
            headers.append(("X-Vault-Token", token))
        if (within := namespace or self._namespace) is not None:
            headers.append(("X-Vault-Namespace", within))
        content = None if body is None else json.dumps(body).encode()
        request = HttpRequest(method, f"{self._url}/v1/{quote(path)}", tuple(headers), content)
        exchange = await self._sender.send(request, timeout_seconds=TIMEOUT_SECONDS, tls=self._tls)
        response = exchange.response
        if response is None:
            raise SecretSourceError(f"The vault cannot be asked. {exchange.reason}", mend=exchange.mend)
        if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR or response.status == HTTPStatus.TOO_MANY_REQUESTS:
            sealed = " It is sealed, or not ready." if response.status == HTTPStatus.SERVICE_UNAVAILABLE else ""
            raise SecretSourceError(f"The vault at {origin_of(self._url)} answered {response.status}.{sealed}")
        return response


class KvSecrets:
    """The secrets of one tenant in an engine of KV version 2."""

    def __init__(self, bao: OpenBao, mount: str, prefix: str, namespace: str | None = None) -> None:
        """Read below a prefix.

        Args:
            bao: the server.
            mount: where the engine is.
            prefix: the tenant's own path in it; empty where it has a namespace of its own.
            namespace: where the engine is, when not in that of the login.
        """
        self._bao = bao
        self._mount = mount
        self._prefix = prefix.strip("/")
        self._namespace = namespace

    async def read(self, reference: SecretReference) -> str:
        """One field of a secret's latest version.

        Raises:
            RequestError: there is none there, or the gateway's token may not read it.
            SecretSourceError: the server cannot be asked.
        """
        place = "/".join(part for part in (self._prefix, reference.path) if part)
        try:
            status, answer = await self._bao.ask("GET", f"{self._mount}/data/{place}", namespace=self._namespace)
        except SecretSourceError as error:
            raise SecretSourceError(f"{reference} cannot be read. {error.detail}", mend=error.mend) from None
        if status == HTTPStatus.NOT_FOUND:
            raise RequestError(
                f"There is no secret {reference}.", mend=f"Write it to the vault at {self._mount}/{place}."
            )
        if status == HTTPStatus.FORBIDDEN:
            raise RequestError(
                f"The vault does not let the gateway read {reference}.",
                mend=f"Allow its policy to read {self._mount}/data/{place}.",
            )
        if status != HTTPStatus.OK:
            raise RequestError(f"The vault answered {status} for {reference}.")
        name = reference.field or DEFAULT_FIELD
        value = _node(_node(answer.get("data")).get("data")).get(name)
        if not isinstance(value, str) or not value:
            raise RequestError(f"{reference} has no text `{name}`.", mend="Name one of its fields behind a `#`.")
        return value


def _logged_in(response: HttpResponse, method: str) -> Token:
    auth = _node(_json(response).get("auth"))
    value, life = auth.get("client_token"), auth.get("lease_duration")
    if response.status != HTTPStatus.OK or not isinstance(value, str):
        raise SecretSourceError(
            f"The vault refuses the gateway's {method} login ({response.status}).",
            mend="Check PRACTICUM_VAULT_ROLE and what goes with it.",
        )
    return Token(value, float(min(life, _LONGEST_LIFE)) if isinstance(life, int) and life > 0 else None)


def _json(response: HttpResponse) -> JsonObject:
    try:
        answer: object = json.loads(response.body) if response.body else {}
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise SecretSourceError("What answers in place of the vault does not speak its API.")
    return cast("JsonObject", answer)


def _node(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SecretSourceError(f"The vault's token in {path} cannot be read ({type(error).__name__}).") from None
