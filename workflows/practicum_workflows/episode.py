"""An episode as a Temporal workflow: it drives the same machine as every other driver, and survives everything."""

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutType, is_cancelled_exception
from temporalio.exceptions import TimeoutError as ActivityTimeoutError
from temporalio.workflow import ActivityConfig

with workflow.unsafe.imports_passed_through():
    from practicum.contracts.episodes import ApprovalDecision, Cause, EpisodeResult
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
        StepFailed,
        TakeTurn,
        TimeAdvanced,
        TurnTaken,
        apply,
        next_action,
        refusal,
    )
    from practicum.episode.durable import DECIDE, NUDGE, STATE, WORKFLOW
    from practicum.episode.failures import Retries, cause_of, judge
    from practicum.errors import EpisodeError
    from practicum_workflows.activities import EpisodeActivities
    from practicum_workflows.payloads import CallInput, CloseInput, EpisodeRun, TurnInput

_LONGEST = 86_400.0
"""Seconds for which a turn or a call is tried: an outage may last, a fault that nobody mends must come to light."""
_SHORTEST = 0.1  # a timeout of none would mean no timeout
_RETRIES = Retries()


@workflow.defn(name=WORKFLOW)
class EpisodeWorkflow:
    """One durable episode. Its history holds references and numbers; the conversation is the gateway's."""

    @workflow.init
    def __init__(self, begin: EpisodeRun) -> None:
        """Take up the episode where the run before left it; handlers may be called before `run`."""
        self._episode = begin.episode
        self._tenant = begin.tenant
        self._pace = begin.pace
        self._state = begin.state or EpisodeState.begin(begin.limits)

    @workflow.run
    async def run(self, begin: EpisodeRun) -> EpisodeResult:
        """Drive the episode to its end and close it, whatever ends it."""
        try:
            while not isinstance(action := next_action(self._state), Finish):
                await self._do(action)
                await self._roll(begin)
            return await self._close(action.result)
        except (asyncio.CancelledError, ActivityError) as error:
            if not is_cancelled_exception(error):
                raise
            self._happen(CancelRequested())
            ended = next_action(self._state)
            if isinstance(ended, Finish):
                await asyncio.shield(self._close(ended.result))
            raise

    @workflow.update(name=DECIDE)
    def decide(self, decision: ApprovalDecision) -> None:
        """Hear the answer to an approval. It only records: the run acts on it, and may meanwhile go on as a new one."""
        self._happen(ApprovalAnswered(decision))

    @decide.validator
    def check_decision(self, decision: ApprovalDecision) -> None:
        """Refuse an answer that fits no waiting call, before it enters the history."""
        refused = refusal(self._state, decision)
        if refused is not None:
            raise ApplicationError(f"{refused.value}: {decision.approval}", type=refused.value)

    @workflow.signal(name=NUDGE)
    def nudge(self) -> None:
        """Have a call that waits made again."""
        self._happen(Nudged())

    @workflow.query(name=STATE)
    def state(self) -> EpisodeState:
        """Where the episode stands."""
        return self._state

    def _happen(self, event: Event) -> None:
        self._state = apply(self._state, event)

    def _learn(self, event: TurnTaken | CallReturned) -> None:
        """Take in what the gateway reports; what it was not asked for ends the episode, so that it is closed at all."""
        try:
            self._happen(event)
        except EpisodeError as error:
            self._happen(StepFailed(Cause.INFRASTRUCTURE, judge(error).reason))

    async def _do(self, action: Action) -> None:
        match action:
            case TakeTurn():
                await self._turn(action)
            case Invoke():
                await self._invoke(action)
            case AwaitApproval():
                await self._await_news(action)
            case Finish():
                pass

    async def _turn(self, turn: TakeTurn) -> None:
        began = workflow.time()
        limit = _LONGEST if turn.within is None else min(max(turn.within, _SHORTEST), _LONGEST)
        least = 0.0
        try:
            receipt = await workflow.execute_activity_method(
                EpisodeActivities.take_turn,
                TurnInput(episode=self._episode, step=turn.step, tenant=self._tenant),
                **_options(f"turn {turn.step}", limit),
            )
            self._learn(TurnTaken(receipt))
        except ActivityError as error:
            if limit < _LONGEST and _out_of_time(error):
                least = limit  # all there was, whatever the clock's grain says
            else:
                self._happen(_failed(error))
        self._happen(TimeAdvanced(max(workflow.time() - began, least)))

    async def _invoke(self, invoke: Invoke) -> None:
        began = workflow.time()
        try:
            receipt = await workflow.execute_activity_method(
                EpisodeActivities.invoke_call,
                CallInput(episode=self._episode, step=invoke.step, call=invoke.call, tenant=self._tenant),
                **_options(f"turn {invoke.step}, call {invoke.call}: {invoke.tool}", _LONGEST),
            )
            self._learn(CallReturned(receipt, invoke.heard))
        except ActivityError as error:
            self._happen(_failed(error))
        self._happen(TimeAdvanced(workflow.time() - began))

    async def _await_news(self, wait: AwaitApproval) -> None:
        workflow.set_current_details(f"Step {wait.step} waits for approval {wait.call.approval}.")
        try:
            await workflow.wait_condition(
                lambda: next_action(self._state) != wait,
                timeout=self._pace.recheck,
                timeout_summary=f"look again at approval {wait.call.approval}",
            )
        except TimeoutError:
            self._happen(Nudged())
        workflow.set_current_details("")

    async def _close(self, result: EpisodeResult) -> EpisodeResult:
        """End the episode in the gateway; what stands there is what this workflow returns."""
        return await workflow.execute_activity_method(
            EpisodeActivities.close_episode,
            CloseInput(episode=self._episode, result=result, tenant=self._tenant),
            **_options(f"close as {result.status.value}"),
        )

    async def _roll(self, begin: EpisodeRun) -> None:
        """Go on in a new run before the history is too long to be replayed; the whole state goes along."""
        info = workflow.info()
        if info.is_continue_as_new_suggested() or info.get_current_history_length() >= self._pace.roll_after:
            await workflow.wait_condition(workflow.all_handlers_finished)
            workflow.continue_as_new(begin.model_copy(update={"state": self._state}))


