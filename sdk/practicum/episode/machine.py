"""The episode's two functions: what to do next, and what follows from what happened."""

from enum import StrEnum
from typing import Any

from practicum.contracts.episodes import (
    ApprovalDecision,
    CallReceipt,
    Cause,
    EpisodeResult,
    EpisodeStatus,
    TurnReceipt,
)
from practicum.contracts.tools import CallStatus
from practicum.episode.actions import Action, AwaitApproval, Finish, Invoke, TakeTurn
from practicum.episode.events import (
    ApprovalAnswered,
    CallReturned,
    CancelRequested,
    Event,
    Nudged,
    StepFailed,
    TimeAdvanced,
    TurnTaken,
)
from practicum.episode.state import Ending, EpisodeState, StepCall
from practicum.errors import EpisodeError

_SYSTEM_FAULTS = frozenset({CallStatus.UNAVAILABLE, CallStatus.IN_DOUBT})


class Refusal(StrEnum):
    """Why an answer to an approval is not taken."""

    UNKNOWN = "UnknownApproval"
    """No call waits for it: never heard of, settled, or not yet reported by the call's own receipt."""
    ANSWERED = "AlreadyDecided"
    """It was answered a moment ago."""
    STALE = "StaleApproval"
    """The call has other arguments than the person saw."""


def next_action(state: EpisodeState) -> Action:
    """What a driver has to do now.

    Every call of a turn is settled before the next turn; budgets are looked at between turns, so that what the model
    asked for within its budget is finished and answered.
    """
    if state.ending is not None:
        return _finish(state, state.ending)
    step = state.turns - 1
    for call in state.calls:
        if call.settled:
            continue
        if call.status is None or state.heard > call.heard:
            return Invoke(step, call.index, call.tool, state.heard)
        return AwaitApproval(step, call)
    spent = _spent(state)
    if spent is not None:
        return _finish(state, spent)
    seconds = state.limits.seconds
    return TakeTurn(state.turns, within=None if seconds is None else seconds - state.seconds)


def apply(state: EpisodeState, event: Event) -> EpisodeState:
    """The state after something happened.

    What people do (answers, nudges, cancels) may come at any moment and is never an error. What a driver reports must
    be the answer to the action that was due.

    Raises:
        EpisodeError: a turn or a call was reported that was not asked for.
    """
    match event:
        case TurnTaken(receipt):
            after = _turn_taken(state, receipt)
        case CallReturned(receipt, heard):
            after = _call_returned(state, receipt, heard)
        case ApprovalAnswered(decision):
            after = _answered(state, decision)
        case Nudged():
            after = _with(state, heard=state.heard + 1)
        case TimeAdvanced(seconds):
            after = _with(state, seconds=state.seconds + seconds)
        case StepFailed(cause, reason):
            after = _break_off(state, EpisodeStatus.FAILED, cause, reason)
        case CancelRequested(reason):
            after = _break_off(state, EpisodeStatus.CANCELLED, Cause.PERSON, reason)
    return after


def refusal(state: EpisodeState, decision: ApprovalDecision) -> Refusal | None:
    """Why an answer to an approval cannot be taken now, or None when it can.

    An answer can overtake the receipt that announces its approval; it is refused as unknown, and whoever sent it should
    nudge the episode instead, which is never refused.
    """
    call = _waiting(state, decision.approval)
    if call is None or state.ending is not None:
        return Refusal.UNKNOWN
    if call.arguments_hash != decision.arguments_hash:
        return Refusal.STALE
    return Refusal.ANSWERED if call.answered else None


def _with(state: EpisodeState, **changes: Any) -> EpisodeState:
    return state.model_copy(update=changes)


def _end(state: EpisodeState, status: EpisodeStatus, cause: Cause, reason: str | None) -> EpisodeState:
    return _with(state, ending=Ending(status=status, cause=cause, reason=reason))


def _break_off(state: EpisodeState, status: EpisodeStatus, cause: Cause, reason: str | None) -> EpisodeState:
    """Over, unless it already is: the first ending stays, a spent budget included."""
    return state if isinstance(next_action(state), Finish) else _end(state, status, cause, reason)


