"""The invocation pipeline: the one way in which a tool is called.

Authenticate, decide, validate, ledger, inject, send, shape, record: `_perform` is the whole of it, in this order.
"""

import asyncio
import contextlib
from dataclasses import dataclass, replace

from opentelemetry.trace import Tracer
from pydantic import JsonValue
from sqlalchemy import Connection

from practicum.contracts.access import ApprovalStatus, Decision, Outcome
from practicum.contracts.audit import Action
from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import Mode
from practicum.contracts.episodes import EpisodeMode, EventType
from practicum.contracts.tools import Observation, Tool
from practicum.errors import BudgetError, CallError, ConflictError, NotFoundError
from practicum_connectors.calls import PreparedCall, Sent
from practicum_connectors.connector import CompiledConnector
from practicum_connectors.response.observe import Observed
from practicum_gateway.access.approvals import Approvals, Question
from practicum_gateway.access.principals import Actor
from practicum_gateway.access.rulebook import Rulebook
from practicum_gateway.access.spending import Budgets
from practicum_gateway.audit.audit import Audit
from practicum_gateway.audit.log import Deed
from practicum_gateway.audit.who import acting_as
from practicum_gateway.catalogue.catalogue import Catalogue
from practicum_gateway.content import Content
from practicum_gateway.invocation import outcomes
from practicum_gateway.invocation.artifacts import Artifacts
from practicum_gateway.invocation.entries import Entry
from practicum_gateway.invocation.intent import EventSink, Intent
from practicum_gateway.invocation.ledger import Also, Ledger, TakenUpError
from practicum_gateway.metrics.meter import Meter
from practicum_gateway.telemetry import ToolSpan, current_traceparent, tool_span

_DRAIN_SECONDS = 30.0
_OTHERS = 3
"""How often other gateways may be faster before the caller is told."""


@dataclass(frozen=True, slots=True)
class _UnderWay:
    intent: Intent
    task: asyncio.Task[Observation]


