"""The tool calls of an episode's turns: each is made once, and its outcome has its place in the transcript."""

import asyncio

from practicum.contracts.access import ApprovalStatus, Role
from practicum.contracts.episodes import CallReceipt, EpisodeStatus, InvokeRequest
from practicum.contracts.messages import ToolCall
from practicum.contracts.tools import CallStatus, Observation
from practicum.episode.disclosure import Search
from practicum.errors import EpisodeError
from practicum_gateway.access.approvals import Approvals
from practicum_gateway.access.principals import Principal
from practicum_gateway.episodes.observations import told
from practicum_gateway.episodes.offer import Offer
from practicum_gateway.invocation.intent import Intent
from practicum_gateway.invocation.pipeline import Pipeline
from practicum_gateway.record.record import Record
from practicum_gateway.record.values import Line, StoredEpisode


class Calls:
    """Makes the calls that turns ask for."""

    def __init__(self, record: Record, pipeline: Pipeline, approvals: Approvals) -> None:
        """Write outcomes into a record, make calls through the pipeline, and look up what calls wait for."""
        self._record = record
        self._pipeline = pipeline
        self._approvals = approvals

    async def make(self, stored: StoredEpisode, request: InvokeRequest) -> CallReceipt:
        """Make one call of an accepted turn; a repeated one returns what was recorded, or looks at its approval again.

        Raises:
            EpisodeError: the episode has ended, the step was not taken, or it holds no such call.
        """
        lines = await self._record.transcripts.step(stored.episode.id, request.step)
        turn = next((line for line in lines if line.call is None), None)
        if turn is None or request.call >= len(turn.message.tool_calls):
            raise EpisodeError(f"The episode has no call {request.call} in step {request.step}.")
        known = next((line.status for line in lines if line.call == request.call), None)
        if known is not None:
            return CallReceipt(step=request.step, call=request.call, status=known)
        if stored.episode.status.ended:
            raise EpisodeError(f"The episode has ended ({stored.episode.status}).")
        offer = Offer.of(stored)
        meant = offer.read(turn.message.tool_calls[request.call], request.call, stored.episode.limits)
        if isinstance(meant, Search):
            # An index of thousands of tools takes a while to make.
            meant = await asyncio.to_thread(offer.found, meant)
        if isinstance(meant, Observation):
            return await self._answer(stored, request, turn, meant)
        observation = await self._pipeline.invoke(_intent(stored, request, meant))
        if observation.status is CallStatus.WAITING:
            return await self._waiting(request, observation)
        return await self._settle(stored, request, turn, observation)

    async def run_again(self, episode: str) -> None:
        """Let an episode that waited run, unless a question of it is still open."""
        if not await self._approvals.list(status=ApprovalStatus.PENDING, episode=episode, limit=1):
            await self._record.episodes.stand(episode, EpisodeStatus.RUNNING)

    async def _answer(
        self, stored: StoredEpisode, request: InvokeRequest, turn: Line, observation: Observation
    ) -> CallReceipt:
        """Settle a call that is no system's: a search, or one that cannot be made."""
        episode = stored.episode.id
        status = await self._record.transcripts.settle(episode, turn, request.call, observation, told(observation))
        await self._record.event(
            episode,
            "call.finished",
            request.step,
            {
                "call": request.call,
                "tool": Offer.of(stored).resolved(turn.message.tool_calls[request.call]).name,
                "observation": observation.model_dump(mode="json"),
            },
        )
        return CallReceipt(step=request.step, call=request.call, status=status)

    async def _waiting(self, request: InvokeRequest, observation: Observation) -> CallReceipt:
        approval = None if observation.approval is None else await self._approvals.get(observation.approval)
        return CallReceipt(
            step=request.step,
            call=request.call,
            status=CallStatus.WAITING,
            approval=observation.approval,
            arguments_hash=None if approval is None else approval.arguments_hash,
        )

    async def _settle(
        self, stored: StoredEpisode, request: InvokeRequest, turn: Line, observation: Observation
    ) -> CallReceipt:
        episode = stored.episode
        status = await self._record.transcripts.settle(episode.id, turn, request.call, observation, told(observation))
        if episode.status is EpisodeStatus.WAITING:
            await self.run_again(episode.id)
        return CallReceipt(step=request.step, call=request.call, status=status)


def _intent(stored: StoredEpisode, request: InvokeRequest, wish: ToolCall) -> Intent:
    episode = stored.episode
    tool = stored.tool(wish.name)
    return Intent(
        principal=Principal(
            name=episode.principal, role=Role.AGENT, key_id=f"episode:{episode.id}", episode=episode.id
        ),
        tool=wish.name if tool is None else tool.name,
        arguments=wish.arguments,
        key=f"{episode.id}/{request.step}/{request.call}",
        episode=episode.id,
        step=request.step,
        call=request.call,
        mode=episode.mode,
    )