def _finish(state: EpisodeState, ending: Ending) -> Finish:
    return Finish(
        EpisodeResult(
            status=ending.status,
            cause=ending.cause,
            reason=ending.reason,
            steps=state.turns,
            usage=state.usage,
        )
    )


def _spent(state: EpisodeState) -> Ending | None:
    """The budget that leaves no room for another turn."""
    limits = state.limits
    if state.turns >= limits.steps:
        reason = f"All {limits.steps} steps are used up without a final answer."
    elif limits.tokens is not None and state.tokens >= limits.tokens:
        reason = f"{state.tokens} of {limits.tokens} tokens are used up without a final answer."
    elif limits.seconds is not None and state.seconds >= limits.seconds:
        reason = f"The {limits.seconds:g} seconds are used up without a final answer."
    else:
        return None
    return Ending(status=EpisodeStatus.EXHAUSTED, cause=Cause.BUDGET, reason=reason)


def _turn_taken(state: EpisodeState, receipt: TurnReceipt) -> EpisodeState:
    if state.ending is not None or state.calls or receipt.step != state.turns:
        raise EpisodeError(f"The turn of step {receipt.step} was reported, and is not the one that was due.")
    state = _with(
        state,
        turns=state.turns + 1,
        usage=state.usage + receipt.usage,
        calls=tuple(StepCall(index=call.index, tool=call.tool) for call in receipt.calls),
    )
    if receipt.calls:
        return state
    if receipt.truncated:
        # Half an answer is none, and asking again from the same words would only be cut off again.
        reason = "The turn was cut off at max_tokens before it held a call or a whole answer."
        return _end(state, EpisodeStatus.EXHAUSTED, Cause.BUDGET, reason)
    return _end(state, EpisodeStatus.COMPLETED, Cause.POLICY, None)


def _call_returned(state: EpisodeState, receipt: CallReceipt, heard: int) -> EpisodeState:
    due = next_action(state)
    if not (isinstance(due, Invoke) and due.step == receipt.step and due.call == receipt.call):
        raise EpisodeError(f"Call {receipt.call} of step {receipt.step} was reported, and is not the one that was due.")

    def answered(call: StepCall) -> StepCall:
        if call.index != receipt.call:
            return call
        return StepCall(
            index=call.index,
            tool=call.tool,
            status=receipt.status,
            approval=receipt.approval or call.approval,
            arguments_hash=receipt.arguments_hash or call.arguments_hash,
            # An answer that came while the call was under way is still to be acted on.
            answered=call.answered and heard < state.heard,
            heard=heard,
        )

    state = _with(state, calls=tuple(answered(call) for call in state.calls))
    return _close_step(state) if all(call.settled for call in state.calls) else state


def _close_step(state: EpisodeState) -> EpisodeState:
    """All calls are settled: count the turn as good or as an error, and forget them."""
    statuses = [call.status for call in state.calls]
    if CallStatus.OK in statuses:
        return _with(state, calls=(), errors_in_a_row=0, faulted=False)
    faulted = state.faulted or all(status in _SYSTEM_FAULTS for status in statuses)
    errors = state.errors_in_a_row + 1
    state = _with(state, calls=(), errors_in_a_row=errors, faulted=faulted)
    if errors < state.limits.errors_in_a_row:
        return state
    if faulted:
        reason = f"Stuck: {errors} turns in a row got nothing done, and systems that did not answer had a part in it."
        return _end(state, EpisodeStatus.FAILED, Cause.SYSTEM, reason)
    reason = f"Stuck: every call of {errors} turns in a row failed."
    return _end(state, EpisodeStatus.EXHAUSTED, Cause.POLICY, reason)


def _waiting(state: EpisodeState, approval: str) -> StepCall | None:
    return next(
        (call for call in state.calls if call.status is CallStatus.WAITING and call.approval == approval),
        None,
    )


def _answered(state: EpisodeState, decision: ApprovalDecision) -> EpisodeState:
    waiting = _waiting(state, decision.approval)
    calls = tuple(call.model_copy(update={"answered": True}) if call is waiting else call for call in state.calls)
    return _with(state, calls=calls, heard=state.heard + 1)
