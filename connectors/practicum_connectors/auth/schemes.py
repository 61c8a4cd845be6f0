"""From a registration's credential and the document's security schemes to credentials that can be applied."""

from collections.abc import Iterator
from typing import Literal, cast
from urllib.parse import urljoin, urlsplit

from practicum.contracts.connectors import (
    ApiKeyAuth,
    Auth,
    AuthorizationCodeAuth,
    BasicAuth,
    BearerAuth,
    ClientCertificateAuth,
    ClientCredentialsAuth,
    NoAuth,
    SchemesAuth,
)
from practicum.errors import DocumentError
from practicum_connectors.auth.credentials import Credentials, FixedCredentials, NoCredentials, basic_header
from practicum_connectors.auth.oauth import ClientCredentials
from practicum_connectors.document.load import Document
from practicum_connectors.document.pointers import Node, as_list, as_node, text_of
from practicum_connectors.exchange import origin_of
from practicum_connectors.sender import Sender

_Location = Literal["header", "query", "cookie"]
_LOCATIONS = frozenset({"header", "query", "cookie"})


def credentials_for(auth: Auth, document: Document, base_url: str, sender: Sender) -> Credentials:
    """The credentials of a connector.

    Args:
        auth: what was registered.
        document: says where an API key goes and where tokens are given.
        base_url: relative token URLs are resolved against it.
        sender: fetches tokens.

    Raises:
        DocumentError: the document does not say what the registration leaves open.
    """
    match auth:
        case NoAuth():
            return NoCredentials()
        case BearerAuth(token=token):
            return FixedCredentials("header", "Authorization", _sendable(f"Bearer {token}"), (token,))
        case BasicAuth(username=username, password=password):
            value = basic_header(username, password)
            return FixedCredentials("header", "Authorization", value, (password, value.removeprefix("Basic ")))
        case ApiKeyAuth():
            return _api_key(auth, document)
        case ClientCredentialsAuth():
            return ClientCredentials(
                client_id=auth.client_id,
                client_secret=auth.client_secret,
                token_url=token_url_of(auth, document, base_url, private_network=sender.private_network),
                scopes=auth.scopes,
                sender=sender,
            )
        case AuthorizationCodeAuth() | ClientCertificateAuth() | SchemesAuth():
            raise DocumentError(
                f"A credential of the kind `{auth.kind}` cannot be used for this system.",
                mend="Give an API key, a token, a user name and password, or client credentials.",
            )


def credential_parameters(auth: Auth, document: Document) -> frozenset[tuple[str, str]]:
    """Location and lower-case name of the parameters that the credential fills, so that no model is asked for them.

    Raises:
        DocumentError: the document does not say where an API key goes.
    """
    if isinstance(auth, NoAuth):
        return frozenset()
    if isinstance(auth, ApiKeyAuth):
        credential = _api_key(auth, document)
        return frozenset({(credential.location, credential.name.lower())})
    return frozenset({("header", "authorization")})


def _sendable(value: str) -> str:
    if not value.isascii() or not value.isprintable():
        raise DocumentError("The credential holds characters that no header can carry.", mend="Check for line breaks.")
    return value


def _api_key(auth: ApiKeyAuth, document: Document) -> FixedCredentials:
    name, location = auth.name, auth.location
    for scheme in _schemes(document, "apiKey"):
        described = text_of(scheme.get("in"))
        if described in _LOCATIONS and name in {None, text_of(scheme.get("name"))}:
            name, location = text_of(scheme.get("name")), location or cast("_Location", described)
            break
    if not name:
        raise DocumentError(
            "The document has no security scheme of type `apiKey`.",
            mend="Say where the key goes: give `name` and `location` with the credential.",
        )
    value = _sendable(auth.value) if location != "query" else auth.value
    return FixedCredentials(location or "header", name, value, (auth.value,))


def token_url_of(auth: ClientCredentialsAuth, document: Document, base_url: str, *, private_network: bool) -> str:
    """Where tokens are given: as registered, or as the document says.

    Args:
        auth: what was registered.
        document: says it where the registration does not.
        base_url: a relative URL is resolved against it.
        private_network: whether the secret may go to another host without encryption because the document says so.

    Raises:
        DocumentError: neither says it, or the document's word is not enough.
    """
    if auth.token_url is not None:
        return urljoin(f"{base_url}/", auth.token_url)
    for scheme in _schemes(document, "oauth2"):
        named = text_of(as_node(as_node(scheme.get("flows")).get("clientCredentials")).get("tokenUrl"))
        if named:
            url = urljoin(f"{base_url}/", named)
            if urlsplit(url).scheme != "https" and origin_of(url) != origin_of(base_url) and not private_network:
                raise DocumentError(
                    "The document sends the client's secret to another host without encryption.",
                    mend="Give `token_url` with the credential if that is right.",
                )
            return url
    raise DocumentError(
        "The document has no OAuth 2 scheme with client credentials.", mend="Give `token_url` with the credential."
    )


def _schemes(document: Document, kind: str) -> Iterator[Node]:
    """Security schemes of a kind, those first that hold for the whole document."""
    schemes = as_node(as_node(document.root.get("components")).get("securitySchemes"))
    asked = [name for entry in as_list(document.root.get("security")) for name in as_node(entry)]
    for name in dict.fromkeys((*asked, *schemes)):
        if name in schemes:
            scheme = document.pointers.follow(schemes[name])
            if scheme.get("type") == kind:
                yield scheme
