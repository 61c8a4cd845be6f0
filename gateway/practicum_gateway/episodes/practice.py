"""The practice copies of training episodes: begun before the episode, read for its verdict, ended after it."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterable

from practicum.contracts.connectors import Connector
from practicum.contracts.episodes import EpisodeMode, EpisodeRequest
from practicum.contracts.tasks import States
from practicum.contracts.tools import Tool
from practicum.errors import EpisodeError, ForbiddenError, NotFoundError, PracticumError, RequestError, UpstreamError
from practicum_connectors.practice import Practice, State
from practicum_gateway.catalogue.catalogue import Catalogue
from practicum_gateway.record.record import Record


class PracticeCopies:
    """Begins, reads and ends the copies; an episode has one of each system that it touches and that has copies."""

    def __init__(self, catalogue: Catalogue, record: Record) -> None:
        """Reach copies through a catalogue, and remember in a record which there are."""
        self._catalogue = catalogue
        self._record = record

    async def begin(self, episode: str, request: EpisodeRequest, tools: Iterable[Tool]) -> None:
        """Begin the copies of a training episode, all of them or none.

        With a start state each copy holds what it says, those that it does not name are empty. Without one each begins
        as the owner of the copies has it.

        Args:
            episode: the id that the episode will have.
            request: what is asked for.
            tools: the tools that it is offered.

        Raises:
            RequestError: the start state does not fit, or there is nobody to give it to.
            UpstreamError: a copy cannot be begun.
        """
        connectors = await self._wanted(request, tools)
        if not connectors:
            return
        start = request.start
        outcomes = await asyncio.gather(
            *(self._begin(episode, name, start.get(name, {}) if start else None) for name in connectors),
            return_exceptions=True,
        )
        failure = next((outcome for outcome in outcomes if isinstance(outcome, BaseException)), None)
        if failure is not None:
            await self._end_quietly(episode, connectors)
            raise failure
        await self._record.practice.begun(episode, connectors)

    async def states(self, episode: str) -> States:
        """What the copies of an episode hold.

        Raises:
            NotFoundError: it has none.
            EpisodeError: they are released.
            UpstreamError: one cannot be read.
        """
        copies = await self._record.practice.of_episode(episode)
        if not copies.connectors:
            raise NotFoundError(
                f"The episode '{episode}' has no practice copies.",
                mend="A training episode has them of systems that are registered with practice copies.",
            )
        if copies.released:
            raise EpisodeError(f"The practice copies of the episode '{episode}' are released.")
        states = await asyncio.gather(*(self._state(episode, name) for name in copies.connectors))
        return dict(zip(copies.connectors, states, strict=True))

    async def release(self, episode: str) -> None:
        """End the copies of an episode; without any, or once they are released, there is nothing to do.

        Raises:
            UpstreamError: one could not be told; releasing again tells it.
        """
        copies = await self._record.practice.of_episode(episode)
        if copies.connectors and not copies.released:
            await asyncio.gather(*(self._end(episode, name) for name in copies.connectors))
            await self._record.practice.released(episode)

    async def drop(self, episode: str) -> None:
        """End the copies of an episode that did not come to be, as far as they can be told."""
        await self._end_quietly(episode, (await self._record.practice.of_episode(episode)).connectors)
        await self._record.practice.forget(episode)

    async def _wanted(self, request: EpisodeRequest, tools: Iterable[Tool]) -> tuple[str, ...]:
        if request.mode is not EpisodeMode.TRAINING:
            if request.start:
                raise RequestError(
                    "A live episode has no start state: it finds the systems as they are.",
                    mend="Begin it with mode=training, or leave `start` away.",
                )
            return ()
        connectors = {connector.name: connector for connector in await self._catalogue.connectors()}
        for name in request.start:
            _require_copies(name, connectors.get(name))
        touched = {tool.connector for tool in tools} | set(request.start)
        return tuple(sorted(name for name in touched if name in connectors and connectors[name].practice is not None))

    async def _begin(self, episode: str, name: str, state: State | None) -> None:
        async with self._practice(name) as practice:
            await practice.begin(episode, state)

    async def _state(self, episode: str, name: str) -> State:
        try:
            async with self._practice(name) as practice:
                return await practice.state(episode)
        except (NotFoundError, ForbiddenError):
            raise UpstreamError(f"The practice copies of '{name}' are not registered any more.") from None

    async def _end(self, episode: str, name: str) -> None:
        # Where nobody knows any more how to reach a copy, it is left to its owner.
        with contextlib.suppress(NotFoundError, ForbiddenError):
            async with self._practice(name) as practice:
                await practice.end(episode)

    async def _end_quietly(self, episode: str, connectors: Iterable[str]) -> None:
        for name in connectors:
            with contextlib.suppress(PracticumError):
                await self._end(episode, name)

    @contextlib.asynccontextmanager
    async def _practice(self, name: str) -> AsyncGenerator[Practice]:
        async with self._catalogue.reach(name) as connector:
            if connector.practice is None:
                raise ForbiddenError(f"The connector '{name}' has no practice copies.")
            yield connector.practice


def _require_copies(name: str, connector: Connector | None) -> None:
    if connector is None:
        raise RequestError(f"The start state names '{name}', and there is no such connector.")
    if connector.practice is None:
        raise RequestError(
            f"The start state names '{name}', which has no practice copies to put it into.",
            mend="Register the connector with `practice`, or leave it out of `start`.",
        )
