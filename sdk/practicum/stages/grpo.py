"""Reinforcement learning by practice: tasks are attempted, judged by what was done, and learned from."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from practicum.codecs.registry import codec_named
from practicum.contracts.base import JsonObject
from practicum.contracts.tasks import Split, Task
from practicum.errors import ConfigurationError, UpstreamError
from practicum.stages._trl import grpo as trainer
from practicum.stages._trl.checkpoints import Course, course_of
from practicum.stages._trl.models import Loaded, settle
from practicum.stages._trl.policy import LocalPolicy
from practicum.stages.balance import Balance
from practicum.stages.bases import base_of
from practicum.stages.bundle import Bundle, Source, read_bundle
from practicum.stages.extra import require
from practicum.stages.finishing import finish
from practicum.stages.groups import Batch, batch_of
from practicum.stages.lockstep import play
from practicum.stages.policies import load_bundle
from practicum.stages.practices import Practices
from practicum.stages.progress import Listener, silent
from practicum.stages.rows import Rows, check_rows, read_rows
from practicum.stages.runs import Run, run_in
from practicum.stages.settings import GrpoSettings
from practicum.stages.sft import source_of
from practicum.tasks import Suite
from practicum.trajectories import TokenRow


def train_grpo(
    suite: Suite,
    start: Path,
    out: Path,
    settings: GrpoSettings | None = None,
    *,
    cache: Path,
    listener: Listener = silent,
) -> Bundle:
    """Let a model practise a suite's tasks of the train split.

    The same call again goes on with a run that was interrupted, and returns the bundle of one that is done.

    Args:
        suite: what to practise; nothing of its held-out split is looked at.
        start: folder of the bundle to go on from.
        out: folder of the run, which becomes the bundle.
        settings: how.
        cache: where converted bases are kept.
        listener: is told of every step.

    Raises:
        MissingExtraError: the extra `train` is not installed.
        ConfigurationError: bundle, suite and settings do not fit each other.
        ConflictError: the folder holds something else.
        UpstreamError: the practice systems cannot be opened, or failed in every attempt of a step.
    """
    require()
    settings = settings or GrpoSettings()
    parent = read_bundle(start)
    tasks = _tasks(suite, settings)
    replay = None if settings.replay is None else read_rows(Path(settings.replay.dataset), codec_named(parent.codec))
    with run_in(out, _plan(suite, parent, replay, settings)) as run:
        if run.finished:
            return read_bundle(out)
        settle(settings.seed, settings.threads)
        loaded = load_bundle(start, parent, cache, settings.precision)
        if replay is not None:
            check_rows(replay.rows, vocabulary=loaded.vocabulary, context=loaded.context, stops=loaded.stops)
        with Practices(suite, min(settings.seats, settings.groups * settings.group_size)) as practices:
            gym = _Gym(suite, tasks, practices, loaded, settings, parent, replay)
            steps, course = _train(run, gym, listener)
        return finish(
            run,
            loaded,
            course,
            settings,
            stage="grpo",
            base=base_of(parent, cache),
            parent=parent.digest,
            system=gym.system,
            sources=gym.sources,
            steps=steps,
        )


@dataclass
class _Gym:
    """Where attempts are made."""

    suite: Suite
    tasks: Sequence[Task]
    practices: Practices
    loaded: Loaded
    settings: GrpoSettings
    parent: Bundle
    replay: Rows | None

    @property
    def system(self) -> str | None:
        """The system message before the tasks."""
        return self.parent.system if self.settings.system is None else self.settings.system

    @property
    def sources(self) -> tuple[Source, ...]:
        """What is learned from, as a bundle names it."""
        suite = Source(kind="suite", name=self.suite.name, digest=self.suite.digest)
        return (suite,) if self.replay is None else (suite, source_of(self.replay))

    def replayed(self, step: int) -> Sequence[TokenRow]:
        """The recorded rows that join a step."""
        if self.replay is None or self.settings.replay is None:
            return ()
        draw = random.Random(f"{self.settings.seed}:replay:{step}")  # noqa: S311  repeatable, not secret
        return draw.sample(self.replay.rows, min(self.settings.replay.rows, len(self.replay.rows)))

    def attempts(self, step: int, balance: Balance) -> Batch:
        """The attempts of a step by the policy as it is now.

        Raises:
            UpstreamError: the systems failed in every one of them.
        """
        settings = self.settings
        drawn = balance.draw(step, settings.groups)
        policy = LocalPolicy(
            self.loaded,
            version=f"step-{step}",
            temperature=settings.temperature,
            turn_tokens=settings.turn_tokens,
            seed=settings.seed * 1_000_003 + step,
        )
        tasks = [task for task in drawn for _ in range(settings.group_size)]
        played = play(self.suite, tasks, policy, self.practices, limits=settings.limits, system=self.system)
        batch = batch_of(played, settings.group_size, normalise=settings.normalise)
        if not batch.outcomes:
            reasons = {difference for attempt in played for difference in attempt.verdict.differences}
            raise UpstreamError(
                f"No attempt of step {step + 1} could be judged: {'; '.join(sorted(reasons)[:3])}.",
                mend="See to the practice systems, and give the same command again to go on.",
            )
        balance.learn(batch.outcomes)
        return batch


def _train(run: Run, gym: _Gym, listener: Listener) -> tuple[int, Course]:
    settings, latest = gym.settings, run.latest()
    state = None if latest is None else latest.state.balance
    balance = Balance(gym.tasks, floor=settings.floor, seed=settings.seed, state=state)
    course = course_of("grpo", run, settings, listener, latest)
    course.balance = lambda: balance.state
    feed = trainer.Feed(attempts=lambda step: gym.attempts(step, balance), replay=gym.replayed)
    return trainer.train(gym.loaded, feed, settings, course, latest), course


def _tasks(suite: Suite, settings: GrpoSettings) -> tuple[Task, ...]:
    tasks = suite.tasks(Split.TRAIN)
    known = {task.family for task in tasks}
    unknown = sorted(set(settings.families) - known)
    if unknown:
        raise ConfigurationError(
            f"The suite {suite.name} has no family {', '.join(unknown)}.", mend=f"It has: {', '.join(sorted(known))}."
        )
    return tuple(task for task in tasks if not settings.families or task.family in settings.families)


def _plan(suite: Suite, parent: Bundle, replay: Rows | None, settings: GrpoSettings) -> JsonObject:
    return {
        "stage": "grpo",
        "suite": suite.name,
        "suite_digest": suite.digest,
        "parent": parent.digest,
        "replay": None if replay is None else replay.digest,
        "settings": settings.model_dump(mode="json"),
    }
