"""Episodes as their owners and drivers see them: begun, driven, told, ended."""

import asyncio
from collections.abc import Mapping, Sequence

from opentelemetry.trace import NoOpTracer, Tracer

from practicum.contracts.access import Approval, ApprovalStatus, IssuedKey, KeyRequest, Role
from practicum.contracts.episodes import (
    ApprovalDecision,
    CallReceipt,
    Cause,
    Driver,
    Episode,
    EpisodeRequest,
    EpisodeResult,
    EpisodeStatus,
    InvokeRequest,
    RewardRequest,
    TurnReceipt,
    TurnRequest,
)
from practicum.contracts.tasks import States
from practicum.contracts.tools import Tool
from practicum.errors import EpisodeError, PracticumError, RequestError
from practicum.stages.opening import opening
from practicum_gateway.access.approvals import Approvals
from practicum_gateway.access.keys import Keys
from practicum_gateway.access.principals import Principal
from practicum_gateway.catalogue.catalogue import Catalogue
from practicum_gateway.episodes.calls import Calls
from practicum_gateway.episodes.choice import chosen
from practicum_gateway.episodes.examples import Examples
from practicum_gateway.episodes.practice import PracticeCopies
from practicum_gateway.episodes.rights import check_driving, check_owner, check_sight
from practicum_gateway.episodes.temporal import Workflows
from practicum_gateway.episodes.trajectories import accepted_conversation
from practicum_gateway.episodes.turns import Turns
from practicum_gateway.metrics.meter import Meter
from practicum_gateway.models.registry import Registry
from practicum_gateway.models.tool_forms import profile_of
from practicum_gateway.record.record import Record
from practicum_gateway.record.values import NewEpisode, StoredEpisode
from practicum_gateway.store.engine import new_id
from practicum_gateway.telemetry import agent_ended

_KEY_SECONDS = 7 * 86_400
"""How long an episode key is valid; a longer episode asks for another."""


