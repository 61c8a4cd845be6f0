"""TRL's GRPOTrainer over attempts that were made elsewhere.

One private hook is replaced whole, `_generate_and_score_completions`: rollouts, rewards, groups and advantages come
from outside (`practicum.stages.groups`), and TRL gets tensors. What stays TRL's is the loss with its clipping and KL
term, the optimiser, the schedule and the checkpoints. Each step learns from attempts of the policy as it is, once; so
TRL's ratio is 1 and no sampled log-probability enters the loss.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from practicum.stages._trl import libraries
from practicum.stages._trl.checkpoints import Course, follow, kept, loop_arguments
from practicum.stages._trl.models import Loaded
from practicum.stages._trl.scoring import check_model, score
from practicum.stages._trl.sft import replayed
from practicum.stages.bundle import Kind
from practicum.stages.groups import Batch, Scored
from practicum.stages.runs import Checkpoint
from practicum.stages.settings import GrpoSettings
from practicum.trajectories import TokenRow


@dataclass(frozen=True)
class Feed:
    """Where a trainer gets what it learns from.

    Attributes:
        attempts: the batch of a step, by the step's number from 0; the policy is in its state of the moment.
        replay: the recorded rows of a step; none where nothing is replayed.
    """

    attempts: Callable[[int], Batch]
    replay: Callable[[int], Sequence[TokenRow]]


def train(loaded: Loaded, feed: Feed, settings: GrpoSettings, course: Course, latest: Checkpoint | None) -> int:
    """Train until the last step, or until the time is up.

    Args:
        loaded: the model, as it was at the start of the stage; it is changed.
        feed: attempts and rows.
        settings: how.
        course: where the run stands.
        latest: the checkpoint to go on from.

    Returns:
        The steps done.
    """
    check_model(loaded)
    trl, datasets = libraries.trl(), libraries.datasets()
    rows = settings.groups * settings.group_size
    at_once = min(settings.rows_at_once, rows)
    arguments = trl.GRPOConfig(
        **loop_arguments(settings, course.run.checkpoints),
        max_steps=settings.steps,
        per_device_train_batch_size=at_once,
        gradient_accumulation_steps=rows // at_once,
        steps_per_generation=rows // at_once,
        num_generations=settings.group_size,
        num_iterations=1,
        temperature=settings.temperature,
        beta=settings.beta,
        loss_type="dapo",
        ignore_data_skip=True,
    )
    trainer = _trainer_class(loaded, feed, settings, course)(
        model=loaded.model,
        reward_funcs=_never,
        args=arguments,
        # TRL walks over prompts; which tasks are attempted is decided by the feed.
        train_dataset=datasets.Dataset.from_dict({"prompt": [""] * settings.groups}),
        processing_class=loaded.tokenizer,
    )
    follow(trainer, course)
    with libraries.quiet():
        trainer.train(resume_from_checkpoint=None if latest is None else str(latest.folder))
    return int(trainer.state.global_step)


def _never(**_: Any) -> list[float]:
    """TRL asks for a reward function at its door and has no occasion to call it."""
    raise RuntimeError("Rewards come with the attempts.")


def _trainer_class(loaded: Loaded, feed: Feed, settings: GrpoSettings, course: Course) -> Any:
    parent = kept(libraries.trl().GRPOTrainer, settings, course, falling=False)

    class Trainer(parent):
        _wanted: Any = None
        _sampled: Any = None

        def _generate_and_score_completions(self, _inputs: Any) -> Any:
            batch = feed.attempts(int(self.state.global_step))
            course.figures.update(batch.figures)
            course.figures["trained_tokens"] = float(batch.trained)
            tensors = _tensors(batch.rows, self.accelerator.device)
            if self.beta:
                with libraries.torch().no_grad():
                    tensors["ref_per_token_logps"] = self._distant(tensors)
            return tensors

        def _distant(self, tensors: Any) -> Any:
            """Log-probabilities under the policy that this stage started from."""
            with _reference(loaded, self.ref_model) as start:
                return _in_parts(start, tensors, settings.rows_at_once, settings.temperature)

        def _compute_loss(self, model: Any, inputs: Any) -> Any:
            self._wanted = inputs["completion_mask"] * inputs["tool_mask"]
            self._sampled = inputs["sampling_per_token_logps"]
            loss: Any = parent._compute_loss(self, model, inputs)  # noqa: SLF001  the hook that this class replaces
            if self._step % self.args.steps_per_generation == 0 and (rows := feed.replay(int(self.state.global_step))):
                again = replayed(loaded, rows)
                course.figures["replay_loss"] = again.item()
                loss = loss + settings.replay.weight * again if settings.replay else loss
            return loss

        def _get_per_token_logps_and_entropies(
            self, _model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int, *_: Any, **__: Any
        ) -> Any:
            wanted = _over(input_ids, self._wanted)
            scores = score(loaded, input_ids, attention_mask, wanted, temperature=settings.temperature)
            logprobs = scores.logprobs[:, -logits_to_keep:]
            if settings.temperature == 1.0:
                _compare(logprobs.detach(), self._sampled, self._wanted.bool(), course)
            return logprobs, scores.entropy[:, -logits_to_keep:], None

    return Trainer


def _tensors(rows: Sequence[Scored], device: Any) -> dict[str, Any]:
    """Rows as TRL takes them: one token as the prompt, all others as the completion, of which some count.

    Attention follows from lengths, never from ids, and what counts is marked apart from it.
    """
    torch = libraries.torch()
    width = max(len(row.ids) for row in rows)

    def padded(values: Sequence[Sequence[float]], kind: Any) -> Any:
        filled = [[*row, *[0] * (width - len(row))] for row in values]
        return torch.tensor(filled, dtype=kind, device=device)

    ids = padded([row.ids for row in rows], torch.long)
    there = padded([[1] * len(row.ids) for row in rows], torch.long)
    trained = padded([row.trained for row in rows], torch.long)
    # TRL ignores the sampled log-probabilities, as it should here; they are compared with the computed ones.
    if bool(trained[:, 0].any()) or bool((trained > there).any()) or trained.shape != ids.shape:
        raise RuntimeError("A token is marked that nobody drew.")
    return {
        "prompt_ids": ids[:, :1],
        "prompt_mask": there[:, :1],
        "completion_ids": ids[:, 1:],
        "completion_mask": there[:, 1:],
        "tool_mask": trained[:, 1:],
        "advantages": torch.tensor([row.advantage for row in rows], dtype=torch.float32, device=device),
        "num_items_in_batch": trained.sum(),
        "sampling_per_token_logps": padded([row.logprobs for row in rows], torch.float32)[:, 1:],
    }


def _compare(trained: Any, sampled: Any, counted: Any, course: Course) -> None:
    """How far the probabilities trained on are from those drawn from: it is the same policy, so next to nothing."""
    if counted.any():
        distance = (trained - sampled).abs()[counted].mean().item()
        course.figures["logprob_distance"] = max(distance, course.figures.get("logprob_distance", 0.0))


def _in_parts(loaded: Loaded, tensors: dict[str, Any], at_once: int, temperature: float) -> Any:
    torch = libraries.torch()
    ids = torch.cat([tensors["prompt_ids"], tensors["completion_ids"]], dim=1)
    there = torch.cat([tensors["prompt_mask"], tensors["completion_mask"]], dim=1)
    wanted = _over(ids, tensors["tool_mask"])
    parts = [
        score(loaded, ids[part], there[part], wanted[part], temperature=temperature).logprobs[:, 1:]
        for part in (slice(begin, begin + at_once) for begin in range(0, len(ids), at_once))
    ]
    return torch.cat(parts)


def _over(ids: Any, completion: Any) -> Any:
    """A mark on completions, over whole rows."""
    torch = libraries.torch()
    return torch.cat([torch.zeros_like(ids[:, :1]), completion], dim=1).bool()


def _reference(loaded: Loaded, frozen: Any) -> AbstractContextManager[Loaded]:
    """The model as it was when the stage started."""
    if loaded.kind is Kind.FULL:
        return nullcontext(Loaded(frozen, loaded.tokenizer, loaded.codec, loaded.stops, loaded.precision))
    return _Switched(loaded)


class _Switched(AbstractContextManager[Loaded]):
    """The model with the copy of its adapter that TRL made at the start."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded

    def __enter__(self) -> Loaded:
        self._loaded.model.set_adapter("ref")
        return self._loaded

    def __exit__(self, *_: object) -> None:
        self._loaded.model.set_adapter("default")
