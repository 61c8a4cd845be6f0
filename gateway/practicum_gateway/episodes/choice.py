"""Which version an episode begins with and keeps, and who may answer in its place: chosen once, when it begins."""

from collections.abc import Sequence
from dataclasses import dataclass

from practicum.contracts.episodes import EpisodeMode, EpisodeRequest
from practicum.contracts.models import ModelSpec, reference
from practicum.contracts.tools import Tool
from practicum.errors import RequestError
from practicum_gateway.models.registry import RegisteredModel, Registry
from practicum_gateway.models.tool_forms import profile_of, too_many
from practicum_gateway.models.versions import version_of


@dataclass(frozen=True, slots=True)
class Choice:
    """The models of an episode.

    Attributes:
        model: the one that it begins with.
        others: those that may answer where that one cannot, in this order.
    """

    model: RegisteredModel
    others: tuple[RegisteredModel, ...] = ()

    @property
    def fallbacks(self) -> tuple[str, ...]:
        """The others, as the registry is asked for them."""
        return tuple(reference(other.spec.alias, version_of(other.spec)) for other in self.others)

    def tool_budget(self, tools: Sequence[Tool]) -> int | None:
        """Tokens of tool definitions in one prompt, where tools exceed what one of the models has room for."""
        return min(
            (
                spec.tool_tokens
                for spec in (each.spec for each in (self.model, *self.others))
                if spec.tool_tokens is not None and too_many(tools, spec)
            ),
            default=None,
        )


async def chosen(registry: Registry, principal: str, request: EpisodeRequest, episode: str) -> Choice:
    """The models that an episode begins with.

    Args:
        registry: knows the models.
        principal: on whose behalf it runs.
        request: what is asked for; where its alias is split, its idempotency key draws the version, so that a retry
            draws the same.
        episode: its id, which draws where there is no such key.

    Raises:
        NotFoundError: there is no such model.
        RequestError: a training episode would be of several policies, or there is nothing to fall back on.
    """
    key = request.idempotency_key
    unit = episode if key is None else f"{principal}/{key}"
    training = request.mode is EpisodeMode.TRAINING
    model = await registry.get(request.model, unit=unit)
    if training and model.split:
        raise RequestError(
            f"'{request.model}' is split among versions, and rollouts of one policy cannot be of several.",
            mend=f"Ask for one of them: '{reference(model.spec.alias, model.version)}'.",
        )
    if not request.fallback:
        return Choice(model)
    if training:
        raise RequestError(
            "A training episode never falls back on another model: its tokens would be of several policies.",
            mend="Leave `fallback` out; a rollout whose model fails is begun again.",
        )
    if not model.fallbacks:
        raise RequestError(
            f"'{request.model}' has no fallbacks.",
            mend=f"Name them: `practicum models fallbacks {model.spec.alias} OTHER`, or leave `fallback` out.",
        )
    others = tuple([await registry.get(name, unit=unit) for name in model.fallbacks])
    for name, other in zip(model.fallbacks, others, strict=True):
        _check_form(model.spec, other.spec, name)
    return Choice(model, others)


def _check_form(spec: ModelSpec, other: ModelSpec, name: str) -> None:
    """See that a fallback's calls can be read as those of the model: an episode writes its tools in one form."""
    if profile_of(spec) is not None and other.provider.renders:
        raise RequestError(
            f"'{spec.alias}' has its tools in the form '{profile_of(spec)}', and '{name}' renders them itself.",
            mend="Fall back on a litellm model, or leave `fallback` out.",
        )
