"""The document's security schemes, and which of them a credential stands for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from practicum.contracts.connectors import (
    ApiKeyAuth,
    AuthorizationCodeAuth,
    BasicAuth,
    BearerAuth,
    ClientCertificateAuth,
    ClientCredentialsAuth,
    SchemeAuth,
)
from practicum_connectors.auth.credentials import Location
from practicum_connectors.document import Document
from practicum_connectors.document.pointers import as_list, as_node, text_of

_LOCATIONS = frozenset({"header", "query", "cookie"})
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SIGNED_IN = frozenset({"oauth2", "openIdConnect"})


@dataclass(frozen=True, slots=True)
class Scheme:
    """One security scheme.

    Attributes:
        name: the document's name of it.
        type: its type, such as `apiKey`.
        node: the whole of it.
    """

    name: str
    type: str
    node: dict[str, Any] = field(repr=False)

    @property
    def parameter(self) -> str:
        """The name of the header, query parameter or cookie of an API key."""
        return text_of(self.node.get("name"))

    @property
    def location(self) -> Location | None:
        """Where an API key goes; None where that is no place in a request."""
        where = text_of(self.node.get("in"))
        return cast("Location", where) if where in _LOCATIONS else None

    @property
    def in_authorization(self) -> bool:
        """Whether it is written as an API key and means the Authorization header."""
        return self.type == "apiKey" and self.location == "header" and self.parameter.lower() == "authorization"

    @property
    def is_sendable(self) -> bool:
        """Whether an API key can be sent under its name at all."""
        if self.location == "query":
            return bool(self.parameter)
        return self.location is not None and is_token(self.parameter)

    def is_http(self, scheme: str) -> bool:
        """Whether it is HTTP authentication of this kind."""
        return self.type == "http" and text_of(self.node.get("scheme")).lower() == scheme


def is_token(name: str) -> bool:
    """Whether a header or cookie can be called so (RFC 9110)."""
    return _TOKEN.fullmatch(name) is not None


def schemes_of(document: Document) -> tuple[Scheme, ...]:
    """The security schemes of a document, those first that hold for the whole of it."""
    return tuple(_schemes(document))


def stands_for(auth: SchemeAuth, scheme: Scheme) -> bool:
    """Whether a credential can be shown where this scheme is asked for."""
    match auth:
        case ApiKeyAuth():
            described = (scheme.parameter, scheme.location)
            given = (auth.name or scheme.parameter, auth.location or scheme.location)
            return scheme.type == "apiKey" and scheme.is_sendable and described == given
        case BasicAuth():
            return scheme.is_http("basic") or scheme.in_authorization
        case BearerAuth() | ClientCredentialsAuth() | AuthorizationCodeAuth():
            return scheme.type in _SIGNED_IN or scheme.is_http("bearer") or scheme.in_authorization
        case ClientCertificateAuth():
            return scheme.type == "mutualTLS"


def _schemes(document: Document) -> Iterator[Scheme]:
    described = as_node(as_node(document.root.get("components")).get("securitySchemes"))
    asked = [name for entry in as_list(document.root.get("security")) for name in as_node(entry)]
    for name in dict.fromkeys((*asked, *described)):
        if name in described:
            node = document.pointers.follow(described[name])
            yield Scheme(name, text_of(node.get("type")), dict(node))
