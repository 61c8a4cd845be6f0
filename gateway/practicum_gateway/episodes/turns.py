"""The model turns of an episode: each step is asked for as often as it takes, and accepted once."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Iterable
from dataclasses import replace

from practicum.contracts.access import Role
from practicum.contracts.episodes import CallReference, EpisodeMode, TurnReceipt, TurnRequest
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.models import Attempt, ModelCall, Usage
from practicum.errors import EpisodeError, GatewayUnavailableError, ModelProviderError, PracticumError
from practicum_gateway.access.principals import Actor
from practicum_gateway.access.spending import Budgets
from practicum_gateway.episodes.attempts import answered, begun, continuing, failed
from practicum_gateway.episodes.offer import Offer
from practicum_gateway.models.provider import Prompt
from practicum_gateway.models.router import Models
from practicum_gateway.record.lineage import Before
from practicum_gateway.record.record import Record
from practicum_gateway.record.values import StoredEpisode, Transcript


class Turns:
    """Takes turns; the same turn asked for twice at the same moment is taken once."""

    def __init__(self, record: Record, models: Models, budgets: Budgets) -> None:
        """Write turns into a record and have models take them, as long as budgets have room."""
        self._budgets = budgets
        self._record = record
        self._models = models
        self._under_way: dict[tuple[str, int], asyncio.Task[TurnReceipt]] = {}
        self._is_closed = False

    async def take(self, stored: StoredEpisode, request: TurnRequest) -> TurnReceipt:
        """The turn of a step; a repeated step returns the turn that was accepted.

        Raises:
            EpisodeError: the episode has ended, or this step is not its next.
            ModelProviderError: the model failed, and so did the fallbacks that the episode began with; each attempt is
                in the record, and another may follow.
            RequestError: the model's provider refuses the conversation.
            BudgetError: a budget of tokens is used up.
            GatewayUnavailableError: this gateway ends.
        """
        key = (stored.episode.id, request.step)
        task = self._under_way.get(key)
        if task is None:
            task = asyncio.create_task(self._take(stored, request))
            self._under_way[key] = task
            task.add_done_callback(lambda done: self._forget(key, done))
        try:
            # A caller who hangs up does not end the turn: whoever asks again finds it taken.
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.cancelled():
                raise
        if self._is_closed:
            raise GatewayUnavailableError("The gateway is ending: the turn was broken off.", mend="Ask for it again.")
        raise EpisodeError("The episode ended while its model was being asked.")

    def abandon(self, episode: str) -> None:
        """Break off the turns under way of an episode that has ended."""
        for (owner, _), task in self._under_way.items():
            if owner == episode:
                task.cancel()

    async def close(self) -> None:
        """Break every turn under way off; whoever asks for it again has it taken by the next gateway."""
        self._is_closed = True
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _forget(self, key: tuple[str, int], task: asyncio.Task[TurnReceipt]) -> None:
        del self._under_way[key]
        if not task.cancelled():
            task.exception()  # whoever waited has seen it; nobody waiting is no reason to complain

    async def _take(self, stored: StoredEpisode, request: TurnRequest) -> TurnReceipt:
        episode, step = stored.episode.id, request.step
        transcript = await self._record.transcripts.load(episode)
        if step < len(transcript.turns):
            return await self._receipt(stored, step, transcript)
        _check_due(stored, step, transcript)
        actor = Actor(stored.episode.principal, Role.AGENT)
        await self._budgets.require_tokens(actor, episode)
        attempt, before = await self._record.model_calls.begin_turn(episode, step, request.attempt)
        call = await self._answered(stored, transcript, before, step=step, attempt=attempt)
        await self._budgets.spend_tokens(actor, episode, call.usage.total)
        standing = await self._record.model_calls.add_turn(episode, call, before, transcript.end)
        if standing is Attempt.ACCEPTED and call.response is not None:
            return _receipt(stored, step, call.response, call.usage, call.finish_reason)
        transcript = await self._record.transcripts.load(episode)
        if step < len(transcript.turns):
            return await self._receipt(stored, step, transcript)
        raise EpisodeError("The episode ended while its model was being asked.")

    async def _answered(
        self, stored: StoredEpisode, transcript: Transcript, before: Before, *, step: int, attempt: int
    ) -> ModelCall:
        """The answer of the episode's model, or of the first of its fallbacks that has one where it cannot answer."""
        episode = stored.episode.id
        prompt = await self._prompt(stored, stored.model, transcript, before)
        try:
            return await self._ask(episode, prompt, before, step=step, attempt=attempt)
        except ModelProviderError as error:
            first = error
        for place, name in enumerate(stored.fallbacks, start=1):
            with contextlib.suppress(PracticumError):  # each failure is written down; the first is the one to tell
                prompt = await self._prompt(stored, name, transcript, before)
                return await self._ask(episode, prompt, before, step=step, attempt=attempt + place)
        raise first

    async def _prompt(self, stored: StoredEpisode, model: str, transcript: Transcript, before: Before) -> Prompt:
        offer = Offer.of(stored)
        prompt = await self._models.prompt(
            model,
            transcript.messages,
            tools=offer.shown,
            definitions=offer.definitions,
            sampling=stored.sampling,
            anew=stored.episode.mode is EpisodeMode.TRAINING,
        )
        return continuing(prompt, before.one)

    async def _ask(self, episode: str, prompt: Prompt, before: Before, *, step: int, attempt: int) -> ModelCall:
        """The attempt, answered; a failed one is written down before its error goes on."""
        call = begun(prompt, step=step, attempt=attempt)
        clock = time.perf_counter()
        try:
            completed = await self._models.complete(prompt, episode=episode, attempt=attempt)
        except (PracticumError, asyncio.CancelledError) as error:
            what = (
                error.detail if isinstance(error, PracticumError) else "Broken off: the episode or the gateway ended."
            )
            broken = failed(call, what, time.perf_counter() - clock)
            await self._record.model_calls.add_failure(episode, broken, before)
            raise
        ids = {wish.id for message in prompt.messages for wish in message.tool_calls}
        message = _distinct(completed.message, ids)
        return answered(call, replace(completed, message=message), time.perf_counter() - clock)

    async def _receipt(self, stored: StoredEpisode, step: int, transcript: Transcript) -> TurnReceipt:
        accepted = await self._record.model_calls.accepted(stored.episode.id, step)
        usage, finish_reason = accepted or (Usage(), None)
        return _receipt(stored, step, transcript.turns[step].message, usage, finish_reason)


