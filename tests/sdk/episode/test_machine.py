import pytest

from practicum.contracts.episodes import (
    ApprovalDecision,
    CallReceipt,
    CallReference,
    Cause,
    EpisodeStatus,
    Limits,
    TurnReceipt,
)
from practicum.contracts.models import Usage
from practicum.contracts.tools import CallStatus
from practicum.episode import (
    Action,
    ApprovalAnswered,
    AwaitApproval,
    CallReturned,
    CancelRequested,
    EpisodeState,
    Event,
    Finish,
    Invoke,
    Nudged,
    Refusal,
    StepFailed,
    TakeTurn,
    TimeAdvanced,
    TurnTaken,
    apply,
    next_action,
    refusal,
)
from practicum.errors import EpisodeError

YES = ApprovalDecision(approval="a1", approved=True, arguments_hash="h1")


def turn(step: int, calls: int = 0, *, tokens: int = 10, truncated: bool = False) -> TurnTaken:
    return TurnTaken(
        TurnReceipt(
            step=step,
            calls=tuple(CallReference(index=index, tool="erp_refund") for index in range(calls)),
            usage=Usage(prompt_tokens=1, completion_tokens=tokens),
            truncated=truncated,
        )
    )


def returned(
    step: int, call: int, status: CallStatus = CallStatus.OK, *, heard: int = 0, approval: str | None = None
) -> CallReturned:
    digest = "h1" if approval else None
    return CallReturned(
        CallReceipt(step=step, call=call, status=status, approval=approval, arguments_hash=digest), heard
    )


def after(*events: Event, limits: Limits | None = None) -> EpisodeState:
    state = EpisodeState.begin(limits or Limits())
    for event in events:
        state = apply(state, event)
    return state


def waiting() -> EpisodeState:
    return after(turn(0, 2), returned(0, 0, CallStatus.WAITING, approval="a1"))


def ending(action: Action) -> tuple[EpisodeStatus, Cause, str | None]:
    assert isinstance(action, Finish)
    return action.result.status, action.result.cause, action.result.reason


def test_it_begins_with_the_first_turn() -> None:
    assert next_action(after()) == TakeTurn(0)


def test_a_turn_without_calls_is_the_answer() -> None:
    action = next_action(after(turn(0, 1), returned(0, 0), turn(1)))
    assert isinstance(action, Finish)
    assert action.result.status is EpisodeStatus.COMPLETED
    assert action.result.cause is Cause.POLICY
    assert action.result.steps == 2
    assert action.result.usage == Usage(prompt_tokens=2, completion_tokens=20)
    assert action.result.answer is None


def test_calls_are_made_in_the_models_order_and_all_before_the_next_turn() -> None:
    state = after(turn(0, 3))
    order: list[int] = []
    while isinstance(action := next_action(state), Invoke):
        order.append(action.call)
        state = apply(state, returned(0, action.call))
    assert order == [0, 1, 2]
    assert action == TakeTurn(1)


def test_a_call_that_waits_holds_back_the_calls_after_it() -> None:
    action = next_action(waiting())
    assert isinstance(action, AwaitApproval)
    assert (action.step, action.call.index, action.call.approval, action.call.arguments_hash) == (0, 0, "a1", "h1")


@pytest.mark.parametrize("news", [Nudged(), ApprovalAnswered(YES)])
def test_news_has_the_waiting_call_made_again(news: Event) -> None:
    state = apply(waiting(), news)
    assert next_action(state) == Invoke(0, 0, "erp_refund", heard=1)
    assert next_action(apply(state, returned(0, 0, heard=1))) == Invoke(0, 1, "erp_refund", heard=1)


def test_news_that_comes_while_the_call_is_under_way_is_not_lost() -> None:
    state = after(turn(0, 1), Nudged(), returned(0, 0, CallStatus.WAITING, heard=0, approval="a1"))
    assert next_action(state) == Invoke(0, 0, "erp_refund", heard=1)
    state = apply(state, returned(0, 0, CallStatus.WAITING, heard=1, approval="a1"))
    assert isinstance(next_action(state), AwaitApproval)


def test_a_denial_is_an_outcome_like_any_other() -> None:
    state = apply(waiting(), ApprovalAnswered(YES.model_copy(update={"approved": False})))
    state = apply(state, returned(0, 0, CallStatus.DENIED, heard=1))
    assert next_action(state) == Invoke(0, 1, "erp_refund", heard=1)


def test_an_answer_is_refused_for_what_it_does_not_fit() -> None:
    assert refusal(waiting(), YES) is None
    assert refusal(after(turn(0, 1)), YES) is Refusal.UNKNOWN
    assert refusal(waiting(), YES.model_copy(update={"approval": "a2"})) is Refusal.UNKNOWN
    assert refusal(waiting(), YES.model_copy(update={"arguments_hash": "h2"})) is Refusal.STALE
    assert refusal(apply(waiting(), ApprovalAnswered(YES)), YES) is Refusal.ANSWERED
    assert refusal(apply(waiting(), CancelRequested()), YES) is Refusal.UNKNOWN
    settled = apply(apply(waiting(), Nudged()), returned(0, 0, heard=1))
    assert refusal(settled, YES) is Refusal.UNKNOWN


def test_a_call_that_still_waits_after_an_answer_can_be_answered_again() -> None:
    state = apply(waiting(), ApprovalAnswered(YES))
    state = apply(state, returned(0, 0, CallStatus.WAITING, heard=1, approval="a1"))
    assert refusal(state, YES) is None


