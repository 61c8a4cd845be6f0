"""Which model does the demo's tasks, and what is known of its skill."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from practicum.cli.services.local_model import local_model, served_model
from practicum.cli.services.state import StateDirectory
from practicum.contracts.evaluation import Estimate
from practicum.contracts.models import ModelSpec, Provider, Sampling
from practicum.contracts.tasks import Split
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
    return Choice(spec, measured(model.adapter.with_name("manifest.json")))


def measured(manifest: Path) -> tuple[str, ...]:
    """What the adapter's manifest says of the model's skill, each number with its count and interval.

    Raises:
        ConfigurationError: it does not say.
    """
    try:
        told = _Manifest.model_validate_json(manifest.read_bytes())
    except (OSError, ValidationError) as error:
        raise ConfigurationError(f"{manifest} does not say what was measured.", mend="Check it out again.") from error
    return (
        "A few good episodes are no success rate. Measured once on each task, with the systems' state verified:",
        *(f"  {name:<20} {stage.in_words()}" for name, stage in told.measured.items()),
    )


class _Stage(BaseModel):
    """What one way of serving the model was measured at."""

    split: Split
    all: Estimate
    unscored: int

    def in_words(self) -> str:
        share = self.all
        split = self.split.value.replace("_", "-")
        unscored = f", {self.unscored} unscored" if self.unscored else ""
        if share.value is None or share.low is None or share.high is None:
            return f"none of its {split} tasks could be scored{unscored}"
        return (
            f"{share.value * share.n:.0f} of {share.n} {split} tasks right: {share.value:.0%}, "
            f"95 % interval {share.low:.0%} to {share.high:.0%}{unscored}"
        )


class _Manifest(BaseModel):
    """The part of the adapter's manifest that is read here."""

    measured: dict[str, _Stage]
