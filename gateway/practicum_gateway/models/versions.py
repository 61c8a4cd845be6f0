"""Versions of models: how they are named, told apart, shown, and checked before they are kept. Pure."""

import json
from collections.abc import Iterable

from practicum.codecs.registry import CODECS, codec_named
from practicum.contracts.comparison import Difference, differences
from practicum.contracts.models import ModelInfo, ModelSpec, Provider
from practicum.errors import ConfigurationError, RequestError
from practicum_gateway.models.llama_cpp import DEFAULT_CODEC
from practicum_gateway.models.tool_forms import check_profile, profile_of

_NUMBER = "#"


def version_of(spec: ModelSpec) -> str:
    """What the record calls a model: the version given to it, else its target, with the adapters' scales."""
    if spec.version is not None:
        return spec.version
    adapters = "".join(f"+lora{number}:{scale:g}" for number, scale in sorted(spec.adapter.items()))
    return spec.target + adapters


def same_model(one: ModelSpec, other: ModelSpec) -> bool:
    """Whether two registrations are of the same model asked in the same way, wherever it is reached and kept."""
    where = {"version": None, "base_url": None, "api_key": None, "cache_seconds": None}
    return one.model_copy(update=where) == other.model_copy(update=where)


def compared(kept: ModelSpec, wish: ModelSpec, *, same: bool) -> tuple[Difference, ...]:
    """What a registration says otherwise; of a provider's key, only whether it is another.

    Args:
        kept: what is there, with its key.
        wish: what is wished for.
        same: whether both are the same model, whose version is kept as it is called.
    """
    left_out = {"api_key"} if wish.version is not None and not same else {"api_key", "version"}
    before, after = (json.loads(spec.model_dump_json(exclude=left_out)) for spec in (kept, wish))
    key = () if kept.api_key == wish.api_key else (Difference(where="api_key", secret=True),)
    return (*differences(before, after), *key)


def unused(version: str, taken: Iterable[str]) -> str:
    """The version, with a number behind it where it is taken."""
    known = set(taken)
    number, name = 1, version
    while name in known:
        number += 1
        name = f"{version}{_NUMBER}{number}"
    return name


def numbered(name: str, version: str | None) -> bool:
    """Whether a name is this version with a number behind it."""
    base, mark, number = name.rpartition(_NUMBER)
    return bool(mark) and base == version and number.isdecimal()


def info_of(spec: ModelSpec) -> ModelInfo:
    """A model as it may be shown."""
    return ModelInfo(
        alias=spec.alias,
        provider=spec.provider,
        target=spec.target,
        version=version_of(spec),
        base_url=spec.base_url,
        codec=spec.codec,
        constrained=spec.constrained,
        examples=0 if spec.examples is None else len(spec.examples.episodes),
        bundle=spec.bundle,
        tool_tokens=spec.tool_tokens,
        tool_profile=profile_of(spec),
        cache_seconds=spec.cache_seconds,
    )


def check_settings(spec: ModelSpec) -> None:
    """See that every setting means something to the provider.

    Raises:
        RequestError: one does not.
    """
    check_profile(spec)
    if spec.provider is Provider.LLAMA_CPP:
        if spec.base_url is None:
            raise RequestError(
                f"The model '{spec.alias}' has no base_url.", mend="Give the URL of its llama.cpp server."
            )
    elif spec.provider is Provider.COMPLETIONS:
        _check_completions(spec)
    elif spec.codec is not None or spec.adapter or spec.bundle is not None:
        raise RequestError(
            "A litellm model calls tools natively: codec, adapter and bundle would do nothing.",
            mend="Leave them out, or use the provider llama_cpp, or completions for any server of text completions.",
        )
    if (fault := template_fault(spec)) is not None:
        known = f"Use one of: {', '.join(codec.name for codec in CODECS)}."
        mend = (
            known if spec.bundle is None else "Train it again with this version, or serve it with the one it was for."
        )
        raise RequestError(fault, mend=mend)


def _check_completions(spec: ModelSpec) -> None:
    if spec.base_url is None:
        raise RequestError(
            f"The model '{spec.alias}' has no base_url.", mend="Give the URL of its server, up to and with /v1."
        )
    if spec.codec is None:
        raise RequestError(
            f"The model '{spec.alias}' has no codec, and its server renders nothing.",
            mend=f"Name the codec of its chat template, one of: {', '.join(codec.name for codec in CODECS)}.",
        )
    if spec.adapter:
        raise RequestError(
            f"The server of '{spec.alias}' takes no adapter with a request: it would do nothing.",
            mend="Leave it out; an adapter that the server has loaded has a name of its own, which is the target.",
        )


def template_fault(spec: ModelSpec) -> str | None:
    """Why a model would be asked in another dialect than the one it was trained in; None where it would not."""
    name, bundle = spec.codec or DEFAULT_CODEC, spec.bundle
    if not spec.provider.renders:
        return None
    try:
        rendered = codec_named(name).template_hash
    except ConfigurationError as error:
        return error.detail
    if bundle is None:
        return None
    if bundle.codec != name:
        return f"The bundle was trained in the codec '{bundle.codec}', and would be asked in '{name}'."
    if bundle.template_hash != rendered:
        return (
            f"The bundle was trained with another template of the codec '{name}' ({bundle.template_hash[:12]}) "
            f"than this gateway renders ({rendered[:12]})."
        )
    return None
