"""From what was registered to credentials that can be applied."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias
from urllib.parse import urlsplit

from practicum.contracts.connectors import (
    ApiKeyAuth,
    Auth,
    AuthorizationCodeAuth,
    BasicAuth,
    BearerAuth,
    ClientCertificateAuth,
    ClientCredentialsAuth,
    NoAuth,
    SchemeAuth,
    SchemesAuth,
)
from practicum.errors import DocumentError
from practicum_connectors.auth.alternatives import Combined, Keyring
from practicum_connectors.auth.certificates import ClientCertificate
from practicum_connectors.auth.credentials import (
    Credentials,
    FixedCredentials,
    Location,
    NoCredentials,
    Place,
    basic_header,
)
from practicum_connectors.auth.endpoints import TokenRule, endpoints_for
from practicum_connectors.auth.referenced import Referenced, Resolve, references_of, unresolved
from practicum_connectors.auth.refresh import ClientGrant, RefreshGrant
from practicum_connectors.auth.schemes import Scheme, is_token, schemes_of, stands_for
from practicum_connectors.auth.tokens import Client, Tokens
from practicum_connectors.document import Document
from practicum_connectors.sender import Sender

Rotated: TypeAlias = Callable[[str, str], Awaitable[None]]
"""Stores the refresh token that replaces the one before: under its scheme's name, empty where one credential stands
for all, and the token. It raises PracticumError where it cannot."""

Turn: TypeAlias = Callable[[str], AbstractAsyncContextManager[str]]
"""Gives the refresh token in force, by the same name; while it lasts nobody else exchanges it."""

_NoKey: TypeAlias = BearerAuth | BasicAuth | ClientCredentialsAuth | AuthorizationCodeAuth | ClientCertificateAuth
_SAY_WHERE = "Say where the key goes: give `name` and `location` with the credential."


def credentials_for(
    auth: Auth,
    document: Document,
    base_url: str,
    sender: Sender,
    *,
    on_rotated: Rotated | None = None,
    turn: Turn | None = None,
    own_tokens: bool = False,
    resolve: Resolve = unresolved,
) -> Keyring:
    """The credentials of a connector.

    Args:
        auth: what was registered.
        document: says where an API key goes and where tokens are given.
        base_url: where the system listens; relative token URLs are resolved against it.
        sender: fetches tokens.
        on_rotated: stores refresh tokens that the server replaces.
        turn: where others hold the same credential.
        own_tokens: whether the document may name no token server but the system's own.
        resolve: reads the values that are kept outside.

    Raises:
        DocumentError: the credential does not fit the document, or they leave open what is needed.
    """
    schemes = schemes_of(document)
    maker = _Maker(TokenRule(base_url, sender.private_network, own_tokens), sender, on_rotated, turn, resolve)
    match auth:
        case NoAuth():
            return Keyring({}, NoCredentials(), unbound=True)
        case SchemesAuth():
            return _several(auth, schemes, maker)
        case ApiKeyAuth():
            return _key(auth, schemes, maker)
        case _:
            fitting = [scheme for scheme in schemes if stands_for(auth, scheme)]
            credentials = maker.make(auth, fitting or schemes)
            return Keyring({scheme.name: credentials for scheme in fitting}, credentials, unbound=not fitting)


def _key(auth: ApiKeyAuth, schemes: Sequence[Scheme], maker: "_Maker") -> Keyring:
    """One key, under each name that the document has for it, or where the registration says."""
    held: dict[str, Credentials] = {}
    placed: dict[Place, Credentials] = {}
    for scheme in schemes:
        if stands_for(auth, scheme) and scheme.location is not None:
            place = (scheme.location, scheme.parameter.lower())
            held[scheme.name] = placed.setdefault(place, maker.placed(auth, scheme.location, scheme.parameter))
    if held:
        return Keyring(held, next(iter(placed.values())))
    if auth.name:
        return Keyring({}, maker.placed(auth, auth.location or "header", auth.name), unbound=True)
    odd = next((scheme for scheme in schemes if scheme.type == "apiKey" and not scheme.is_sendable), None)
    if odd is not None:
        raise DocumentError(
            f"The document's security scheme `{odd.name}` sends the key as {odd.parameter!r}, which cannot be sent.",
            mend=_SAY_WHERE,
        )
    raise DocumentError("The document has no security scheme of type `apiKey`.", mend=_SAY_WHERE)


def _several(auth: SchemesAuth, schemes: Sequence[Scheme], maker: "_Maker") -> Keyring:
    known = {scheme.name: scheme for scheme in schemes}
    unknown = sorted(auth.schemes.keys() - known.keys())
    if unknown or not auth.schemes:
        raise DocumentError(
            f"The document has no security scheme `{unknown[0]}`." if unknown else "There is no credential.",
            mend=f"Give credentials for some of: {', '.join(known) or 'none, the document has no schemes'}.",
        )
    held = {name: maker.of_scheme(one, known[name]) for name, one in auth.schemes.items()}
    together: list[Credentials] = []
    taken: frozenset[Place] = frozenset()
    for credentials in held.values():
        if not taken & credentials.places():
            together.append(credentials)
            taken |= credentials.places()
    return Keyring(held, Combined(together), single=False)


@dataclass(frozen=True, slots=True)
class _Maker:
    rule: TokenRule
    sender: Sender
    on_rotated: Rotated | None
    turn: Turn | None
    resolve: Resolve

    def placed(self, auth: ApiKeyAuth, location: Location, name: str) -> Credentials:
        references = references_of(auth)
        if not references:
            return _placed(auth.value, location, name)
        _placed("checked", location, name)
        places: frozenset[Place] = frozenset({(location, name.lower())})
        return Referenced(references, lambda given: _placed(given["value"], location, name), self.resolve, places)

    def of_scheme(self, auth: SchemeAuth, scheme: Scheme) -> Credentials:
        if isinstance(auth, ApiKeyAuth):
            name, location = auth.name or scheme.parameter, auth.location or scheme.location
            if name and location is not None and (scheme.type == "apiKey" or auth.name):
                return self.placed(auth, location, name)
        elif stands_for(auth, scheme):
            return self.make(auth, (scheme,), scheme.name)
        raise DocumentError(
            f"A credential of the kind `{auth.kind}` does not fit the security scheme `{scheme.name}`, "
            f"which is of the type `{scheme.type}`.",
            mend="Give one of its type, or the scheme's right name.",
        )

    def make(self, auth: _NoKey, schemes: Sequence[Scheme], name: str = "") -> Credentials:
        references = references_of(auth)
        if not references:
            return self._made(auth, schemes, name)
        places: frozenset[Place] = frozenset({("header", "authorization")})
        if isinstance(auth, ClientCertificateAuth):
            places = frozenset()
        return Referenced(
            references, lambda given: self._made(auth.model_copy(update=given), schemes, name), self.resolve, places
        )

    def _made(self, auth: _NoKey, schemes: Sequence[Scheme], name: str) -> Credentials:
        match auth:
            case BearerAuth(token=token):
                return FixedCredentials("header", "Authorization", _sendable(f"Bearer {token}"), (token,))
            case BasicAuth(username=username, password=password):
                value = basic_header(username, password)
                return FixedCredentials("header", "Authorization", value, (password, value.removeprefix("Basic ")))
            case ClientCredentialsAuth() | AuthorizationCodeAuth():
                return self._tokens(auth, schemes, name)
            case ClientCertificateAuth(certificate=certificate, private_key=private_key):
                if urlsplit(self.rule.base_url).scheme != "https":
                    raise DocumentError(
                        "A client certificate is shown over TLS only, and the system is reached without.",
                        mend="Give a `base_url` that begins with https.",
                    )
                return ClientCertificate(certificate, private_key)

    def _tokens(
        self, auth: ClientCredentialsAuth | AuthorizationCodeAuth, schemes: Sequence[Scheme], name: str
    ) -> Tokens:
        client = Client(auth.client_id, auth.client_secret, auth.scopes)
        if isinstance(auth, ClientCredentialsAuth):
            grant: ClientGrant | RefreshGrant = ClientGrant()
        else:
            rotated, turn = self.on_rotated and partial(self.on_rotated, name), self.turn and partial(self.turn, name)
            grant = RefreshGrant(auth.refresh_token, rotated, turn)
        return Tokens(client, grant, endpoints_for(auth, schemes, self.rule, self.sender), self.sender)


def _placed(value: str, location: Location, name: str) -> FixedCredentials:
    if location != "query" and not is_token(name):
        raise DocumentError(f"The key cannot be sent as {name!r}: that is no name of a {location}.", mend=_SAY_WHERE)
    return FixedCredentials(location, name, value if location == "query" else _sendable(value), (value,))


def _sendable(value: str) -> str:
    if not value.isascii() or not value.isprintable():
        raise DocumentError("The credential holds characters that no header can carry.", mend="Check for line breaks.")
    return value
