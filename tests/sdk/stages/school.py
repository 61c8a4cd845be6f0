"""What the tests of training share: a tiny model that was shown how to tend lamps, mostly rightly."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from practicum.codecs.chatml import ChatMLCompact
from practicum.contracts.episodes import Limits
from practicum.contracts.messages import Message
from practicum.contracts.tasks import Split
from practicum.datasets import Format, build
from practicum.stages._trl.models import Loaded, load_base, settle
from practicum.stages._trl.policy import LocalPolicy
from practicum.stages.bases import find_base
from practicum.stages.bundle import Base
from practicum.stages.lockstep import Played, play
from practicum.stages.practices import Practices
from practicum.stages.rows import read_rows
from practicum.stages.settings import GrpoSettings, Lora, Precision, SftSettings
from practicum.trajectories import TokenRow
from tests.sdk.stages.clerk import Scripted, clerk
from tests.sdk.stages.house import LAMPS_SUITE, SYSTEM
from tests.sdk.stages.tiny import make_tiny

LIMITS = Limits(steps=3, errors_in_a_row=1)
WRONG = {"darken": "house_on", "soften": "house_on"}
"""What those who were watched mostly got wrong: the likeliest turn is the wrong one, the right one is known too."""


@dataclass(frozen=True)
class School:
    """A base and what was recorded.

    Attributes:
        folder: where everything lies.
        base: the model that knows nothing.
        dataset: folder of the rows.
        played: what was recorded in it, in order.
    """

    folder: Path
    base: Base
    dataset: Path
    played: tuple[Played, ...]


def school(folder: Path, seed: int, *, repeats: int = 5, say: Callable[[str], Message] | None = None) -> School:
    """Make a base and record somebody who tends lamps."""
    base = find_base(str(make_tiny(folder / "base", seed)), folder)
    settle(seed, threads=1)
    speller = policy(load(base), temperature=0.0)
    scripted = Scripted(say or clerk(WRONG, 0.65, seed), speller)
    with Practices(LAMPS_SUITE, 60) as practices:
        tasks = LAMPS_SUITE.tasks(Split.TRAIN) * repeats
        played = play(LAMPS_SUITE, tasks, scripted, practices, limits=LIMITS, system=SYSTEM)
    # Nobody judged them: a log of what was done, good and bad.
    records = [
        one.trajectory.model_copy(update={"rewards": (), "episode": f"episode-{number}"})
        for number, one in enumerate(played)
    ]
    build("lamps", records, folder / "data", format=Format.SFT)
    return School(folder, base, folder / "data", played)


def load(base: Base, *, lora: Lora | None = None) -> Loaded:
    """The base as it is loaded to be trained."""
    return load_base(Path(base.path), ChatMLCompact(), Precision.FLOAT32, lora=lora)


def policy(loaded: Loaded, *, temperature: float, seed: int = 1) -> LocalPolicy:
    """A sampler from a loaded model."""
    return LocalPolicy(loaded, version="tiny", temperature=temperature, turn_tokens=24, seed=seed)


def sft(seed: int = 1, **changes: object) -> SftSettings:
    """Settings that teach a tiny model in seconds."""
    settings = SftSettings(
        lora=None,
        rate=2e-3,
        epochs=8,
        rows_per_step=32,
        rows_at_once=32,
        threads=1,
        seed=seed,
        save_every=1000,
        system=SYSTEM,
    )
    return SftSettings.model_validate({**settings.model_dump(), **changes})


def grpo(seed: int = 1, **changes: object) -> GrpoSettings:
    """Settings with which it finds out the rest in seconds."""
    settings = GrpoSettings(
        rate=5e-4,
        steps=16,
        groups=12,
        group_size=8,
        rows_at_once=96,
        turn_tokens=24,
        limits=LIMITS,
        seats=96,
        threads=1,
        seed=seed,
        save_every=1000,
    )
    return GrpoSettings.model_validate({**settings.model_dump(), **changes})


def rows(taught: School) -> tuple[TokenRow, ...]:
    """The rows of the dataset."""
    return read_rows(taught.dataset, ChatMLCompact()).rows