def _options(summary: str, longest: float | None = None) -> ActivityConfig:
    """How an activity is run.

    Args:
        summary: what a person reads of it in Temporal's UI.
        longest: seconds for all attempts together; None for no bound.
    """
    return ActivityConfig(
        summary=summary,
        schedule_to_close_timeout=None if longest is None else timedelta(seconds=longest),
        start_to_close_timeout=timedelta(minutes=15),
        # A dead worker is noticed after this, and its work given to another.
        heartbeat_timeout=timedelta(seconds=10),
        # How often an error is worth trying again, the activity says: it knows the error, a policy only its type.
        retry_policy=RetryPolicy(
            initial_interval=timedelta(seconds=_RETRIES.first_wait),
            backoff_coefficient=_RETRIES.factor,
            maximum_interval=timedelta(seconds=_RETRIES.longest_wait),
        ),
    )


def _out_of_time(error: ActivityError) -> bool:
    return isinstance(error.cause, ActivityTimeoutError) and error.cause.type is TimeoutType.SCHEDULE_TO_CLOSE


def _failed(error: ActivityError) -> StepFailed:
    """The event that an activity without hope is.

    Raises:
        ActivityError: it was cancelled, which is the episode's own end and no failure.
    """
    if is_cancelled_exception(error):
        raise error
    if isinstance(error.cause, ApplicationError):
        return StepFailed(cause_of(error.cause.type or ""), error.cause.message)
    return StepFailed(Cause.INFRASTRUCTURE, "The worker or the gateway did not answer in time.")
