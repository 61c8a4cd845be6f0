"""Calls about models."""

from pydantic import ConfigDict

from practicum.client.call import Call, nothing, path, read
from practicum.contracts.base import Value
from practicum.contracts.models import ModelInfo, ModelSpec


class _Listed(Value):
    """One entry of OpenAI's model list, of which only the name is ours."""

    model_config = ConfigDict(extra="ignore")
    id: str


class _Listing(Value):
    model_config = ConfigDict(extra="ignore")
    data: tuple[_Listed, ...]


def register(spec: ModelSpec) -> Call[ModelInfo]:
    """Register an alias, or put another model behind it."""
    return Call("POST", "/v1/models", read(ModelInfo), body=spec)


def fetch_all() -> Call[list[str]]:
    """The aliases that episodes and chat calls can use."""
    return Call("GET", "/v1/models", lambda raw: [listed.id for listed in _Listing.model_validate_json(raw).data])


def get(alias: str) -> Call[ModelInfo]:
    """What answers behind an alias.

    Raises:
        NotFoundError: there is no such alias.
    """
    return Call("GET", path("/v1/models/{}", alias), read(ModelInfo))


def remove(alias: str) -> Call[None]:
    """Forget an alias.

    Raises:
        NotFoundError: there is no such alias.
    """
    return Call("DELETE", path("/v1/models/{}", alias), nothing)