def test_an_answer_that_comes_while_the_call_is_made_again_is_kept() -> None:
    state = apply(apply(waiting(), Nudged()), ApprovalAnswered(YES))
    state = apply(state, returned(0, 0, CallStatus.WAITING, heard=1, approval="a1"))
    assert refusal(state, YES) is Refusal.ANSWERED
    assert next_action(state) == Invoke(0, 0, "erp_refund", heard=2)


@pytest.mark.parametrize(
    ("limits", "events", "word"),
    [
        (Limits(steps=1), [turn(0, 1), returned(0, 0)], "1 steps"),
        (Limits(tokens=11), [turn(0, 1), returned(0, 0)], "11 of 11 tokens"),
        (Limits(seconds=5), [TimeAdvanced(5.0)], "5 seconds"),
    ],
)
def test_a_budget_ends_it_as_exhausted(limits: Limits, events: list[Event], word: str) -> None:
    status, cause, reason = ending(next_action(after(*events, limits=limits)))
    assert (status, cause) == (EpisodeStatus.EXHAUSTED, Cause.BUDGET)
    assert reason is not None
    assert word in reason


def test_calls_asked_for_within_the_budget_are_still_made() -> None:
    state = after(turn(0, 1), TimeAdvanced(9.0), limits=Limits(seconds=5, steps=1, tokens=1))
    assert isinstance(next_action(state), Invoke)


def test_an_answer_on_the_last_step_counts_although_every_budget_is_spent() -> None:
    limits = Limits(seconds=5, steps=1, tokens=1)
    status, cause, _ = ending(next_action(after(turn(0), TimeAdvanced(9.0), limits=limits)))
    assert (status, cause) == (EpisodeStatus.COMPLETED, Cause.POLICY)


def test_a_turn_knows_the_seconds_that_are_left() -> None:
    assert next_action(after(TimeAdvanced(2.0), limits=Limits(seconds=5))) == TakeTurn(0, within=3.0)


def errors(*turns: list[CallStatus], limits: Limits | None = None) -> EpisodeState:
    events: list[Event] = []
    for step, statuses in enumerate(turns):
        events.append(turn(step, len(statuses)))
        events.extend(returned(step, index, status) for index, status in enumerate(statuses))
    return after(*events, limits=limits or Limits(errors_in_a_row=2))


def test_turns_that_only_fail_end_it_as_stuck() -> None:
    state = errors([CallStatus.ERROR], [CallStatus.DENIED, CallStatus.ERROR])
    status, cause, reason = ending(next_action(state))
    assert (status, cause) == (EpisodeStatus.EXHAUSTED, Cause.POLICY)
    assert reason is not None
    assert reason.startswith("Stuck")


def test_one_success_in_a_turn_makes_it_good() -> None:
    state = errors([CallStatus.ERROR], [CallStatus.ERROR, CallStatus.OK], [CallStatus.ERROR])
    assert next_action(state) == TakeTurn(3)


@pytest.mark.parametrize("fault", [CallStatus.UNAVAILABLE, CallStatus.IN_DOUBT])
def test_a_system_that_had_a_part_in_it_is_named_as_cause(fault: CallStatus) -> None:
    status, cause, _ = ending(next_action(errors([fault], [CallStatus.ERROR])))
    assert (status, cause) == (EpisodeStatus.FAILED, Cause.SYSTEM)


def test_a_fault_before_a_good_turn_is_forgotten() -> None:
    state = errors([CallStatus.UNAVAILABLE], [CallStatus.OK], [CallStatus.ERROR], [CallStatus.ERROR])
    assert ending(next_action(state))[1] is Cause.POLICY


def test_half_an_answer_is_none() -> None:
    status, cause, reason = ending(next_action(after(turn(0, truncated=True))))
    assert (status, cause) == (EpisodeStatus.EXHAUSTED, Cause.BUDGET)
    assert reason is not None
    assert "max_tokens" in reason


def test_a_truncated_turn_with_calls_goes_on() -> None:
    assert isinstance(next_action(after(turn(0, 1, truncated=True))), Invoke)


def test_a_failed_step_ends_it_with_its_cause() -> None:
    action = next_action(after(StepFailed(Cause.INFRASTRUCTURE, "Model provider failed.")))
    assert ending(action) == (EpisodeStatus.FAILED, Cause.INFRASTRUCTURE, "Model provider failed.")


def test_a_cancel_ends_it_in_the_middle_of_a_step() -> None:
    action = next_action(apply(waiting(), CancelRequested("not needed")))
    assert ending(action) == (EpisodeStatus.CANCELLED, Cause.PERSON, "not needed")


def test_the_first_ending_stays() -> None:
    state = after(turn(0), CancelRequested(), StepFailed(Cause.SYSTEM, "late"), Nudged())
    assert ending(next_action(state))[0] is EpisodeStatus.COMPLETED


@pytest.mark.parametrize(
    ("state", "event"),
    [
        (after(), turn(1)),
        (after(), returned(0, 0)),
        (after(turn(0, 1)), turn(1)),
        (after(turn(0, 2)), returned(0, 1)),
        (after(turn(0, 2)), returned(1, 0)),
        (after(turn(0, 2), returned(0, 0)), returned(0, 0)),
        (waiting(), returned(0, 0)),
        (after(turn(0)), turn(1)),
    ],
)
def test_a_report_that_nobody_asked_for_is_an_error(state: EpisodeState, event: Event) -> None:
    with pytest.raises(EpisodeError, match="not the one that was due"):
        apply(state, event)


def test_the_state_stays_small() -> None:
    events: list[Event] = []
    for step in range(2000):
        events += [turn(step, 2), returned(step, 0), returned(step, 1)]
    state = after(*events, limits=Limits(steps=2500))
    assert len(state.model_dump_json()) < 400
