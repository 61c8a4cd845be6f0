"""Where tokens are given: as registered, or as the document says as far as its word goes."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from practicum.contracts.connectors import AuthorizationCodeAuth, ClientCredentialsAuth
from practicum.errors import DocumentError
from practicum_connectors.auth.discovery import Discovery
from practicum_connectors.auth.schemes import Scheme
from practicum_connectors.auth.tokens import Endpoint, Endpoints
from practicum_connectors.document.pointers import as_node, text_of
from practicum_connectors.exchange import origin_of
from practicum_connectors.sender import Sender

_GIVE_TOKEN_URL = "Give `token_url` with the credential."  # noqa: S105 (advice)


@dataclass(frozen=True, slots=True)
class TokenRule:
    """To which addresses a client's secret may go because a document or a provider says so.

    Attributes:
        base_url: where the system listens; its origin may always see it.
        private_network: whether another host may see it without encryption.
        own: whether no other host may see it at all.
    """

    base_url: str
    private_network: bool
    own: bool = False

    def __call__(self, url: str) -> None:
        """Refuse an address that must not see the secret.

        Raises:
            DocumentError: it must not.
        """
        if origin_of(url) == origin_of(self.base_url):
            return
        if self.own:
            raise DocumentError(
                f"The document has tokens fetched at {origin_of(url)}, which is not where the practice copies are.",
                mend="Give `token_url` with the practice credential.",
            )
        if urlsplit(url).scheme != "https" and not self.private_network:
            raise DocumentError(
                "The document sends the client's secret to another host without encryption.",
                mend="Give `token_url` with the credential if that is right.",
            )


def endpoints_for(
    auth: ClientCredentialsAuth | AuthorizationCodeAuth, schemes: Iterable[Scheme], rule: TokenRule, sender: Sender
) -> Endpoints:
    """What says where the tokens of a credential are given.

    Args:
        auth: what was registered.
        schemes: the document's, which say it where the registration does not; the first that does counts.
        rule: which addresses the document may name.
        sender: asks an OpenID provider.

    Raises:
        DocumentError: neither says it, or the document's word is not enough.
    """
    base = f"{rule.base_url}/"
    if auth.token_url is not None:
        return _fixed(urljoin(base, auth.token_url))
    known = tuple(schemes)
    for scheme in known:
        named = _flow_url(auth, scheme)
        if named:
            url = urljoin(base, named)
            rule(url)
            return _fixed(url)
    for scheme in known:
        named = text_of(scheme.node.get("openIdConnectUrl"))
        if scheme.type == "openIdConnect" and named:
            url = urljoin(base, named)
            rule(url)
            return Discovery(url, rule, sender).endpoint
    flow = "client credentials" if isinstance(auth, ClientCredentialsAuth) else "an authorization code"
    raise DocumentError(f"The document has no OAuth 2 scheme with {flow}, and no OpenID one.", mend=_GIVE_TOKEN_URL)


def _flow_url(auth: ClientCredentialsAuth | AuthorizationCodeAuth, scheme: Scheme) -> str:
    if scheme.type != "oauth2":
        return ""
    flows = as_node(scheme.node.get("flows"))
    if isinstance(auth, ClientCredentialsAuth):
        return text_of(as_node(flows.get("clientCredentials")).get("tokenUrl"))
    flow = as_node(flows.get("authorizationCode"))
    return text_of(flow.get("refreshUrl")) or text_of(flow.get("tokenUrl"))


def _fixed(url: str) -> Endpoints:
    async def endpoint() -> Endpoint:
        return Endpoint(url)

    return endpoint
