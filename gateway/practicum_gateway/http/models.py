"""Models: registered under an alias by an administrator, listed for everybody in OpenAI's form."""

import json
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import AwareDatetime

from practicum.contracts.access import Role
from practicum.contracts.base import JsonObject, Value
from practicum.contracts.checks import ModelCheck
from practicum.contracts.comparison import ModelComparison
from practicum.contracts.declared import Declared
from practicum.contracts.models import LONGEST_VERSION, ModelInfo, ModelSpec, ModelVersion, Provider, reference
from practicum.contracts.outcomes import VersionOutcomes
from practicum.contracts.promotion import Promotion, PromotionRequest
from practicum.contracts.routing import Fallbacks, Split
from practicum.contracts.secrets import is_reference
from practicum.errors import RequestError
from practicum_gateway.catalogue.declared import hidden
from practicum_gateway.http.bodies import JsonRoute
from practicum_gateway.http.dependencies import Caller, Services
from practicum_gateway.http.problems import documented
from practicum_gateway.models.dialects import advice
from practicum_gateway.models.lengths import told_by
from practicum_gateway.record.outcomes import outcomes_of

router = APIRouter(prefix="/v1/models", tags=["models"], route_class=JsonRoute)


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


@router.post("", status_code=201, responses=documented(409, 502))
async def register_model(spec: ModelSpec, house: Services, caller: Caller) -> ModelInfo:
    """Register a model under its alias, in place of what the alias named before, which stays as a version of it."""
    caller.require(to="register models")
    info = await house.registry.put(spec, by=caller.name)
    if not spec.provider.renders:
        return info
    told = await told_by(spec, None if spec.api_key is None or is_reference(spec.api_key) else spec.api_key)
    return info.model_copy(update={"advice": advice(spec, told.template)})


@router.post("/{alias}/compare", responses=documented(502))
async def compare(alias: str, spec: ModelSpec, house: Services, caller: Caller) -> ModelComparison:
    """How a registration differs from what the alias names, or from the version that is the same model."""
    caller.require(to="compare models")
    if spec.alias != alias:
        raise RequestError(f"The model's alias is '{spec.alias}', and it was sent to '{alias}'.")
    return await house.registry.compare(spec)


@router.delete("/{alias}", status_code=204)
async def remove_model(alias: str, house: Services, caller: Caller) -> Response:
    """Forget a model and the keys of its versions."""
    caller.require(to="remove models")
    await house.registry.remove(alias, by=caller.name)
    return Response(status_code=204)


@router.get("/{alias}/versions")
async def list_versions(alias: str, house: Services, caller: Caller) -> tuple[ModelVersion, ...]:
    """The versions of an alias, newest first."""
    caller.require(Role.DEVELOPER, to="see the versions of models")
    return await house.registry.versions(alias)


@router.get("/{alias}/declared")
async def declared(alias: str, house: Services, caller: Caller) -> Declared:
    """What the registration that an alias names would say in a declaration; never the provider's key."""
    caller.require(to="see registrations whole")
    kept = await house.registry.kept(alias)
    said: JsonObject = json.loads(kept.spec.model_dump_json(exclude={"alias", "api_key"}, exclude_defaults=True))
    if said["provider"] == Provider.LITELLM:
        del said["provider"]  # which a declaration takes it for
    if kept.fallbacks:
        said["fallbacks"] = [*kept.fallbacks]
    return Declared(name=alias, said=said if kept.api_key is None else said | {"api_key": hidden(kept.api_key)})


@router.get("/{alias}/outcomes")
async def list_outcomes(
    alias: str,
    house: Services,
    caller: Caller,
    since: Annotated[AwareDatetime | None, Query(description="Only episodes that began then or later.")] = None,
) -> tuple[VersionOutcomes, ...]:
    """What came of the live episodes of an alias, counted by the version that each drew."""
    caller.require(Role.DEVELOPER, to="see how models do")
    await house.registry.info(alias)
    return await outcomes_of(house.store, alias, since)


@router.post("/{alias}/versions", status_code=201, responses=documented(409, 502))
async def add_version(alias: str, spec: ModelSpec, house: Services, caller: Caller) -> ModelVersion:
    """Register a candidate: a version that `alias@version` names, while the alias goes on naming the one it names."""
    caller.require(to="register models")
    if spec.alias != alias:
        raise RequestError(f"The model's alias is '{spec.alias}', and it was sent to '{alias}'.")
    return await house.registry.add(spec, by=caller.name)


@router.post("/{alias}/check")
async def check(
    alias: str,
    house: Services,
    caller: Caller,
    version: Annotated[str | None, Query(min_length=1, max_length=LONGEST_VERSION)] = None,
) -> ModelCheck:
    """Ask a model three tiny things, and say what it can do and what follows from what it cannot."""
    caller.require(to="check models")
    return await house.checks.check(reference(alias, version))


@router.post("/{alias}/promote", responses=documented(409))
async def promote(alias: str, request: PromotionRequest, house: Services, caller: Caller) -> Promotion:
    """Let the alias name a version that is shown to be better; what begins from now on uses it."""
    caller.require(to="promote models")
    return await house.promotions.promote(alias, request, by=caller.name)


@router.put("/{alias}/split", responses=documented(409))
async def split(alias: str, wanted: Split, house: Services, caller: Caller) -> Promotion:
    """Have several versions answer, each with its weight; a promotion or a rollback ends it."""
    caller.require(to="split models")
    return await house.promotions.split(alias, wanted, by=caller.name)


@router.put("/{alias}/fallbacks")
async def fall_back(alias: str, wanted: Fallbacks, house: Services, caller: Caller) -> ModelInfo:
    """Say who is asked where the model behind an alias cannot answer; none is asked by default."""
    caller.require(to="name the fallbacks of models")
    await house.promotions.fall_back(alias, wanted)
    return await house.registry.info(alias)


@router.post("/{alias}/rollback", responses=documented(409))
async def roll_back(alias: str, house: Services, caller: Caller) -> Promotion:
    """Let the alias name again what it named before, or be split again as it was; what begins from now on uses it."""
    caller.require(to="roll models back")
    return await house.promotions.roll_back(alias, by=caller.name)


@router.get("/{alias}/promotions")
async def list_promotions(alias: str, house: Services, caller: Caller) -> tuple[Promotion, ...]:
    """Every change of what the alias names and on what evidence, newest first."""
    caller.require(Role.DEVELOPER, to="see the promotions of models")
    return await house.promotions.history(alias)


# Last, since a version may hold a slash.
@router.get("/{alias:path}")
async def get_model(alias: str, house: Services, _caller: Caller) -> ModelInfo:
    """What answers behind `alias` or `alias@version`; never the provider's key."""
    return await house.registry.info(alias)
