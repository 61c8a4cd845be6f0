"""A trajectory as rows of token ids, exactly as they were sampled; nothing is re-tokenised."""

from math import isfinite

from practicum.contracts.base import Value
from practicum.contracts.models import ModelCall, Sampled
from practicum.contracts.trajectory import Trajectory
from practicum.errors import RequestError
from practicum.trajectories.eligibility import accepted_calls

IGNORED = -100
"""The label of a token that the model did not draw; PyTorch's loss skips it."""


class TokenRow(Value):
    """One sequence to train on. The three lists have the same length.

    Attributes:
        input_ids: the tokens.
        labels: the token where the model drew it, -100 where it was given.
        logprobs: natural-log probability of a drawn token at the time; 0 where it was given.
        episode: the episode's id.
        step: the step of the first turn in the row.
        reward: the episode's latest reward; None where there is none.
    """

    input_ids: tuple[int, ...]
    labels: tuple[int, ...]
    logprobs: tuple[float, ...]
    episode: str
    step: int
    reward: float | None = None

    @property
    def trainable(self) -> int:
        """How many tokens the model drew."""
        return sum(label != IGNORED for label in self.labels)


class _Draft:
    """A row while calls are appended to it."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.ids: list[int] = []
        self.labels: list[int] = []
        self.logprobs: list[float] = []

    def continues_to(self, sampled: Sampled) -> bool:
        """Whether a call was conditioned on the whole of this row."""
        return sampled.prompt_ids[: len(self.ids)] == tuple(self.ids)

    def append(self, sampled: Sampled) -> None:
        """Take a call: what its prompt adds was given, its completion was drawn."""
        given = sampled.prompt_ids[len(self.ids) :]
        self.ids += [*given, *sampled.completion_ids]
        self.labels += [*(IGNORED for _ in given), *sampled.completion_ids]
        self.logprobs += [*(0.0 for _ in given), *sampled.logprobs]


def token_rows(trajectory: Trajectory) -> tuple[TokenRow, ...]:
    """The accepted calls as token rows.

    A call whose prompt begins with a whole row continues it; of several such rows, the longest. Any other call begins
    a row of its own: the conversation was compacted or rendered anew, or another agent of the same episode spoke.

    Raises:
        RequestError: a call has no token ids, or ids, labels and logprobs would not agree.
    """
    drafts: list[_Draft] = []
    for call in accepted_calls(trajectory):
        sampled = _checked(call, trajectory.episode)
        fitting = [draft for draft in drafts if draft.continues_to(sampled)]
        if fitting:
            draft = max(fitting, key=lambda each: len(each.ids))
        else:
            draft = _Draft(call.step)
            drafts.append(draft)
        draft.append(sampled)
    if not drafts:
        raise RequestError(f"Episode {trajectory.episode} has no accepted model call.")
    return tuple(
        TokenRow(
            input_ids=tuple(draft.ids),
            labels=tuple(draft.labels),
            logprobs=tuple(draft.logprobs),
            episode=trajectory.episode,
            step=draft.step,
            reward=trajectory.reward,
        )
        for draft in drafts
    )


def _checked(call: ModelCall, episode: str) -> Sampled:
    where = f"step {call.step} of episode {episode}"
    sampled = call.sampled
    if sampled is None:
        raise RequestError(f"No token ids were recorded at {where}.")
    if not sampled.completion_ids:
        raise RequestError(f"The model drew no token at {where}, so there is nothing to train on.")
    if len(sampled.logprobs) != len(sampled.completion_ids):
        raise RequestError(f"{len(sampled.completion_ids)} tokens have {len(sampled.logprobs)} logprobs at {where}.")
    if not all(isfinite(logprob) for logprob in sampled.logprobs):
        raise RequestError(f"A logprob is not finite at {where}.")
    return sampled
