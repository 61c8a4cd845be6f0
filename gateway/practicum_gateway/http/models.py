"""Models: registered under an alias by an administrator, listed for everybody in OpenAI's form."""

from typing import Literal

from fastapi import APIRouter, Response

from practicum.contracts.base import Value
from practicum.contracts.models import ModelInfo, ModelSpec
from practicum_gateway.http.dependencies import Caller, Services

router = APIRouter(prefix="/v1/models", tags=["models"])


class ListedModel(Value):
    """One entry of OpenAI's model list.

    Attributes:
        id: the alias.
        object: says what this is.
        created: when it was registered, seconds since 1970.
        owned_by: who answers.
    """

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str


class ModelList(Value):
    """OpenAI's model list."""

    object: Literal["list"] = "list"
    data: tuple[ListedModel, ...]


@router.get("")
async def list_models(house: Services, _caller: Caller) -> ModelList:
    """The registered models."""
    return ModelList(
        data=tuple(
            ListedModel(id=info.alias, created=int(updated.timestamp()), owned_by=info.provider)
            for info, updated in await house.registry.list()
        )
    )


@router.post("", status_code=201)
async def register_model(spec: ModelSpec, house: Services, caller: Caller) -> ModelInfo:
    """Register a model under its alias, in place of what the alias named before."""
    caller.require(to="register models")
    return await house.registry.put(spec)


@router.get("/{alias}")
async def get_model(alias: str, house: Services, _caller: Caller) -> ModelInfo:
    """What answers behind an alias; never the provider's key."""
    return await house.registry.info(alias)


@router.delete("/{alias}", status_code=204)
async def remove_model(alias: str, house: Services, caller: Caller) -> Response:
    """Forget a model and its key."""
    caller.require(to="remove models")
    await house.registry.remove(alias)
    return Response(status_code=204)
