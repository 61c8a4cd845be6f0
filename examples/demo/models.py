"""Which model does the demo's tasks, and what is known of its skill."""

from dataclasses import dataclass
from pathlib import Path

from examples.models.manifest import MANIFEST, Measured, read_manifest
from practicum.cli.services.local_model import local_model, served_model
from practicum.cli.services.state import StateDirectory
from practicum.contracts.models import ModelSpec, Provider, Sampling
from practicum.errors import ConfigurationError

LOCAL = "local"


@dataclass(frozen=True)
class Choice:
    """A model and what may be said of it.

    Attributes:
        spec: how it is registered.
        skill: its measured success on held-out tasks, a line for each stage; that it was not measured, otherwise.
    """

    spec: ModelSpec
    skill: tuple[str, ...]


def choose(name: str, port: int | None, state: StateDirectory) -> Choice:
    """The model of this name.

    Args:
        name: `local`, or a name that litellm knows.
        port: where the local model server listens, if it does.
        state: the installation that runs it.

    Raises:
        ConfigurationError: the local model is asked for and no server runs, or what is shipped for it is damaged.
    """
    if name != LOCAL:
        spec = ModelSpec(alias="remote", provider=Provider.LITELLM, target=name, sampling=Sampling(temperature=0))
        return Choice(spec, (f"{name} was not measured on this suite: a few good episodes are no success rate.",))
    if port is None:
        raise ConfigurationError("No local model server runs.", mend="practicum up --model local")
    model = local_model()
    spec = served_model(state).model_copy(update={"base_url": f"http://127.0.0.1:{port}"})
    if model.adapter is None:
        return Choice(spec, ("Without the shipped adapter, the bare model solves next to nothing.",))
    return Choice(spec, measured(model.adapter.with_name(MANIFEST)))


def measured(manifest: Path) -> tuple[str, ...]:
    """What the adapter's manifest says of the model's skill, each number with its count and interval.

    Raises:
        ConfigurationError: it does not say.
    """
    told = read_manifest(manifest)
    return (
        "A few good episodes are no success rate. Measured stage by stage, with the systems' state verified:",
        *(f"  {_marked(name, told.stage):<20} {_in_words(stage)}" for name, stage in told.measured.items()),
    )


def _marked(name: str, shipped: str) -> str:
    return f"{name}, shipped" if name == shipped else name


def _in_words(stage: Measured) -> str:
    share = stage.success
    split = stage.split.value.replace("_", "-")
    unscored = f", {stage.unscored} unscored" if stage.unscored else ""
    if share.value is None or share.low is None or share.high is None:
        return f"none of its {split} tasks could be scored{unscored}"
    tried = f"{share.n} {split} tasks" if stage.attempts == 1 else f"{share.n} attempts at {stage.tasks} {split} tasks"
    return (
        f"{stage.successes} of {tried} right: {share.value:.0%}, "
        f"95 % interval {share.low:.0%} to {share.high:.0%}{unscored}"
    )
