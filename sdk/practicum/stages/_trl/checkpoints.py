"""What all trainers here share: the loop's arguments, its news, and checkpoints that are whole or not there."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from practicum.stages._trl import libraries
from practicum.stages._trl.models import device
from practicum.stages._trl.saving import saving
from practicum.stages.balance import BalanceState
from practicum.stages.progress import Listener, Progress
from practicum.stages.runs import Checkpoint, CheckpointState, Run, write_state
from practicum.stages.schedule import share_of_rate
from practicum.stages.settings import Precision, Training


@dataclass
class Course:
    """Where a run stands while it trains.

    Attributes:
        stage: `sft` or `grpo`.
        run: its folder.
        listener: is told of every step.
        limit: wall seconds after which it ends; None for no bound.
        before: wall seconds spent before an interruption.
        began: on the monotonic clock.
        figures: what was measured beside the trainer's own numbers, until the step is told.
        latest: the figures of the last step.
        balance: where the drawing of tasks stands.
    """

    stage: str
    run: Run
    listener: Listener
    limit: float | None
    before: float = 0.0
    began: float = field(default_factory=time.monotonic)
    figures: dict[str, float] = field(default_factory=dict[str, float])
    latest: dict[str, float] = field(default_factory=dict[str, float])
    balance: Callable[[], BalanceState | None] = lambda: None

    @property
    def seconds(self) -> float:
        """Wall seconds spent so far."""
        return self.before + time.monotonic() - self.began

    @property
    def spent(self) -> float:
        """Share of the time that is behind; 0 where there is no bound."""
        return 0.0 if self.limit is None else self.seconds / self.limit

    def tell(self, step: int, steps: int, logged: Mapping[str, Any]) -> None:
        """Write a finished step down and tell of it."""
        numbers = {name: float(value) for name, value in logged.items() if _is_number(value) and name != "epoch"}
        self.latest = {**numbers, **self.figures}
        self.figures = {}
        progress = Progress(self.stage, step, steps, self.seconds, self.latest)
        self.run.record(progress)
        self.listener(progress)

    def mark(self, step: int) -> None:
        """Declare the checkpoint of a step whole."""
        state = CheckpointState(step=step, seconds=self.seconds, balance=self.balance())
        write_state(self.run.checkpoints / f"checkpoint-{step}", state)


def course_of(stage: str, run: Run, settings: Training, listener: Listener, latest: Checkpoint | None) -> Course:
    """The course of a run that begins, or goes on from a checkpoint."""
    run.rewind(0 if latest is None else latest.state.step)
    before = 0.0 if latest is None else latest.state.seconds
    return Course(stage, run, listener, settings.seconds, before)


def loop_arguments(settings: Training, folder: Path) -> dict[str, Any]:
    """The arguments that every trainer gets: nothing is sent anywhere, nothing is printed, nothing is cut."""
    return {
        "output_dir": str(folder),
        "learning_rate": settings.rate,
        "max_grad_norm": settings.clip,
        "weight_decay": 0.0,
        "bf16": settings.precision is Precision.BFLOAT16,
        "use_cpu": device() == "cpu",
        "seed": settings.seed,
        "gradient_checkpointing": None,  # TRL would switch it on; None is off without naming the old or the new name
        "logging_steps": 1,
        "save_strategy": "steps",
        "save_steps": settings.save_every,
        # Two, since the older one counts until the newer is marked as whole.
        "save_total_limit": 2,
        "report_to": [],
        "disable_tqdm": True,
        "dataloader_pin_memory": False,
        "remove_unused_columns": False,
    }


def kept(parent: Any, settings: Training, course: Course, *, falling: bool) -> Any:
    """A trainer class with our schedule, whose checkpoints are marked once they are whole.

    Args:
        parent: the class of TRL.
        settings: how it trains.
        course: where the run stands.
        falling: whether the learning rate falls after the warm-up.
    """

    class Kept(parent):
        def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
            def share(step: int) -> float:
                spent = course.spent
                return share_of_rate(step, num_training_steps, warmup=settings.warmup, falling=falling, spent=spent)

            schedulers = libraries.torch().optim.lr_scheduler
            self.lr_scheduler = schedulers.LambdaLR(optimizer or self.optimizer, share)
            return self.lr_scheduler

        def create_model_card(self, *_: Any, **__: Any) -> None:
            """The bundle's manifest says it."""

        def _save_checkpoint(self, model: Any, trial: Any) -> None:
            with saving(course.run.folder):
                parent._save_checkpoint(self, model, trial)  # noqa: SLF001  the hook that this class replaces
            course.mark(int(self.state.global_step))

    return Kept


def follow(trainer: Any, course: Course) -> None:
    """Have a trainer tell of its steps, and of nothing else."""
    transformers = libraries.transformers()

    class Following(transformers.TrainerCallback):
        def on_log(self, _args: Any, state: Any, _control: Any, logs: Any = None, **_: Any) -> None:
            if logs and "loss" in logs:
                course.tell(int(state.global_step), int(state.max_steps), logs)

        def on_step_end(self, _args: Any, _state: Any, control: Any, **_: Any) -> None:
            if course.spent >= 1:
                control.should_training_stop = True

    trainer.remove_callback(transformers.PrinterCallback)
    trainer.add_callback(Following())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
