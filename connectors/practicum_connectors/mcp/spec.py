"""What a registration of an MCP server may say: what would do nothing, or cannot be kept, is refused."""

from practicum.contracts.connectors import AuthorizationCodeAuth, ConnectorSpec, SchemesAuth
from practicum.errors import DocumentError
from practicum_connectors.fetch import check_url

_OF_DOCUMENTS = ("source", "document", "documents", "base_url", "server", "variables")
"""Fields that speak of a document or of where it says that calls go."""


def require_fitting(spec: ConnectorSpec) -> str:
    """The address of the server, once the registration is seen to make sense.

    Raises:
        DocumentError: it says something that an MCP server has no use for, or the address is none.
    """
    url = spec.mcp or ""
    unset = ConnectorSpec(name=spec.name)
    said = [name for name in (*_OF_DOCUMENTS, "arrays") if getattr(spec, name) != getattr(unset, name)]
    if said:
        raise DocumentError(
            f"The registration gives `mcp` and also `{said[0]}`, which is of systems with an OpenAPI document.",
            mend=f"Leave `{said[0]}` out: an MCP server lists its tools itself, and is called where it listens.",
        )
    if spec.practice is not None:
        raise DocumentError(
            "An MCP server has no practice copies: the protocol knows none.",
            mend="Register a server that training may touch under another name, with `mode: practice`.",
        )
    if isinstance(spec.auth, AuthorizationCodeAuth | SchemesAuth):
        raise DocumentError(
            f"An MCP server takes no credential of the kind `{spec.auth.kind}`.",
            mend="Give `bearer`, `basic`, `api_key` with its `name`, `client_credentials` or `client_certificate`.",
        )
    check_url(url)
    if "?" in url or "#" in url:
        raise DocumentError(
            "The address of the MCP server has a query or fragment.",
            mend="Leave it out; a key that goes into the query is given as `auth` (`api_key:...:query:NAME`).",
        )
    return url
