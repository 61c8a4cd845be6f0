"""Makes what a path needs of a suite and a model: solved tasks, rows, bundles."""

import asyncio
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from pydantic import ValidationError

from practicum.codecs.registry import codec_named
from practicum.contracts.tasks import Split
from practicum.contracts.tools import Tool
from practicum.contracts.trajectory import Trajectory
from practicum.datasets import Dataset, Format, build
from practicum.errors import ConfigurationError
from practicum.files import whole_folder
from practicum.stages._trl.models import speller
from practicum.stages.bundle import Base
from practicum.stages.grpo import train_grpo
from practicum.stages.progress import Progress
from practicum.stages.references import solve, spelled
from practicum.stages.settings import GrpoSettings, SftSettings
from practicum.stages.sft import train_sft
from practicum.tasks import Suite

SOLVED = "trajectories.jsonl"


class SuiteMaker:
    """Makes things of a suite's train split; a `practicum.stages.walk.Maker`."""

    def __init__(
        self,
        suite: Suite,
        base: Base | None,
        codec: str,
        *,
        system: str | None,
        tasks: int | None,
        cache: Path,
        tell: Callable[[str], None],
    ) -> None:
        """Take what it works with.

        Args:
            suite: the tasks and their systems.
            base: the model to train; None where nothing is trained.
            codec: in which it is spoken to.
            system: system message before every task; None for the gateway's own.
            tasks: how many of the train split's tasks are solved; None for all.
            cache: where converted bases are kept.
            tell: is told of every step, a line at a time.
        """
        self._suite, self._base, self._codec = suite, base, codec
        self._system, self._tasks, self._cache, self._tell = system, tasks, cache, tell

    def references(self, folder: Path) -> str:
        """Perform reference solutions of the train split.

        Raises:
            ConfigurationError: none of them is accepted by the suite's own verifier.
        """
        solved = asyncio.run(self._solved())
        good = sum(trajectory.reward == 1 for trajectory in solved)
        self._tell(f"{good} of {len(solved)} reference solutions are accepted by the verifier")
        if not good:
            raise ConfigurationError(f"No reference solution of {self._suite.name} is accepted by its own verifier.")
        raw = "".join(f"{trajectory.model_dump_json()}\n" for trajectory in solved).encode()
        with whole_folder(folder) as draft:
            (draft / SOLVED).write_bytes(raw)
        return sha256(raw).hexdigest()

    def dataset(self, references: Path, folder: Path) -> str:
        """Make rows of tokens of the solved ones, with manifest and card."""
        codec = codec_named(self._codec)
        spell = speller(Path(self._trained().path), codec)
        tools = asyncio.run(self._tools())
        manifest = build(
            f"{self._suite.name}-references",
            (spelled(trajectory, tools, codec, spell) for trajectory in read_solved(references)),
            folder,
            format=Format.SFT,
            where=f"suite={self._suite.name} split={Split.TRAIN} reward>=1",
            overwrite=True,
        )
        (file,) = manifest.files
        self._tell(f"{file.rows} rows, {file.trainable_tokens} of {file.tokens} tokens to learn")
        return Dataset(folder).digest

    def sft(self, dataset: Path, folder: Path, settings: SftSettings) -> str:
        """Train the base on rows."""
        bundle = train_sft(dataset, self._trained(), folder, settings, codec=self._codec, listener=self._step)
        return bundle.digest

    def grpo(self, start: Path, folder: Path, settings: GrpoSettings) -> str:
        """Practise the train split from a bundle."""
        return train_grpo(self._suite, start, folder, settings, cache=self._cache, listener=self._step).digest

    async def _solved(self) -> list[Trajectory]:
        tasks = self._suite.tasks(Split.TRAIN)[: self._tasks]
        return [trajectory async for trajectory in solve(self._suite, tasks, self._system)]

    async def _tools(self) -> Sequence[Tool]:
        async with self._suite.practice() as practice:
            return practice.tools

    def _trained(self) -> Base:
        if self._base is None:
            raise RuntimeError("Nothing is to be trained, and yet it is.")
        return self._base

    def _step(self, progress: Progress) -> None:
        shown = ("loss", "reward", "replay_loss")
        figures = " ".join(f"{name} {progress.figures[name]:.3f}" for name in shown if name in progress.figures)
        self._tell(
            f"{progress.stage} step {progress.step}/{progress.steps} {progress.seconds:.0f} s {figures}".rstrip()
        )


def read_solved(folder: Path) -> list[Trajectory]:
    """The trajectories that `SuiteMaker.references` kept.

    Raises:
        ConfigurationError: they cannot be read.
    """
    path = folder / SOLVED
    try:
        return [Trajectory.model_validate_json(line) for line in path.read_bytes().split(b"\n")[:-1]]
    except (OSError, ValidationError) as error:
        raise ConfigurationError(
            f"{path} cannot be read.", mend=f"Remove {folder}: the reference solutions are performed again."
        ) from error
