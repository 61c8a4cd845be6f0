"""TRL's SFTTrainer over rows of tokens."""

from collections.abc import Sequence
from typing import Any

from practicum.stages._trl import libraries
from practicum.stages._trl.checkpoints import Course, follow, kept, loop_arguments
from practicum.stages._trl.models import Loaded
from practicum.stages._trl.scoring import check_model, score
from practicum.stages.runs import Checkpoint
from practicum.stages.settings import SftSettings
from practicum.trajectories import TokenRow
from practicum.trajectories.tokens import IGNORED


def train(
    loaded: Loaded, rows: Sequence[TokenRow], settings: SftSettings, course: Course, latest: Checkpoint | None
) -> int:
    """Train until the last step, or until the time is up.

    Args:
        loaded: the model; it is changed.
        rows: checked rows.
        settings: how.
        course: where the run stands.
        latest: the checkpoint to go on from.

    Returns:
        The steps done.
    """
    check_model(loaded)
    trl, datasets = libraries.trl(), libraries.datasets()
    at_once = min(settings.rows_at_once, settings.rows_per_step)
    arguments = trl.SFTConfig(
        **loop_arguments(settings, course.run.checkpoints),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=at_once,
        gradient_accumulation_steps=settings.rows_per_step // at_once,
        max_length=None,
        packing=False,
        dataset_kwargs={"skip_prepare_dataset": True},
    )
    trainer = _trainer_class(loaded, settings, course)(
        model=loaded.model,
        args=arguments,
        train_dataset=datasets.Dataset.from_dict(
            {"input_ids": [list(row.input_ids) for row in rows], "labels": [list(row.labels) for row in rows]}
        ),
        processing_class=loaded.tokenizer,
    )
    follow(trainer, course)
    with libraries.quiet():
        trainer.train(resume_from_checkpoint=None if latest is None else str(latest.folder))
    return int(trainer.state.global_step)


def replayed(loaded: Loaded, rows: Sequence[TokenRow]) -> Any:
    """The mean loss of some rows' trained tokens."""
    torch = libraries.torch()
    width = max(len(row.input_ids) for row in rows)

    def padded(values: Sequence[Sequence[int]], filler: int) -> Any:
        filled = [[*row, *[filler] * (width - len(row))] for row in values]
        return torch.tensor(filled, device=loaded.model.device)

    labels = padded([row.labels for row in rows], IGNORED)
    attention = padded([[1] * len(row.input_ids) for row in rows], 0)
    scores = score(loaded, padded([row.input_ids for row in rows], 0), attention, labels != IGNORED)
    return -scores.logprobs.sum() / (labels != IGNORED).sum()


def _trainer_class(loaded: Loaded, settings: SftSettings, course: Course) -> Any:
    parent = kept(libraries.trl().SFTTrainer, settings, course, falling=settings.falling)

    class Trainer(parent):
        def compute_loss(
            self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
        ) -> Any:
            del model, return_outputs
            wanted = inputs["labels"] != IGNORED
            scores = score(loaded, inputs["input_ids"], inputs["attention_mask"], wanted)
            self._metrics["train"]["entropy"].append((scores.entropy.sum() / wanted.sum()).item())
            # Over all rows of the step, so that a token weighs the same in whatever part of it it comes.
            return -scores.logprobs.sum() / (wanted.sum() if num_items_in_batch is None else num_items_in_batch)

    return Trainer
