"""From a bundle to a model that a gateway serves: what is served, and how it is registered."""

from pathlib import Path

from practicum.contracts.models import BundleFacts, ModelSpec, Provider
from practicum.errors import ConfigurationError
from practicum.stages.bundle import GGUF, Bundle, Kind


def adapter_file(folder: Path, bundle: Bundle) -> Path:
    """The adapter as llama.cpp loads it.

    Args:
        folder: the bundle's folder.
        bundle: its manifest.

    Raises:
        ConfigurationError: the bundle holds none.
    """
    if bundle.kind is Kind.FULL:
        raise ConfigurationError(
            f"{folder} holds a whole model, and the local model server serves adapters over one.",
            mend="Train an adapter (LoRA), or serve the model yourself and register it with `practicum models add`.",
        )
    if GGUF not in bundle.files:
        raise ConfigurationError(
            f"{folder} holds no {GGUF}: llama.cpp cannot load an adapter over '{bundle.base.name}'.",
            mend="Train an adapter over a model of a kind that llama.cpp serves, such as smollm2.",
        )
    return folder / GGUF


def version_of(bundle: Bundle) -> str:
    """What records call a bundle's model when nobody gives it a name."""
    return f"{bundle.stage}-{bundle.digest[:12]}"


def facts_of(bundle: Bundle) -> BundleFacts:
    """What a registration tells of a bundle."""
    return BundleFacts(
        digest=bundle.digest,
        stage=bundle.stage,
        codec=bundle.codec,
        template_hash=bundle.template_hash,
        base_hash=bundle.base.digest,
        weights_hash=bundle.files[GGUF],
        data_hashes=tuple(source.digest for source in bundle.sources),
    )


def registration(alias: str, bundle: Bundle, *, target: str, base_url: str, adapter: int) -> ModelSpec:
    """How a bundle's model is registered; sampling and the rest may be changed afterwards.

    Args:
        alias: the alias whose version it will be.
        bundle: the manifest of a bundle with an adapter.
        target: what the server calls the model below it.
        base_url: where the llama.cpp server listens.
        adapter: the adapter's number there; all others stay at 0.
    """
    return ModelSpec(
        alias=alias,
        provider=Provider.LLAMA_CPP,
        target=target,
        base_url=base_url,
        codec=bundle.codec,
        adapter={adapter: 1.0},
        system=bundle.system,
        version=version_of(bundle),
        bundle=facts_of(bundle),
    )