class Episodes:
    """Everything that can be asked about an episode; each method checks who asks."""

    def __init__(
        self,
        *,
        record: Record,
        registry: Registry,
        catalogue: Catalogue,
        approvals: Approvals,
        keys: Keys,
        workflows: Workflows,
        turns: Turns,
        calls: Calls,
        practice: PracticeCopies,
        examples: Examples,
        meter: Meter | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        """Put the parts together.

        Args:
            record: what happened.
            registry: knows the models.
            catalogue: knows the tools.
            approvals: questions that episodes wait for.
            keys: issues episode keys.
            workflows: drives durable episodes.
            turns: takes the model's turns.
            calls: makes the turns' calls.
            practice: the copies of systems that training episodes work on.
            examples: chooses the solved tasks that a model is shown.
            meter: counts how they end.
            tracer: makes a span of each when it ends.
        """
        self._record = record
        self._registry = registry
        self._catalogue = catalogue
        self._approvals = approvals
        self._keys = keys
        self._workflows = workflows
        self._turns = turns
        self._calls = calls
        self._practice = practice
        self._examples = examples
        self._meter = meter or Meter()
        self._tracer = tracer or NoOpTracer()

    async def start(self, principal: Principal, request: EpisodeRequest) -> tuple[Episode, bool]:
        """Begin an episode; the flag says whether it is new. A repeated idempotency key gives the first one.

        Nothing is written unless the model, the tools, the practice copies and, for a durable episode, Temporal are
        there.

        Raises:
            ForbiddenError: the principal may not begin episodes.
            NotFoundError: there is no such model.
            RequestError: a tool pattern names no tool, the start state does not fit, there is nothing to fall back on,
                or a training episode would be of several versions.
            UpstreamError: a practice copy of a training episode cannot be begun.
            ConflictError: the idempotency key was used for another request.
            ModelProviderError: the embedding model that finds solved tasks to show does not answer.
            ConfigurationError, GatewayUnavailableError: the episode is to be durable and Temporal is not there.
        """
        check_owner(principal, to="begin episodes")
        known = await self._record.episodes.begun(principal.name, request)
        if known is not None:
            return known, False
        episode_id = new_id("ep")
        choice = await chosen(self._registry, principal.name, request, episode_id)
        model = choice.model
        tools = await self._tools(request.tools)
        new = NewEpisode(
            id=episode_id,
            request=request,
            principal=principal.name,
            model=model.spec.alias,
            version=model.version,
            tools=tools,
            opening=opening(request.task, model.spec, await self._examples.shown(request.task, model.spec.examples)),
            # Written down, since another release may count otherwise and an episode outlives a gateway.
            tool_budget=await asyncio.to_thread(choice.tool_budget, tools),
            tool_profile=profile_of(model.spec),
            fallbacks=choice.fallbacks,
        )
        if request.driver is Driver.TEMPORAL:
            await self._workflows.ready()
        await self._practice.begin(new.id, request, new.tools)
        try:
            episode, fresh = await self._record.episodes.begin(new)
            if fresh and request.driver is Driver.TEMPORAL:
                await self._hand_over(episode)
        except PracticumError:
            await self._practice.drop(new.id)
            raise
        if not fresh:
            await self._practice.drop(new.id)
        return episode, fresh

    async def resume(self) -> None:
        """Start the workflows of episodes that a gateway wrote down and did not live to hand over."""
        for episode in await self._record.episodes.not_handed_over():
            await self._workflows.start(episode, (await self._record.episodes.get(episode)).episode.limits)
            await self._record.episodes.hand_over(episode)

    async def get(self, principal: Principal, episode: str) -> Episode:
        """One episode.

        Raises:
            NotFoundError: there is none of that id, or not for this principal.
        """
        return (await self.stored(principal, episode)).episode

    async def stored(self, principal: Principal, episode: str) -> StoredEpisode:
        """One episode with what only the gateway needs to know of it.

        Raises:
            NotFoundError: as for `get`.
        """
        stored = await self._record.episodes.get(episode)
        check_sight(principal, stored.episode)
        return stored

    async def list(
        self,
        principal: Principal,
        *,
        statuses: Sequence[EpisodeStatus] = (),
        metadata: Mapping[str, str] | None = None,
        limit: int = 100,
    ) -> tuple[Episode, ...]:
        """Episodes that the principal may see, newest first."""
        if principal.episode is not None:
            return (await self.get(principal, principal.episode),)
        return await self._record.episodes.list(
            statuses=statuses, metadata=metadata, principal=only_of(principal), limit=limit
        )

    async def take_turn(self, principal: Principal, episode: str, request: TurnRequest) -> TurnReceipt:
        """The model's turn of a step, once accepted always the same; see `Turns.take`."""
        return await self._turns.take(await self._driven(principal, episode), request)

    async def make_call(self, principal: Principal, episode: str, request: InvokeRequest) -> CallReceipt:
        """One call of an accepted turn, made once; see `Calls.make`."""
        return await self._calls.make(await self._driven(principal, episode), request)

    async def close(self, principal: Principal, episode: str, result: EpisodeResult) -> Episode:
        """End an episode as its driver; the first result stands.

        Raises:
            RequestError: the result does not end it.
        """
        if not result.status.ended:
            raise RequestError(
                f"'{result.status}' ends no episode.", mend="Close it as completed, exhausted or failed."
            )
        return await self._end(await self._driven(principal, episode), result)

    async def cancel(self, principal: Principal, episode: str) -> Episode:
        """End an episode before it is done: what it waits for is withdrawn, its model call and workflow are broken off.

        An episode that has ended stays as it ended.

        Raises:
            ForbiddenError: the principal may not.
            GatewayUnavailableError: its workflow could not be told; the episode has ended all the same, and cancelling
                it again tells the workflow.
        """
        stored = await self.stored(principal, episode)
        own = principal.name == stored.episode.principal and principal.role is not Role.AUDITOR
        if principal.role not in (Role.ADMIN, Role.WORKER) and not own:
            principal.require(Role.DEVELOPER, to="cancel the episodes of others")
        result = EpisodeResult(
            status=EpisodeStatus.CANCELLED, cause=Cause.PERSON, reason=f"Cancelled by {principal.name}."
        )
        ended = await self._end(stored, result)
        if ended.driver is Driver.TEMPORAL and ended.status is EpisodeStatus.CANCELLED:
            await self._workflows.cancel(episode)
        return ended

    async def issue_key(self, principal: Principal, episode: str) -> IssuedKey:
        """A key with which an agent of any framework works within this episode, and nowhere else.

        Raises:
            EpisodeError: the episode has ended, or a workflow drives it.
        """
        check_owner(principal, to="issue episode keys")
        stored = await self._driven(principal, episode)
        if stored.episode.status.ended:
            raise EpisodeError(f"The episode has ended ({stored.episode.status}).")
        if stored.episode.driver is Driver.TEMPORAL:
            raise EpisodeError(
                "The episode is driven by a workflow.", mend="Begin it with driver=client to let an agent drive it."
            )
        request = KeyRequest(principal=stored.episode.principal, role=Role.AGENT, expires_in_seconds=_KEY_SECONDS)
        return await self._keys.issue(request, episode=episode)

    async def reward(self, principal: Principal, episode: str, request: RewardRequest) -> Episode:
        """Give a verdict on an episode; the latest counts. No agent judges itself.

        Raises:
            ForbiddenError: the principal is an agent.
        """
        check_owner(principal, to="reward episodes")
        await self.stored(principal, episode)
        return await self._record.episodes.reward(episode, request)

    async def states(self, principal: Principal, episode: str) -> States:
        """What the practice copies of a training episode hold; none of an agent's business.

        Raises:
            ForbiddenError: the principal is an agent.
            NotFoundError: the episode has none.
            UpstreamError: one cannot be read.
        """
        check_owner(principal, to="read the states of practice copies")
        await self.stored(principal, episode)
        return await self._practice.states(episode)

    async def release(self, principal: Principal, episode: str) -> None:
        """End the practice copies of a training episode; one without any stays so.

        Raises:
            ForbiddenError: the principal is an agent.
            UpstreamError: one could not be told.
        """
        check_owner(principal, to="release practice copies")
        await self.stored(principal, episode)
        await self._practice.release(episode)

    async def answered(self, approval: Approval) -> None:
        """Tell an episode that a question of it was answered; a repeated answer is recorded once.

        Raises:
            GatewayUnavailableError: its workflow could not be told; the answer stands, and may be given again.
        """
        if approval.episode is None:
            return
        approved = approval.status in {ApprovalStatus.APPROVED, ApprovalStatus.USED}
        await self._record.events.append_once(
            approval.episode,
            "approval.decided",
            approval.step,
            {
                "approval": approval.id,
                "call": approval.call,
                "tool": approval.tool,
                "approve": approved,
                "decided_by": approval.decided_by,
                "reason": approval.reason,
            },
            by="approval",
        )
        if approval.status is ApprovalStatus.USED:  # its call went ahead: nobody waits for this answer
            return
        await self._calls.run_again(approval.episode)
        stored = await self._record.episodes.get(approval.episode)
        if stored.episode.driver is Driver.TEMPORAL:
            await self._workflows.decide(
                approval.episode,
                ApprovalDecision(approval=approval.id, approved=approved, arguments_hash=approval.arguments_hash),
            )

    def cancelled_elsewhere(self, episode: str) -> None:
        """Break off what is under way here of an episode that was ended through another gateway."""
        self._turns.abandon(episode)

    async def close_turns(self) -> None:
        """Break off what would outlive the gateway; tool calls are the pipeline's to finish."""
        await self._turns.close()

    async def _driven(self, principal: Principal, episode: str) -> StoredEpisode:
        stored = await self.stored(principal, episode)
        check_driving(principal, stored.episode)
        return stored

    async def _tools(self, patterns: Sequence[str]) -> tuple[Tool, ...]:
        nothing = [pattern for pattern in patterns if not await self._catalogue.names([pattern])]
        if nothing:
            raise RequestError(
                f"No tool is named by: {', '.join(nothing)}.",
                mend="GET /v1/tools lists them; is the connector registered?",
            )
        return await self._catalogue.tools(patterns) if patterns else ()

    async def _hand_over(self, episode: Episode) -> None:
        try:
            await self._workflows.start(episode.id, episode.limits)
        except PracticumError:
            await self._record.episodes.forget(episode.id)
            raise
        await self._record.episodes.hand_over(episode.id)

    async def _end(self, stored: StoredEpisode, result: EpisodeResult) -> Episode:
        episode, first = await self._record.episodes.end(stored.episode.id, await self._filled(stored, result))
        if first:
            domain = self._meter.domain(tool.connector for tool in stored.tools)
            agent_ended(self._tracer, self._meter, episode, episode.result or result, domain)
            self._turns.abandon(episode.id)
            await self._approvals.cancel_of_episode(episode.id)
        return episode

    async def _filled(self, stored: StoredEpisode, result: EpisodeResult) -> EpisodeResult:
        """The result with what the record knows and its driver left out: the answer, the steps, the tokens."""
        episode = stored.episode.id
        transcript = await self._record.transcripts.load(episode)
        calls = await self._record.model_calls.of_episode(episode, transcript.messages) if stored.chats else ()
        messages, _ = accepted_conversation(stored, transcript, calls)
        last = messages[-1] if messages else None
        answer = result.answer
        if answer is None and result.status is EpisodeStatus.COMPLETED and last is not None and not last.tool_calls:
            answer = last.content if last.role == "assistant" else None
        return result.model_copy(
            update={
                "answer": answer,
                "steps": result.steps or stored.chats or len(transcript.turns),
                "usage": await self._record.model_calls.usage(episode),
            }
        )


def only_of(principal: Principal) -> str | None:
    """The name whose episodes alone a principal may see; None where it may see all."""
    return principal.name if principal.role is Role.AGENT else None
