"""Trajectories: the record of an episode put together, with what it can be trained with."""

from collections.abc import Mapping, Sequence

from practicum.contracts.base import JsonObject
from practicum.contracts.episodes import EpisodeEvent
from practicum.contracts.messages import Message
from practicum.contracts.models import Attempt, ModelCall
from practicum.contracts.trajectory import Invocation, Trajectory
from practicum.trajectories.eligibility import uses
from practicum_gateway.episodes.offer import Offer
from practicum_gateway.invocation.ledger import Ledger
from practicum_gateway.record.record import Record
from practicum_gateway.record.values import StoredEpisode, Transcript


class Trajectories:
    """Puts trajectories together."""

    def __init__(self, record: Record, ledger: Ledger) -> None:
        """Read from a record and from the ledger of tool calls."""
        self._record = record
        self._ledger = ledger

    async def of(self, episode: str) -> Trajectory:
        """The trajectory of an episode as far as it went.

        Raises:
            NotFoundError: there is no such episode.
        """
        stored = await self._record.episodes.get(episode)
        transcript = await self._record.transcripts.load(episode)
        calls = await self._record.model_calls.of_episode(episode, transcript.messages)
        messages, tools = accepted_conversation(stored, transcript, calls)
        shown = stored.episode
        trajectory = Trajectory(
            episode=shown.id,
            task=shown.task,
            model=shown.model,
            mode=shown.mode,
            messages=messages,
            tools=tools,
            model_calls=calls,
            invocations=_every_call(await self._ledger.of_episode(episode), await self._never_sent(stored, transcript)),
            result=shown.result,
            rewards=await self._record.episodes.rewards(episode),
            metadata=shown.metadata,
            created=shown.created,
            ended=shown.ended,
        )
        return trajectory.model_copy(update={"uses": uses(trajectory)})

    async def _never_sent(self, stored: StoredEpisode, transcript: Transcript) -> tuple[Invocation, ...]:
        """The calls that the gateway itself answered; of a foreign agent's calls, events alone tell of these."""
        if transcript.turns:
            return _never_sent(stored, transcript)
        ended = await self._record.events.of_kind(stored.episode.id, "call.finished")
        return tuple(_refused(event) for event in ended if "key" in event.data)

    async def list(
        self,
        *,
        metadata: Mapping[str, str] | None = None,
        principal: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> tuple[Trajectory, ...]:
        """Trajectories, newest first.

        Args:
            metadata: labels, all of which they carry.
            principal: on whose behalf the episodes ran.
            before: the last episode already known; older ones follow.
            limit: the most trajectories returned.
        """
        episodes = await self._record.episodes.list(metadata=metadata, principal=principal, before=before, limit=limit)
        return tuple([await self.of(episode.id) for episode in episodes])


def accepted_conversation(
    stored: StoredEpisode, transcript: Transcript, calls: Sequence[ModelCall]
) -> tuple[tuple[Message, ...], tuple[JsonObject, ...]]:
    """The conversation that stands and the tools offered in it.

    Of a foreign agent's conversations it is the longest, and of several such the latest.
    """
    own = Offer.of(stored).definitions
    if not stored.chats:
        return transcript.messages, own
    ends = [
        ((*call.messages, call.response), call.tools)
        for call in calls
        if call.standing is Attempt.ACCEPTED and call.response is not None
    ]
    longest = max((len(messages) for messages, _ in ends), default=0)
    return next((end for end in reversed(ends) if len(end[0]) == longest), (transcript.messages, own))


def _never_sent(stored: StoredEpisode, transcript: Transcript) -> tuple[Invocation, ...]:
    """The calls of own turns that the gateway itself answered.

    They were malformed, unknown, too many in a turn, denied, or searches.
    """
    offer, made = Offer.of(stored), list[Invocation]()
    for line in transcript.lines:
        if line.observation is None or line.step is None or line.call is None:
            continue
        meant = offer.resolved(transcript.turns[line.step].message.tool_calls[line.call])
        made.append(
            Invocation(
                key=f"{stored.episode.id}/{line.step}/{line.call}",
                step=line.step,
                call=line.call,
                tool=meant.name,
                arguments=meant.arguments,
                observation=line.observation,
                started=line.created,
                seconds=0.0,
            )
        )
    return tuple(made)


def _refused(event: EpisodeEvent) -> Invocation:
    """The call that an event tells of."""
    return Invocation.model_validate(event.data | {"step": event.step, "started": event.at, "seconds": 0.0})


def _every_call(sent: Sequence[Invocation], answered: Sequence[Invocation]) -> tuple[Invocation, ...]:
    """All of them in the model's order; where the ledger knows a call, it knows it better."""
    known = {(call.step, call.call) for call in sent}
    rest = (call for call in answered if (call.step, call.call) not in known)
    return tuple(sorted((*sent, *rest), key=lambda call: (call.step, call.call)))