def _check_due(stored: StoredEpisode, step: int, transcript: Transcript) -> None:
    """Go on only if this step is the one that is due."""
    episode = stored.episode
    if episode.status.ended:
        raise EpisodeError(f"The episode has ended ({episode.status}).")
    if stored.chats:
        raise EpisodeError("The episode is driven by an agent's own chat calls; it has no turns.")
    if step > len(transcript.turns):
        raise EpisodeError(f"Step {step} is not due: the next is {len(transcript.turns)}.")
    if step >= episode.limits.steps:
        raise EpisodeError(f"All {episode.limits.steps} steps of the episode are used up.")
    if transcript.open_calls:
        calls = ", ".join(str(index) for index in transcript.open_calls)
        raise EpisodeError(f"Step {step} is not due: step {step - 1} has calls without an outcome ({calls}).")
    if transcript.turns and not transcript.turns[-1].message.tool_calls:
        raise EpisodeError("The episode's last turn was its final answer.")


def _distinct(message: Message, taken: Iterable[str]) -> Message:
    """The message with ids that no earlier call of the episode has; servers that count from 0 each time exist."""
    seen = set(taken)
    calls: list[ToolCall] = []
    for wish in message.tool_calls:
        fresh = wish if wish.id not in seen else wish.model_copy(update={"id": f"call_{secrets.token_hex(12)}"})
        seen.add(fresh.id)
        calls.append(fresh)
    return message.model_copy(update={"tool_calls": tuple(calls)})


def _receipt(
    stored: StoredEpisode, step: int, message: Message, usage: Usage, finish_reason: str | None
) -> TurnReceipt:
    offer = Offer.of(stored)
    return TurnReceipt(
        step=step,
        calls=tuple(
            CallReference(index=index, tool=offer.resolved(wish).name, malformed=wish.malformed is not None)
            for index, wish in enumerate(message.tool_calls)
        ),
        usage=usage,
        truncated=finish_reason == "length",
    )
