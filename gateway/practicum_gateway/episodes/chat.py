"""Chat calls: of a developer, answered and forgotten; of an agent with an episode key, recorded into its episode."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.episodes import Driver, Episode, EpisodeMode
from practicum.contracts.messages import Message
from practicum.contracts.models import Attempt, ModelCall, Sampling
from practicum.contracts.tools import Tool
from practicum.errors import (
    EpisodeError,
    ForbiddenError,
    ModelProviderError,
    NotFoundError,
    PracticumError,
)
from practicum_gateway.access.principals import Actor
from practicum_gateway.access.spending import Budgets
from practicum_gateway.episodes.attempts import answered, begun, continuing, failed
from practicum_gateway.models.provider import Completed, Prompt
from practicum_gateway.models.router import Models, merged
from practicum_gateway.record.lineage import NOTHING, Before
from practicum_gateway.record.record import Record
from practicum_gateway.record.values import StoredEpisode

_LEFT = "The caller left before the answer was whole."


@dataclass(frozen=True, slots=True)
class Ask:
    """What a chat call asks.

    Attributes:
        model: the model, as `alias` or `alias@version`.
        messages: the conversation.
        tools: the tools on offer.
        definitions: the same tools as the caller defined them.
        sampling: overrides of the model's defaults.
        user: for whom, in the caller's words; the same one gets the same version of a model that is split.
        anew: whether the model is asked even where the answer is known.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    definitions: tuple[JsonObject, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    user: str | None = None
    anew: bool = False


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who answers a chat call.

    Attributes:
        call: id of the model call.
        model: alias of the model that answers: the one asked for, or a fallback.
        version: its version.
    """

    call: str
    model: str
    version: str


def place_key(episode: str, step: int, call: int) -> str:
    """The idempotency key that a tool call has by its place."""
    return f"{episode}/{step}/{call}"


@dataclass(frozen=True, slots=True)
class Placement:
    """Where in its episode a tool call made with an episode key belongs.

    Attributes:
        episode: the episode.
        tool: the tool, among those the episode is offered.
        step: running number of the latest chat call.
        call: running number of the tool call since then.
        mode: live or training.
    """

    episode: str
    tool: Tool
    step: int
    call: int
    mode: EpisodeMode

    @property
    def key(self) -> str:
        """The idempotency key of a call for which the agent gave none."""
        return place_key(self.episode, self.step, self.call)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A chat call about to be asked.

    Attributes:
        prompt: what the model is asked.
        call: the call as it stands before its answer.
        actor: on whose behalf.
        ask: what is asked.
        others: the models to ask where this one cannot answer, in this order.
        episode: the episode it is recorded into, if it is.
        before: what it continues by its messages.
    """

    prompt: Prompt
    call: ModelCall
    actor: Actor
    ask: Ask
    others: tuple[str, ...] = ()
    episode: str | None = None
    before: Before = NOTHING

    @property
    def speaker(self) -> Speaker:
        """Who is asked."""
        return Speaker(self.call.id, self.call.model, self.call.version)


class Chat:
    """Answers chat calls and places the tool calls that follow from them."""

    def __init__(self, record: Record, models: Models, budgets: Budgets) -> None:
        """Record into a record what models answer, as long as budgets have room."""
        self._budgets = budgets
        self._record = record
        self._models = models
        self._writing: set[asyncio.Task[None]] = set()

    async def complete(self, ask: Ask, stored: StoredEpisode | None, actor: Actor) -> tuple[Speaker, Completed]:
        """The model's turn and whose it is.

        Where the model cannot answer, its fallbacks are asked in their order; in an episode, those that it began with.

        Args:
            ask: what is asked.
            stored: the episode of the key it came with, if it is an episode key.
            actor: on whose behalf.

        Raises:
            BudgetError: a budget of tokens is used up.
            ModelProviderError: the model failed, and so did its fallbacks; in an episode, the record says so.
            RequestError: the model's provider refuses the conversation, or there is no such model.
            EpisodeError: the episode has ended, is not driven by chat calls, or has used its limits up.
            ForbiddenError: the episode runs with another model.
        """
        opened = await self._open(ask, stored, actor)
        first: ModelProviderError | None = None
        for place in range(1 + len(opened.others)):
            try:
                asked = await self._placed(opened, place)
                return asked.speaker, await self._completed(asked)
            except PracticumError as error:
                first = _told(first, error)
        raise _last(first)

    async def stream(
        self, ask: Ask, stored: StoredEpisode | None, actor: Actor
    ) -> AsyncGenerator[Speaker | str | Completed]:
        """Whose turn it is, then the turn in pieces of text, and last the whole of it.

        Fallbacks are asked as by `complete`, but only as long as nothing was given out. Whoever stops reading has
        failed the call.

        Raises:
            PracticumError: as for `complete`; also when the answer breaks off.
        """
        opened = await self._open(ask, stored, actor)
        first: ModelProviderError | None = None
        for place in range(1 + len(opened.others)):
            given = False
            try:
                asked = await self._placed(opened, place)
                async with aclosing(self._pieces(asked)) as pieces:
                    async for piece in pieces:
                        if not given:
                            yield asked.speaker
                        given = True
                        yield piece
            except PracticumError as error:
                if given:
                    raise
                first = _told(first, error)
            else:
                return
        raise _last(first)

    async def _completed(self, opened: _Opened) -> Completed:
        clock = time.perf_counter()
        outcome: ModelCall | None = None
        try:
            completed = await self._models.complete(opened.prompt, episode=opened.episode, attempt=opened.call.attempt)
        except PracticumError as error:
            outcome = failed(opened.call, error.detail, time.perf_counter() - clock)
            raise
        else:
            outcome = answered(opened.call, completed, time.perf_counter() - clock)
            return completed
        finally:
            await self._write_surely(opened, outcome or failed(opened.call, _LEFT, time.perf_counter() - clock))

    async def _pieces(self, opened: _Opened) -> AsyncGenerator[str | Completed]:
        clock = time.perf_counter()
        outcome: ModelCall | None = None
        try:
            said = self._models.stream(opened.prompt, episode=opened.episode, attempt=opened.call.attempt)
            async with aclosing(said) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Completed):
                        # Written before it is given out: whoever has seen the end may count on the record.
                        outcome = answered(opened.call, piece, time.perf_counter() - clock)
                        await self._write_surely(opened, outcome)
                    yield piece
        except PracticumError as error:
            outcome = failed(opened.call, error.detail, time.perf_counter() - clock)
            raise
        finally:
            if outcome is None or outcome.response is None:
                outcome = outcome or failed(opened.call, _LEFT, time.perf_counter() - clock)
                await self._write_surely(opened, outcome)

    async def place(self, stored: StoredEpisode, tool: str) -> Placement:
        """Draw the place of a tool call made with an episode key.

        Raises:
            NotFoundError: the episode is not offered this tool.
            EpisodeError: the episode has ended, or is not driven by its agent.
        """
        offered = stored.tool(tool)
        if offered is None:
            names = ", ".join(tool.name for tool in stored.tools) or "none"
            raise NotFoundError(f"The episode has no tool '{tool}'.", mend=f"Its tools: {names}.")
        _check_driven_by_agent(stored.episode)
        step, call = await self._record.episodes.next_call(stored.episode.id)
        return Placement(episode=stored.episode.id, tool=offered, step=step, call=call, mode=stored.episode.mode)

    async def close(self) -> None:
        """Let what is being written be written."""
        if self._writing:
            await asyncio.wait(self._writing)

    async def _open(self, ask: Ask, stored: StoredEpisode | None, actor: Actor) -> _Opened:
        await self._budgets.require_tokens(actor, None if stored is None else stored.episode.id)
        sampling = ask.sampling if stored is None else merged(stored.sampling, ask.sampling)
        # An episode keeps the version that it began with, whatever its alias names by now.
        model = stored.model if stored is not None and ask.model == stored.episode.model else ask.model
        training = stored is not None and stored.episode.mode is EpisodeMode.TRAINING
        ask = replace(ask, sampling=sampling, user=ask.user or actor.name, anew=training)
        prompt = await self._prompt(ask, model)
        if stored is None:
            return _Opened(prompt, begun(prompt, step=0, attempt=1), actor, ask, prompt.fallbacks)
        episode = stored.episode.id
        await self._check(stored, ask)
        step, before = await self._record.model_calls.begin_chat(episode, ask.messages)
        prompt = continuing(prompt, before.one)
        call = begun(prompt, step=step, attempt=1)
        return _Opened(prompt, call, actor, ask, stored.fallbacks, episode, before)

    async def _placed(self, opened: _Opened, place: int) -> _Opened:
        """The call as the model itself is asked it, at place 0, or as a fallback is."""
        if place == 0:
            return opened
        prompt = continuing(await self._prompt(opened.ask, opened.others[place - 1]), opened.before.one)
        return replace(opened, prompt=prompt, call=begun(prompt, step=opened.call.step, attempt=1 + place))

    async def _prompt(self, ask: Ask, model: str) -> Prompt:
        return await self._models.prompt(
            model,
            ask.messages,
            tools=ask.tools,
            sampling=ask.sampling,
            definitions=ask.definitions,
            unit=ask.user,
            anew=ask.anew,
        )

    async def _write_surely(self, opened: _Opened, call: ModelCall) -> None:
        """Write in a task of its own: a caller who left takes the task that asked with it."""
        task = asyncio.create_task(self._write(opened, call))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        await asyncio.shield(task)

    async def _write(self, opened: _Opened, call: ModelCall) -> None:
        await self._budgets.spend_tokens(opened.actor, opened.episode, call.usage.total)
        if opened.episode is None:
            return
        standing = await self._record.model_calls.add_chat(opened.episode, call, opened.before)
        if standing is Attempt.SUPERSEDED:
            raise EpisodeError("The episode ended while its model was being asked.")

    async def _check(self, stored: StoredEpisode, ask: Ask) -> None:
        """Go on only if the episode's agent may make another chat call."""
        episode, limits = stored.episode, stored.episode.limits
        _check_driven_by_agent(episode)
        if ask.model not in (episode.model, stored.model):
            raise ForbiddenError(
                f"The episode runs with the model '{episode.model}'.", mend=f"Ask for model='{episode.model}'."
            )
        if not stored.chats and (await self._record.transcripts.load(episode.id)).turns:
            raise EpisodeError("The episode is driven turn by turn; it takes no chat calls.")
        if stored.chats >= limits.steps:
            raise EpisodeError(f"All {limits.steps} steps of the episode are used up.")
        if limits.tokens is not None:
            used = await self._record.model_calls.usage(episode.id)
            if used.prompt_tokens + used.completion_tokens >= limits.tokens:
                raise EpisodeError(f"All {limits.tokens} tokens of the episode are used up.")
        if limits.seconds is not None:
            waited = await self._record.events.waited(episode.id)
            if (utc_now() - episode.created).total_seconds() - waited >= limits.seconds:
                raise EpisodeError(f"All {limits.seconds:g} seconds of the episode are used up.")


def _told(first: ModelProviderError | None, error: PracticumError) -> ModelProviderError:
    """The failure to tell if no fallback has an answer: that of the model itself, with which nobody is asked for less.

    Raises:
        PracticumError: the model's own refusal, after which nobody else is asked.
    """
    if first is not None:
        return first
    if not isinstance(error, ModelProviderError):
        raise error
    return error


def _last(first: ModelProviderError | None) -> ModelProviderError:
    if first is None:
        raise AssertionError("the model itself was asked")
    return first


def _check_driven_by_agent(episode: Episode) -> None:
    if episode.status.ended:
        raise EpisodeError(f"The episode has ended ({episode.status}).")
    if episode.driver is Driver.TEMPORAL:
        raise EpisodeError(
            "The episode is driven by a workflow; an agent cannot act in it.",
            mend="Begin an episode with driver=client for an agent of your own.",
        )
