"""What a trajectory can be trained with, and why not with the rest."""

from collections.abc import Iterator

from practicum.contracts.base import Value
from practicum.contracts.episodes import Cause, EpisodeStatus
from practicum.contracts.models import Attempt, ModelCall
from practicum.contracts.trajectory import Eligibility, Trajectory, Use
from practicum.trajectories.graph import quarantined

_BEYOND_THE_AGENT = {
    Cause.SYSTEM: "a connected system ended it",
    Cause.INFRASTRUCTURE: "infrastructure ended it",
    Cause.PERSON: "a person ended it",
}


class Reason(Value):
    """One thing that speaks against a use.

    Attributes:
        text: what it is.
        call: the model call that it is about; None where it is about the episode.
    """

    text: str
    call: str | None = None


def uses(trajectory: Trajectory) -> tuple[Eligibility, ...]:
    """What a trajectory qualifies for, each use with every reason against it.

    - `sft`: an answered conversation that no verdict speaks against.
    - `preference`: any outcome that the agent caused and that has a verdict.
    - `pivot`: verified calls, each of which can be asked for again from what came before it.
    - `rl`: as `preference`, with the tokens as they were drawn from the model's whole distribution, and each call's
      place in the graph known.

    Args:
        trajectory: the record; what it already says of its uses is not looked at.
    """
    return tuple(
        Eligibility(use=use, eligible=not against, reasons=tuple(dict.fromkeys(reason.text for reason in against)))
        for use, against in reasons(trajectory).items()
    )


def reasons(trajectory: Trajectory) -> dict[Use, tuple[Reason, ...]]:
    """Everything that speaks against each use, with the model call that it is about."""
    ending = tuple(Reason(text=text) for text in _ending(trajectory))
    rewarded = tuple(Reason(text=text) for text in _rewarded(trajectory))
    refuted = tuple(Reason(text=text) for text in _not_refuted(trajectory))
    spoken = tuple(Reason(text=text) for text in _spoken(trajectory))
    repeatable = tuple(Reason(text=text) for text in _repeatable(trajectory))
    against = {
        Use.SFT: (*ending, *refuted, *_teachable(trajectory)),
        Use.PREFERENCE: (*ending, *rewarded, *spoken),
        Use.PIVOT: (*ending, *rewarded, *refuted, *repeatable),
        Use.RL: (*ending, *rewarded, *_drawn(trajectory)),
    }
    return {use: tuple(dict.fromkeys(found)) for use, found in against.items()}


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


def _teachable(trajectory: Trajectory) -> Iterator[Reason]:
    """What in the conversation should not be imitated."""
    if trajectory.result is not None and trajectory.result.status is EpisodeStatus.EXHAUSTED:
        yield Reason(text="a limit ended it before its answer")
    last = trajectory.messages[-1] if trajectory.messages else None
    if last is None or last.role != "assistant" or last.tool_calls:
        yield Reason(text="it has no final answer")
    accepted = accepted_calls(trajectory)
    wished_by = {
        wish.id: call.id for call in accepted if call.response is not None for wish in call.response.tool_calls
    }
    answered = {message.tool_call_id for message in trajectory.messages if message.role == "tool"}
    for wish in (wish for message in trajectory.messages for wish in message.tool_calls):
        if wish.malformed is not None:
            yield Reason(text="a call could not be read", call=wished_by.get(wish.id))
        elif wish.id not in answered:
            yield Reason(text="a call has no answer", call=wished_by.get(wish.id))
    for call in accepted:
        if call.finish_reason == "length":
            yield Reason(text="a turn was cut off", call=call.id)


def _spoken(trajectory: Trajectory) -> Iterator[str]:
    if not any(message.role == "assistant" for message in trajectory.messages):
        yield "the model said nothing"


def _repeatable(trajectory: Trajectory) -> Iterator[str]:
    responses = [call.response for call in accepted_calls(trajectory) if call.response is not None]
    calls = [call for response in responses for call in response.tool_calls if call.malformed is None]
    if not calls:
        yield "it holds no tool call"


def _drawn(trajectory: Trajectory) -> Iterator[Reason]:
    """Why its tokens do not stand for what the model would draw.

    A parameter that was left to the server is not known, and servers cut the distribution by default.
    """
    accepted = accepted_calls(trajectory)
    if not accepted:
        yield Reason(text="no model call was accepted")
    if len({(call.model, call.version) for call in accepted}) > 1:
        yield Reason(text="several model versions answered")
    unknown = quarantined(trajectory.model_calls)
    for call in accepted:
        for text in (*_tokens(call), *_narrowed(call)):
            yield Reason(text=text, call=call.id)
        if call.candidates:
            yield Reason(text="a call could continue several others equally well", call=call.id)
        elif call.id in unknown:
            yield Reason(text="a call continues one that could continue several", call=call.id)


def _tokens(call: ModelCall) -> Iterator[str]:
    """What is missing of a call's tokens."""
    if call.cached:
        yield "an answer came from the cache"
        return
    if call.sampled is None or not call.sampled.completion_ids:
        yield "no token ids were recorded"
        return
    if not call.sampled.prompt_ids:
        yield "token ids of a prompt are missing: the server told only those that it drew"
    if len(call.sampled.logprobs) != len(call.sampled.completion_ids):
        yield "logprobs are missing"


def _narrowed(call: ModelCall) -> Iterator[str]:
    """What kept a call from drawing from the model's whole distribution."""
    temperature, top_p = call.sampling.temperature, call.sampling.top_p
    if call.constrained:
        yield "a grammar held the decoding"
    if call.sampling.response_format is not None or call.sampling.tool_choice is not None:
        yield "its caller held the answer to a form"
    if temperature is None:
        yield "the temperature was not recorded"
    elif temperature == 0:
        yield "the temperature was 0"
    if top_p is None:
        yield "top_p was not recorded"
    elif top_p < 1:
        yield f"top_p was {top_p:g}"