class Pipeline:
    """Makes calls, each once.

    Attributes:
        patience: seconds for which calls under way may go on when the gateway ends.
    """

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        rulebook: Rulebook,
        approvals: Approvals,
        budgets: Budgets,
        ledger: Ledger,
        artifacts: Artifacts,
        audit: Audit,
        events: EventSink,
        tracer: Tracer,
        meter: Meter | None = None,
        content: Content | None = None,
        call_seconds: float = 600.0,
    ) -> None:
        """Put the parts in line.

        Args:
            catalogue: knows the tools and reaches the systems.
            rulebook: decides.
            approvals: asks people.
            budgets: what may be spent.
            ledger: makes sure of once.
            artifacts: keeps bytes that no model is shown.
            audit: where it is written down that a call was not made.
            events: where an episode's events go.
            tracer: makes the spans of the calls.
            meter: counts them.
            content: puts on the spans what was said, where an operator asked for it.
            call_seconds: the most that a call may take; a connector may allow less.
        """
        self._catalogue = catalogue
        self._rulebook = rulebook
        self._approvals = approvals
        self._budgets = budgets
        self._ledger = ledger
        self._artifacts = artifacts
        self._audit = audit
        self._events = events
        self._tracer = tracer
        self._meter = meter or Meter()
        self._content = content
        self._seconds = call_seconds
        self._under_way: dict[tuple[str, str], _UnderWay] = {}
        self.patience = _DRAIN_SECONDS

    @property
    def calls(self) -> int:
        """How many are under way."""
        return len(self._under_way)

    async def invoke(self, intent: Intent) -> Observation:
        """Make the call, once, and say how it ended or that it waits.

        A repeated key returns the recorded outcome, waits for a call under way, or looks at a waiting call's approval
        again. A caller who hangs up does not stop a call that has begun: its outcome is recorded all the same.

        Raises:
            ConflictError: the key is in use with another tool or other arguments.
            ForbiddenError: the principal may not act in this episode.
            NotFoundError: there is no such tool; only with `raise_call_errors`.
            CallError: the arguments do not fit; only with `raise_call_errors`.
        """
        place = (intent.scope, intent.key)
        present = self._under_way.get(place)
        if present is None:
            task = asyncio.create_task(self._observed(intent))
            present = self._under_way[place] = _UnderWay(intent, task)
            task.add_done_callback(lambda done: self._forget(place, done))
        elif not present.intent.asks_the_same_as(intent):
            raise ConflictError(f"The key '{intent.key}' is in use by another call.", mend="Use a new key.")
        try:
            return await asyncio.shield(present.task)
        except (CallError, NotFoundError) as error:
            if intent.raise_call_errors:
                raise
            return outcomes.mendable(error)

    async def recover(self) -> None:
        """Settle what gateways that are gone sent and did not live to record, and tell the episodes."""
        for entry in await self._ledger.recover():
            if entry.episode is not None and entry.observation is not None:
                data = _data(entry.call, entry.tool, observation=outcomes.as_json(entry.observation))
                with contextlib.suppress(NotFoundError):
                    await self._events.event(entry.episode, "call.finished", entry.step, data)

    async def close(self) -> None:
        """Let the calls under way end, so that their outcomes are recorded."""
        tasks = [present.task for present in self._under_way.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=min(self._seconds, self.patience))

    async def _observed(self, intent: Intent) -> Observation:
        # What is done about the call is done on behalf of whoever wants it, not of who drives the episode.
        spanned = tool_span(self._tracer, self._meter, intent.episode, self._content)
        with acting_as(intent.principal.who), spanned as span:
            try:
                observation = await self._once(intent, span)
            except (CallError, NotFoundError) as error:
                refused = outcomes.mendable(error)
                span.ended(refused)
                await self._end(intent, refused)
                if isinstance(error, NotFoundError):
                    await self._note_denial(intent, "not_found")
                raise
            span.ended(observation)
            return observation

    async def _once(self, intent: Intent, span: ToolSpan) -> Observation:
        """Perform the call, or have what became of it where another gateway took it up at the same moment."""
        for _ in range(_OTHERS):
            try:
                return await self._perform(intent, span)
            except TakenUpError:
                if intent.fresh:  # a drawn key that was used by hand, for another call
                    raise
        return await self._perform(intent, span)

    async def _perform(self, intent: Intent, span: ToolSpan) -> Observation:
        # authenticate
        intent.principal.require_episode(intent.episode)
        intent.require_json()
        tool = await self._find(intent.tool)
        intent = intent if tool is None else replace(intent, tool=tool.name)
        known = None if intent.fresh else await self._ledger.recall(intent)
        span.found(tool, repeated=known is not None and known.observation is not None)
        if known is not None and known.observation is not None:
            return known.observation
        tool = tool or await self._catalogue.tool(intent.tool)

        # decide
        actor = Actor(intent.principal.name, intent.principal.role)
        opened = await self._opened(intent, tool)
        decision = await self._rulebook.decide(tool, actor, opened)
        if decision.outcome is Outcome.DENY:
            return await self._refuse(intent, outcomes.refused(decision), rule=decision.rule)
        copy = await self._copy(intent, tool)
        if isinstance(copy, Observation):
            return await self._refuse(intent, copy, why=copy.content)

        async with self._catalogue.reach(tool.connector, copy=copy) as connector:
            # validate
            wanted = connector.artifacts_of(tool.name, intent.arguments)
            files = await self._artifacts.given(intent.scope, wanted)
            prepared = connector.prepare(tool.name, intent.arguments, files)
            shown = outcomes.redacted_object(intent.arguments, connector.redact)
            span.called(shown)

            # ask
            approval = None
            if _asks(intent, decision) and (known is None or known.approval is None):
                verdict = await self._ask(intent, tool, decision, shown)
                if isinstance(verdict, Observation):
                    return verdict
                approval = verdict

            # ledger
            spends = () if copy is not None else await self._budgets.of_call(tool, actor, intent.episode, opened)
            try:
                entry = await self._ledger.claim(
                    intent,
                    shown,
                    outcomes.resend_of(prepared),
                    approvals=self._approvals,
                    approval=approval,
                    spends=spends,
                    also=self._also(intent, "call.started", arguments=shown),
                )
            except BudgetError as error:
                span.over_budget()
                return await self._refuse(intent, outcomes.over_budget(error), why=error.detail)
            self._announce(intent)
            if not prepared.safe:
                await self._ledger.mark_sent(entry)

            # inject, send, shape: the connector adds the credentials at the last moment and takes them out again
            seen, seconds = await self._exchange(connector, prepared, entry, span)

            # record
            observation = seen.observation
            # First: a deed must not be in doubt because its bytes found no place.
            told = self._also(intent, "call.finished", observation=outcomes.as_json(observation))
            observation = await self._ledger.settle(entry, observation, seconds, also=told)
            await self._artifacts.keep(intent.scope, seen.payloads)
            if seen.departures and copy is None:
                await self._catalogue.drifted(tool.name)
        self._announce(intent)
        return observation

    async def _find(self, name: str) -> Tool | None:
        """The tool, if it is still there: a recorded outcome outlives its connector."""
        try:
            return await self._catalogue.tool(name)
        except NotFoundError:
            return None

    async def _opened(self, intent: Intent, tool: Tool) -> JsonObject:
        """The arguments that rules decide about: for a next page, those that its handle stands for.

        Raises:
            CallError: the handle is not one of this tool's.
        """
        if not tool.paged:
            return intent.arguments
        async with self._catalogue.reach(tool.connector) as connector:
            return connector.expand(tool.name, intent.arguments)

    async def _copy(self, intent: Intent, tool: Tool) -> str | Observation | None:
        """The practice copy that is called instead of a live system, or what to say where training has none."""
        if intent.mode is not EpisodeMode.TRAINING:
            return None
        connector = await self._catalogue.connector(tool.connector)
        if connector.mode is not Mode.LIVE:
            return None
        if connector.practice is None or intent.episode is None:
            return outcomes.training_refused(tool.connector)
        return intent.episode

    async def _ask(self, intent: Intent, tool: Tool, decision: Decision, shown: JsonObject) -> str | Observation:
        """The id of an approval that can be spent, or what to say instead."""
        approval, is_new = await self._approvals.ask(
            Question(
                scope=intent.scope,
                key=intent.key,
                requested_by=intent.principal.name,
                tool=tool,
                arguments=shown,
                arguments_hash=intent.arguments_hash,
                rule=decision.rule,
                revision=decision.revision,
                episode=intent.episode,
                step=intent.step,
                call=intent.call,
            )
        )
        if is_new:
            await self._tell(intent, "approval.requested", approval=approval.id, rule=decision.rule, arguments=shown)
        if approval.status is ApprovalStatus.APPROVED:
            return approval.id
        if approval.status is ApprovalStatus.USED:
            raise TakenUpError  # the yes to this very call was spent a moment ago
        if approval.status is ApprovalStatus.PENDING:
            return outcomes.waiting(approval, intent.key)
        return await self._refuse(intent, outcomes.unapproved(approval), approval=approval.id, why=approval.status)

    async def _exchange(
        self, connector: CompiledConnector, prepared: PreparedCall, entry: Entry, span: ToolSpan
    ) -> tuple[Observed, float]:
        """Send the call; a doubtful one a second time where the system recognises its key, to learn what became of it.

        That is no retry: it can only do once what was asked once, and it ends the doubt or leaves it.
        """
        sent = await self._send(connector, prepared, entry)
        seconds, tries = sent.seconds, sent.attempts
        if sent.in_doubt and prepared.repeatable:
            again = await self._send(connector, prepared, entry)
            seconds, tries = seconds + again.seconds, tries + again.attempts
            sent = again if outcomes.clears_doubt(again) else sent
        span.sent(seconds, tries)
        return connector.shape(sent), seconds

    async def _send(self, connector: CompiledConnector, prepared: PreparedCall, entry: Entry) -> Sent:
        return await connector.send(
            prepared,
            idempotency_key=entry.upstream_key,
            traceparent=current_traceparent(),
            timeout_seconds=self._seconds,
        )

    async def _refuse(self, intent: Intent, observation: Observation, **details: JsonValue) -> Observation:
        """Write down that a call may not be made, and tell the episode."""
        await self._note_denial(intent, "denied", **details)
        return await self._end(intent, observation)

    async def _note_denial(self, intent: Intent, outcome: str, **details: JsonValue) -> None:
        # No connector was reached that could take secrets out of the arguments: their hash has to do.
        details["arguments_hash"] = intent.arguments_hash
        await self._audit.note(Deed(Action.TOOL_DENIED, intent.tool, outcome, intent.episode, details))

    async def _end(self, intent: Intent, observation: Observation) -> Observation:
        """Tell the episode how a call ended that was not made."""
        # The ledger holds nothing of it, so this is where the record has from what was asked.
        observed = outcomes.as_json(observation)
        await self._tell(intent, "call.finished", observation=observed, key=intent.key, arguments=intent.arguments)
        return observation

    async def _tell(self, intent: Intent, kind: EventType, **data: JsonValue) -> None:
        if intent.episode is not None:
            await self._events.event(intent.episode, kind, intent.step, _data(intent.call, intent.tool, **data))

    def _also(self, intent: Intent, kind: EventType, **data: JsonValue) -> Also:
        """Tells the episode within a transaction of the ledger."""

        def told(connection: Connection) -> None:
            if intent.episode is not None:
                placed = _data(intent.call, intent.tool, **data)
                self._events.event_on(connection, intent.episode, kind, intent.step, placed)

        return told

    def _announce(self, intent: Intent) -> None:
        if intent.episode is not None:
            self._events.announce(intent.episode)

    def _forget(self, place: tuple[str, str], task: asyncio.Task[Observation]) -> None:
        del self._under_way[place]
        if not task.cancelled():
            task.exception()  # whoever waited has seen it; that nobody waited is no reason to complain


def _asks(intent: Intent, decision: Decision) -> bool:
    """Whether a person is asked: nothing that is done in training is in earnest."""
    return decision.outcome is Outcome.ASK and intent.mode is not EpisodeMode.TRAINING


def _data(call: int | None, tool: str, **data: JsonValue) -> JsonObject:
    return {"call": call, "tool": tool, **data}
