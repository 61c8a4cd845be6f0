"""Practice copies of a live system: begun with a state, read, ended; each at a site of its own, named by its episode.

    PUT    {base_url}/{copy}/_practice/state   begin it with this state
    POST   {base_url}/{copy}/_practice/reset   begin it wherever its owner lets copies begin
    GET    {base_url}/{copy}/_practice/state   what it holds once all work under way has come to rest
    DELETE {base_url}/{copy}/_practice/state   end it

A state is a JSON object, table -> record id -> record. A copy that was not begun, or has ended, answers 404.
"""

import json
from collections import OrderedDict
from typing import TypeAlias
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import (
    Auth,
    AuthorizationCodeAuth,
    ConnectorLimits,
    ConnectorSpec,
    Mode,
    PracticeSpec,
    SchemesAuth,
)
from practicum.errors import DocumentError, RequestError, UpstreamError
from practicum_connectors.auth import Keyring, Resolve, credentials_for, unresolved
from practicum_connectors.document import Document
from practicum_connectors.exchange import HttpRequest, HttpResponse
from practicum_connectors.sender import Sender
from practicum_connectors.servers import clean_base_url
from practicum_connectors.site import Site

State: TypeAlias = dict[str, dict[str, JsonObject]]
"""What one system holds: table -> record id -> record."""

_STATE: TypeAdapter[State] = TypeAdapter(State)
_MOST_SITES = 4096
"""Sites are remembered for the sake of their tokens; a forgotten one fetches a new token."""
_TIMEOUT_SECONDS = 30.0
_SHOWN = 300
_OK = range(200, 300)
_GONE = frozenset({404, 410})
_DOES_NOT_FIT = frozenset({400, 422})


