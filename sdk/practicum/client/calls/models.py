"""Calls about models."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from pydantic import ConfigDict

from practicum.client.call import Call, build, nothing, path, query, read
from practicum.contracts.base import Value
from practicum.contracts.checks import ModelCheck
from practicum.contracts.comparison import ModelComparison
from practicum.contracts.declared import Declared
from practicum.contracts.evaluation import EvaluationReport
from practicum.contracts.models import ModelInfo, ModelSpec, ModelVersion, parted
from practicum.contracts.outcomes import VersionOutcomes
from practicum.contracts.promotion import Promotion, PromotionRequest
from practicum.contracts.routing import Fallbacks, Split


class _Listed(Value):
    """One entry of OpenAI's model list, of which only the name is ours."""

    model_config = ConfigDict(extra="ignore")
    id: str


class _Listing(Value):
    model_config = ConfigDict(extra="ignore")
    data: tuple[_Listed, ...]


def register(spec: ModelSpec) -> Call[ModelInfo]:
    """Register an alias, or put another model behind it; what stood there stays as one of its versions.

    Raises:
        RequestError: a setting does not fit, or it was trained with another template than the gateway renders.
    """
    return Call("POST", "/v1/models", read(ModelInfo), body=spec)


def fetch_all() -> Call[list[str]]:
    """The aliases that episodes and chat calls can use."""
    return Call("GET", "/v1/models", lambda raw: [listed.id for listed in _Listing.model_validate_json(raw).data])


def get(name: str) -> Call[ModelInfo]:
    """What answers behind `alias`, or behind `alias@version`.

    Raises:
        NotFoundError: there is no such alias or version.
    """
    return Call("GET", path("/v1/models/{}", name), read(ModelInfo))


def outcomes(alias: str, *, since: datetime | None = None) -> Call[list[VersionOutcomes]]:
    """What came of the live episodes of an alias, counted by the version that each drew.

    `practicum.evaluation.sides_of` makes estimates with intervals of them.

    Args:
        alias: the model.
        since: only episodes that began then or later, such as when it was split.

    Raises:
        NotFoundError: there is no such alias.
    """
    asked = query(since=None if since is None else since.isoformat())
    return Call("GET", path("/v1/models/{}/outcomes", alias), read(list[VersionOutcomes]), query=asked)


def declared(alias: str) -> Call[Declared]:
    """What the registration that an alias names would say in a declaration; a key that the gateway keeps is None.

    Raises:
        NotFoundError: there is none.
    """
    return Call("GET", path("/v1/models/{}/declared", alias), read(Declared))


def compare(spec: ModelSpec) -> Call[ModelComparison]:
    """How a registration differs from the version that is the same model, or else from what its alias names.

    Raises:
        RequestError: it could not be registered.
    """
    return Call("POST", path("/v1/models/{}/compare", spec.alias), read(ModelComparison), body=spec)


def remove(alias: str) -> Call[None]:
    """Forget an alias.

    Raises:
        NotFoundError: there is no such alias.
    """
    return Call("DELETE", path("/v1/models/{}", alias), nothing)


def versions(alias: str) -> Call[list[ModelVersion]]:
    """The versions of an alias, newest first.

    Raises:
        NotFoundError: there is no such alias.
    """
    return Call("GET", path("/v1/models/{}/versions", alias), read(list[ModelVersion]))


def add_version(spec: ModelSpec) -> Call[ModelVersion]:
    """Register a candidate: `alias@version` names it, while the alias goes on naming the version it names.

    The same model again is the same version, perhaps reached elsewhere.

    Raises:
        NotFoundError: there is no such alias.
        ConflictError: the version is registered with other content.
        RequestError: a setting does not fit, or it was trained with another template than the gateway renders.
    """
    return Call("POST", path("/v1/models/{}/versions", spec.alias), read(ModelVersion), body=spec)


def promote(
    alias: str,
    version: str,
    *,
    evaluation: EvaluationReport | None = None,
    against: EvaluationReport | None = None,
    override: str | None = None,
) -> Call[Promotion]:
    """Let an alias name another version, which the next episode uses; one that runs keeps its own.

    Args:
        alias: the alias.
        version: the candidate.
        evaluation: of the candidate, on held-out tasks.
        against: of the alias's current version, on the same tasks; the gateway compares the two.
        override: why it shall be promoted without being shown to be better; recorded.

    Raises:
        NotFoundError: there is no such alias or version.
        RequestError: the reports are not of these two versions on the same held-out tasks.
        ConflictError: the candidate is not shown to be better, and no override is given.
    """
    request = build(
        PromotionRequest, "promotion", version=version, evaluation=evaluation, against=against, override=override
    )
    return Call("POST", path("/v1/models/{}/promote", alias), read(Promotion), body=request)


def check(name: str) -> Call[ModelCheck]:
    """Ask a model three tiny things: whether it answers, and what it can do; one that does not answer is no error.

    Args:
        name: the model, as `alias` or `alias@version`.

    Raises:
        NotFoundError: there is no such alias or version.
    """
    alias, version = parted(name)
    return Call("POST", path("/v1/models/{}/check", alias), read(ModelCheck), query=query(version=version))


def split(alias: str, weights: Mapping[str, int]) -> Call[Promotion]:
    """Have several versions of an alias answer: each new episode, and each user of its calls, draws one and keeps it.

    Args:
        alias: the alias.
        weights: by version, how many of all weights together it gets; the version that the alias names is among them.

    Raises:
        NotFoundError: there is no such alias or version.
        RequestError: there are not two of them, or the one that the alias names is missing.
    """
    wanted = build(Split, "split", weights=dict(weights))
    return Call("PUT", path("/v1/models/{}/split", alias), read(Promotion), body=wanted)


def fallbacks(alias: str, models: Iterable[str]) -> Call[ModelInfo]:
    """Say who is asked, in this order, where the model behind an alias cannot answer.

    Args:
        alias: the alias.
        models: each an `alias` or `alias@version`; none for no fallback.

    Raises:
        NotFoundError: there is no such alias, or no such model to fall back on.
        RequestError: one stands there twice, or is the alias itself.
    """
    wanted = build(Fallbacks, "fallbacks", fallbacks=tuple(models))
    return Call("PUT", path("/v1/models/{}/fallbacks", alias), read(ModelInfo), body=wanted)


def rollback(alias: str) -> Call[Promotion]:
    """Let an alias name again what it named before, or be split again as it was.

    The next episode uses it; one that runs keeps its own.

    Raises:
        NotFoundError: there is no such alias.
        ConflictError: it never named another version.
    """
    return Call(
        "POST",
        path("/v1/models/{}/rollback", alias),
        read(Promotion),
        if_lost="See which version the alias names now: rolled back again, it goes one further back.",
    )


def promotions(alias: str) -> Call[list[Promotion]]:
    """Every change of what an alias names, by whom and on what evidence, newest first.

    Raises:
        NotFoundError: there was never such an alias.
    """
    return Call("GET", path("/v1/models/{}/promotions", alias), read(list[Promotion]))
