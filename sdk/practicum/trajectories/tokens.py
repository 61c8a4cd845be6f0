"""A trajectory as rows of token ids, exactly as they were sampled; nothing is re-tokenised."""

from math import isfinite

from practicum.contracts.base import Value
from practicum.contracts.models import ModelCall, Sampled
from practicum.contracts.trajectory import Trajectory
from practicum.errors import RequestError
from practicum.trajectories.eligibility import accepted_calls
from practicum.trajectories.graph import quarantined

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
        calls: ids of the model calls whose tokens are learned here, in order.
        requests: SHA-256 of what each of them was asked, empty where that was not recorded.
    """

    input_ids: tuple[int, ...]
    labels: tuple[int, ...]
    logprobs: tuple[float, ...]
    episode: str
    step: int
    reward: float | None = None
    calls: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()

    @property
    def trainable(self) -> int:
        """How many tokens the model drew."""
        return sum(label != IGNORED for label in self.labels)


class _Draft:
    """A row while calls are appended to it."""

    def __init__(self) -> None:
        self.calls: list[ModelCall] = []
        self.ids: list[int] = []
        self.labels: list[int] = []
        self.logprobs: list[float] = []

    def continues_to(self, sampled: Sampled) -> bool:
        """Whether a call was conditioned on the whole of this row."""
        return sampled.prompt_ids[: len(self.ids)] == tuple(self.ids)

    def append(self, call: ModelCall, sampled: Sampled) -> None:
        """Take a call: what its prompt adds was given, its completion was drawn."""
        self.calls.append(call)
        given = sampled.prompt_ids[len(self.ids) :]
        self.ids += [*given, *sampled.completion_ids]
        self.labels += [*(IGNORED for _ in given), *sampled.completion_ids]
        self.logprobs += [*(0.0 for _ in given), *sampled.logprobs]


def token_rows(trajectory: Trajectory) -> tuple[TokenRow, ...]:
    """The accepted calls as token rows, one for each branch; each completion is learned in one of them alone.

    A call whose prompt begins with the whole row of the call it continues goes on with that row. Any other begins a
    row of its own, in which what came before is given and not learned again: a branch, a conversation that was
    compacted or rendered anew, another agent of the same episode. A quarantined call is in no row.

    Raises:
        RequestError: a call has no token ids, or ids, labels and logprobs would not agree; or no call is left.
    """
    accepted, unknown = accepted_calls(trajectory), quarantined(trajectory.model_calls)
    drafts: list[_Draft] = []
    for call in accepted:
        if call.id in unknown:
            continue
        sampled = _checked(call)
        draft = _continued(drafts, call, sampled)
        if draft is None:
            draft = _Draft()
            drafts.append(draft)
        draft.append(call, sampled)
    if not drafts:
        lacks = "model call whose place among the others is known" if accepted else "accepted model call"
        raise RequestError(f"Episode {trajectory.episode} has no {lacks}.")
    return tuple(
        TokenRow(
            input_ids=tuple(draft.ids),
            labels=tuple(draft.labels),
            logprobs=tuple(draft.logprobs),
            episode=trajectory.episode,
            step=draft.calls[0].step,
            reward=trajectory.reward,
            calls=tuple(call.id for call in draft.calls),
            requests=tuple("" if call.sent is None else call.sent.digest for call in draft.calls),
        )
        for draft in drafts
    )


def _continued(drafts: list[_Draft], call: ModelCall, sampled: Sampled) -> _Draft | None:
    """The row that a call goes on with: its parent's; in records that name no parent, the longest that fits."""
    fitting = [draft for draft in drafts if draft.continues_to(sampled)]
    if call.by is not None:
        return next((draft for draft in fitting if draft.calls[-1].id == call.parent), None)
    return max(fitting, key=lambda each: len(each.ids), default=None)


def _checked(call: ModelCall) -> Sampled:
    where = f"step {call.step}"
    sampled = call.sampled
    if sampled is None:
        raise RequestError(f"No token ids were recorded at {where}; conversations (`--format chat`) need none.")
    if not sampled.prompt_ids:
        raise RequestError(f"The token ids of the prompt were not recorded at {where}.")
    if not sampled.completion_ids:
        raise RequestError(f"The model drew no token at {where}, so there is nothing to train on.")
    if len(sampled.logprobs) != len(sampled.completion_ids):
        raise RequestError(f"{len(sampled.completion_ids)} tokens have {len(sampled.logprobs)} logprobs at {where}.")
    if not all(isfinite(logprob) for logprob in sampled.logprobs):
        raise RequestError(f"A logprob is not finite at {where}.")
    return sampled
