"""Which model does the demo's tasks, and what is known of its skill."""

from dataclasses import dataclass

from practicum.cli.services.local_model import local_model
from practicum.contracts.models import ModelSpec, Provider, Sampling
from practicum.errors import ConfigurationError

LOCAL = "local"


@dataclass(frozen=True)
class Choice:
    """A model and what may be said of it.

    Attributes:
        spec: how it is registered.
        skill: its measured success on the held-out tasks, in words; that it was not measured, otherwise.
    """

    spec: ModelSpec
    skill: str


def choose(name: str, port: int | None) -> Choice:
    """The model of this name.

    Args:
        name: `local`, or a name that litellm knows.
        port: where the local model server listens, if it does.

    Raises:
        ConfigurationError: the local model is asked for and no server runs.
    """
    if name != LOCAL:
        spec = ModelSpec(alias="remote", provider=Provider.LITELLM, target=name, sampling=Sampling(temperature=0))
        return Choice(spec, f"{name} was not measured here: a few good episodes are no success rate.")
    if port is None:
        raise ConfigurationError("No local model server runs.", mend="practicum up --model local")
    spec = local_model().spec.model_copy(update={"base_url": f"http://127.0.0.1:{port}"})
    return Choice(spec, _skill())


def _skill() -> str:
    """What was measured of the local model."""
    return "not measured"
