"""What a trajectory can be trained with, and why not with the rest."""

from collections.abc import Iterator

from practicum.contracts.episodes import Cause, EpisodeStatus
from practicum.contracts.models import Attempt, ModelCall
from practicum.contracts.trajectory import Eligibility, Trajectory, Use

_BEYOND_THE_AGENT = {
    Cause.SYSTEM: "a connected system ended it",
    Cause.INFRASTRUCTURE: "infrastructure ended it",
    Cause.PERSON: "a person ended it",
}


def uses(trajectory: Trajectory) -> tuple[Eligibility, ...]:
    """What a trajectory qualifies for, each use with every reason against it.

    - `sft`: an answered conversation that no verdict speaks against.
    - `preference`: any outcome that the agent caused and that has a verdict.
    - `pivot`: verified calls, each of which can be asked for again from what came before it.
    - `rl`: as `preference`, with the tokens as they were drawn from the model's whole distribution.

    Args:
        trajectory: the record; what it already says of its uses is not looked at.
    """
    ending, rewarded = tuple(_ending(trajectory)), tuple(_rewarded(trajectory))
    reasons = {
        Use.SFT: (*ending, *_not_refuted(trajectory), *_teachable(trajectory)),
        Use.PREFERENCE: (*ending, *rewarded, *_spoken(trajectory)),
        Use.PIVOT: (*ending, *rewarded, *_not_refuted(trajectory), *_repeatable(trajectory)),
        Use.RL: (*ending, *rewarded, *_drawn(trajectory)),
    }
    return tuple(
        Eligibility(use=use, eligible=not against, reasons=tuple(dict.fromkeys(against)))
        for use, against in reasons.items()
    )


def accepted_calls(trajectory: Trajectory) -> tuple[ModelCall, ...]:
    """The model calls that the episode went on with, in order."""
    accepted = (call for call in trajectory.model_calls if call.standing is Attempt.ACCEPTED)
    return tuple(sorted(accepted, key=lambda call: (call.step, call.started)))


def _ending(trajectory: Trajectory) -> Iterator[str]:
    """What about the ending makes it no experience of the agent's."""
    if trajectory.result is None or not trajectory.result.status.ended:
        yield "it has not ended"
    elif not trajectory.result.cause.by_policy:
        yield _BEYOND_THE_AGENT[trajectory.result.cause]
    elif trajectory.result.status in (EpisodeStatus.FAILED, EpisodeStatus.CANCELLED):
        yield f"it ended as {trajectory.result.status}"


def _rewarded(trajectory: Trajectory) -> Iterator[str]:
    if not trajectory.rewards:
        yield "nobody gave a verdict"
    elif trajectory.reward is None:
        yield "its latest verdict gives no reward"


def _not_refuted(trajectory: Trajectory) -> Iterator[str]:
    """A verdict, where there is one, must be good; without one, whoever selects must know what was good."""
    if trajectory.rewards and trajectory.reward is None:
        yield "its latest verdict gives no reward"
    elif trajectory.reward is not None and trajectory.reward <= 0:
        yield f"its reward is {trajectory.reward:g}"


def _teachable(trajectory: Trajectory) -> Iterator[str]:
    """What in the conversation should not be imitated."""
    if trajectory.result is not None and trajectory.result.status is EpisodeStatus.EXHAUSTED:
        yield "a limit ended it before its answer"
    last = trajectory.messages[-1] if trajectory.messages else None
    if last is None or last.role != "assistant" or last.tool_calls:
        yield "it has no final answer"
    answered = {message.tool_call_id for message in trajectory.messages if message.role == "tool"}
    for call in (call for message in trajectory.messages for call in message.tool_calls):
        if call.malformed is not None:
            yield "a call could not be read"
        elif call.id not in answered:
            yield "a call has no answer"
    if any(call.finish_reason == "length" for call in accepted_calls(trajectory)):
        yield "a turn was cut off"


def _spoken(trajectory: Trajectory) -> Iterator[str]:
    if not any(message.role == "assistant" for message in trajectory.messages):
        yield "the model said nothing"


def _repeatable(trajectory: Trajectory) -> Iterator[str]:
    responses = [call.response for call in accepted_calls(trajectory) if call.response is not None]
    calls = [call for response in responses for call in response.tool_calls if call.malformed is None]
    if not calls:
        yield "it holds no tool call"


def _drawn(trajectory: Trajectory) -> Iterator[str]:
    """Why its tokens do not stand for what the model would draw.

    A parameter that was left to the server is not known, and servers cut the distribution by default.
    """
    accepted = accepted_calls(trajectory)
    if not accepted:
        yield "no model call was accepted"
    if len({call.version for call in accepted}) > 1:
        yield "several model versions answered"
    for call in accepted:
        if call.sampled is None or not call.sampled.completion_ids:
            yield "no token ids were recorded"
        elif len(call.sampled.logprobs) != len(call.sampled.completion_ids):
            yield "logprobs are missing"
        if call.constrained:
            yield "a grammar held the decoding"
        yield from _narrowed(call)


def _narrowed(call: ModelCall) -> Iterator[str]:
    temperature, top_p = call.sampling.temperature, call.sampling.top_p
    if temperature is None:
        yield "the temperature was not recorded"
    elif temperature == 0:
        yield "the temperature was 0"
    if top_p is None:
        yield "top_p was not recorded"
    elif top_p < 1:
        yield f"top_p was {top_p:g}"