class Practice:
    """The copies of one system. It holds connections: close it with `aclose`.

    Attributes:
        base_url: a copy listens at `{base_url}/{copy}`.
    """

    def __init__(
        self,
        spec: PracticeSpec,
        document: Document,
        limits: ConnectorLimits | None = None,
        resolve: Resolve = unresolved,
    ) -> None:
        """Prepare to reach copies; nothing is sent yet.

        Args:
            spec: where they are and what they ask for.
            document: the system's document, which is theirs too.
            limits: how hard the system may be leant on; they hold for each copy, but for the rate, which is the live
                system's own.
            resolve: reads the parts of their credential that are kept outside.

        Raises:
            DocumentError: the address is no web address, or the credential does not fit the document.
        """
        self.base_url = clean_base_url(spec.base_url)
        self._spec = spec
        self._document = document
        self._limits = (limits or ConnectorLimits()).model_copy(update={"per_second": None})
        self._sender = Sender(private_network=spec.private_network)
        self._resolve = resolve
        self._sites: OrderedDict[str, Site] = OrderedDict()
        _require_shared(spec.auth)
        self._keyring(self.base_url)

    def site(self, copy: str) -> Site:
        """Where a copy listens, whether it was begun or not."""
        site = self._sites.get(copy)
        if site is None:
            url = f"{self.base_url}/{quote(copy, safe='')}"
            site = self._sites[copy] = Site(url, self._keyring(url), self._sender, self._limits)
            if len(self._sites) > _MOST_SITES:
                self._sites.popitem(last=False)
        self._sites.move_to_end(copy)
        return site

    async def begin(self, copy: str, state: State | None) -> None:
        """Begin a copy, or put it back.

        Args:
            copy: its name.
            state: what it holds then; None leaves that to the owner of the copies.

        Raises:
            RequestError: the state does not fit the system.
            UpstreamError: it cannot be begun.
        """
        if state is None:
            answer = await self._ask("POST", copy, "reset", "cannot be begun")
        else:
            answer = await self._ask("PUT", copy, "state", "cannot be begun", json.dumps(state).encode())
        if answer.status in _DOES_NOT_FIT and state is not None:
            raise RequestError(
                f"The practice copy at {self.base_url} does not take the start state: {_said(answer)}",
                mend="Give a start state that fits the system.",
            )
        if answer.status not in _OK:
            raise self._failure("cannot be begun", answer)

    async def state(self, copy: str) -> State:
        """What a copy holds.

        Raises:
            UpstreamError: it cannot be read, or the copy is gone.
        """
        answer = await self._ask("GET", copy, "state", "cannot be read")
        if answer.status in _GONE:
            raise UpstreamError(
                f"The practice copy '{copy}' at {self.base_url} is gone.", mend="Begin another episode for it."
            )
        if answer.status not in _OK:
            raise self._failure("cannot be read", answer)
        try:
            return _STATE.validate_json(answer.body if answer.complete else b"")
        except ValidationError:
            raise UpstreamError(
                f"The practice copy at {self.base_url} shows no state (table -> record id -> record).",
                mend="Check that the connector's practice `base_url` is right.",
            ) from None

    async def end(self, copy: str) -> None:
        """End a copy; one that is gone already stays so.

        Raises:
            UpstreamError: it could not be told.
        """
        answer = await self._ask("DELETE", copy, "state", "cannot be ended")
        if answer.status not in _OK and answer.status not in _GONE:
            raise self._failure("cannot be ended", answer)
        self._sites.pop(copy, None)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._sender.aclose()

    def _keyring(self, url: str) -> Keyring:
        """The document speaks of the live system: its token server must not be shown the copies' secret."""
        return credentials_for(
            self._spec.auth, self._document, url, self._sender, own_tokens=True, resolve=self._resolve
        )

    async def _ask(self, method: str, copy: str, what: str, otherwise: str, body: bytes | None = None) -> HttpResponse:
        site = self.site(copy)
        headers = (("Accept", "application/json"), ("User-Agent", "practicum"), ("Content-Type", "application/json"))
        request = HttpRequest(method, f"{site.base_url}/_practice/{what}", headers if body else headers[:2], body)
        exchange = await site.send(request, _TIMEOUT_SECONDS)
        if exchange.response is None:
            raise UpstreamError(
                f"The practice copy at {self.base_url} {otherwise}: {exchange.reason}", mend=exchange.mend
            )
        return exchange.response

    def _failure(self, otherwise: str, answer: HttpResponse) -> UpstreamError:
        wait = answer.header("retry-after") or ""
        return UpstreamError(
            f"The practice copy at {self.base_url} {otherwise}: it answered {answer.status}. {_said(answer)}",
            mend="Check that the practice server runs, has room, and takes the connector's practice credential.",
            retry_after=float(wait) if wait.isdecimal() else None,
        )


def practice_of(
    spec: ConnectorSpec, document: Document, base_url: str, resolve: Resolve = unresolved
) -> Practice | None:
    """The practice copies of a registration, if it has any.

    Args:
        spec: the registration.
        document: its document.
        base_url: where the system itself listens.
        resolve: reads the parts of their credential that are kept outside.

    Raises:
        DocumentError: they make no sense for it.
    """
    if spec.practice is None:
        return None
    if spec.mode is Mode.PRACTICE:
        raise DocumentError(
            "A practice connector has no practice copies: training reaches it as it is.",
            mend="Register it with mode=live and its copies, or leave `practice` away.",
        )
    practice = Practice(spec.practice, document, spec.limits, resolve)
    if practice.base_url == base_url:
        raise DocumentError("The practice copies are at the address of the live system.", mend="Give their own.")
    return practice


def _require_shared(auth: Auth) -> None:
    """A refresh token is good for one holder: each copy would use up the others'."""
    parts = auth.schemes.values() if isinstance(auth, SchemesAuth) else (auth,)
    if any(isinstance(part, AuthorizationCodeAuth) for part in parts):
        raise DocumentError(
            "Practice copies cannot share the refresh token of one sign-in.",
            mend="Give the copies a credential of another kind, such as client credentials.",
        )


def _said(answer: HttpResponse) -> str:
    return answer.body.decode(errors="replace")[:_SHOWN]
