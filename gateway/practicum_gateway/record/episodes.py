"""Episodes: begun once, ended once."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import TypeAdapter
from sqlalchemy import Table, bindparam, delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from practicum.contracts.audit import Action
from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.episodes import Driver, Episode, EpisodeRequest, EpisodeResult, EpisodeStatus, RewardRequest
from practicum.contracts.models import Sampling
from practicum.contracts.tools import Tool
from practicum.contracts.trajectory import Reward
from practicum.errors import ConflictError, NotFoundError
from practicum_gateway.audit.log import Deed, append
from practicum_gateway.record.canonical import digest
from practicum_gateway.record.entries import CallPlaced
from practicum_gateway.record.events import Events, append_event
from practicum_gateway.record.journal import Journal
from practicum_gateway.record.toolsets import Toolsets
from practicum_gateway.record.values import NewEpisode, StoredEpisode, as_json, episode_of
from practicum_gateway.store.engine import Store
from practicum_gateway.store.prepared import Prepared
from practicum_gateway.store.record_tables import EpisodeRow, EventRow, MessageRow, RewardRow

_TOOLS: TypeAdapter[tuple[Tool, ...]] = TypeAdapter(tuple[Tool, ...])
_TOOLSETS_READ = 64
_EPISODES_KNOWN = 256
_EPISODES = cast("Table", EpisodeRow.__table__)
_LATER_SAMPLING = frozenset({"stop", "tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort"})
_COUNTED = frozenset({"events", "placed"})
_ONE = Prepared(
    select(*(column for column in _EPISODES.c if column.key not in _COUNTED)).where(_EPISODES.c.id == bindparam("of"))
)
"""All but what changes with every call, so that an episode that did not change is known again."""


class EpisodeRecords:
    """Begins, finds and ends episodes."""

    def __init__(self, store: Store, journal: Journal, toolsets: Toolsets, events: Events) -> None:
        """Keep episodes in a store and its journal, their tools among the toolsets, their events among the events."""
        self._store = store
        self._journal = journal
        self._toolsets = toolsets
        self._events = events
        self._read: OrderedDict[str, tuple[Tool, ...]] = OrderedDict()
        self._known: OrderedDict[str, tuple[object, StoredEpisode]] = OrderedDict()

    async def begin(self, new: NewEpisode) -> tuple[Episode, bool]:
        """Record a new episode with its opening messages; the flag says whether it is new.

        A repeated idempotency key of the same principal gives the first episode.

        Raises:
            ConflictError: the key was used for another request.
        """
        toolset = await self._toolsets.keep([as_json(tool) for tool in new.tools])
        try:
            async with self._store.write() as session:
                known = await _same(session, new.principal, new.request)
                if known is None:
                    row = _row(new, toolset)
                    session.add(row)
                    await session.flush()
                    await _open(session, new)
                    await append(session, _started(new))
        except IntegrityError:
            # Another replica began it at the same moment.
            async with self._store.read() as session:
                known = await _same(session, new.principal, new.request)
            if known is None:
                raise
        if known is not None:
            return known, False
        self._events.announce(new.id)
        return (await self.get(new.id)).episode, True

    async def begun(self, principal: str, request: EpisodeRequest) -> Episode | None:
        """The episode that a principal began with the request's idempotency key, if there is one.

        Raises:
            ConflictError: the key was used for another request.
        """
        async with self._store.read() as session:
            return await _same(session, principal, request)

    async def get(self, episode: str) -> StoredEpisode:
        """One episode.

        Raises:
            NotFoundError: there is none of that id.
        """
        rows = await self._store.ask(_ONE, {"of": episode})
        if not rows:
            raise NotFoundError(f"There is no episode '{episode}'.")
        row = rows[0]
        known = self._known.get(episode)
        if known is not None and known[0] == row:
            return known[1]
        stored = StoredEpisode(
            episode=episode_of(row),
            tools=await self._tools(row.toolset),
            sampling=Sampling.model_validate(row.sampling),
            chats=row.chats,
            tool_budget=row.tool_budget,
            fallbacks=tuple(map(str, row.fallbacks or ())),
            tool_profile=row.tool_profile,
        )
        self._known[episode] = (row, stored)
        if len(self._known) > _EPISODES_KNOWN:
            self._known.popitem(last=False)
        return stored

    async def list(
        self,
        *,
        statuses: Sequence[EpisodeStatus] = (),
        metadata: Mapping[str, str] | None = None,
        principal: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> tuple[Episode, ...]:
        """Episodes, newest first.

        Args:
            statuses: where they stand; empty means anywhere.
            metadata: labels, all of which they carry.
            principal: on whose behalf they run.
            before: id of the last episode already known; older ones follow.
            limit: the most episodes returned.
        """
        query = select(EpisodeRow).order_by(EpisodeRow.id.desc()).limit(limit)
        if statuses:
            query = query.where(EpisodeRow.status.in_(statuses))
        labels = func.json_each if self._store.is_embedded else func.json_each_text
        for name, value in (metadata or {}).items():
            # Not by a path into the document: a name may hold what would lead elsewhere there.
            label = labels(EpisodeRow.labels).table_valued("key", "value")
            found = select(label.c.key).where(label.c.key == name, label.c.value == value)
            query = query.where(found.exists())
        if principal is not None:
            query = query.where(EpisodeRow.principal == principal)
        if before is not None:
            query = query.where(EpisodeRow.id < before)
        async with self._store.read() as session:
            return tuple(episode_of(row) for row in await session.scalars(query))

    async def end(self, episode: str, result: EpisodeResult) -> tuple[Episode, bool]:
        """End an episode; the first result stands, and the flag says whether it is this one.

        Raises:
            NotFoundError: there is none of that id.
        """
        async with self._store.write() as session:
            row = await _locked(session, episode)
            first = not EpisodeStatus(row.status).ended
            if first:
                row.status, row.ended, row.result = result.status, utc_now(), result.model_dump(mode="json")
                await session.flush()
                await append_event(session, episode, "episode.ended", None, {"result": row.result})
                await append(session, _ended(row, result))
        self._events.announce(episode)
        return (await self.get(episode)).episode, first

    async def forget(self, episode: str) -> None:
        """Undo `begin` for an episode to which nothing has happened yet."""
        async with self._store.write() as session:
            row = await _locked(session, episode)
            for table in (MessageRow, EventRow):
                await session.execute(delete(table).where(table.episode == episode))
            await session.delete(row)
            await append(session, Deed(Action.EPISODE_ENDED, episode, "withdrawn", episode))

    async def stand(self, episode: str, status: EpisodeStatus) -> None:
        """Say that a running episode waits, or that a waiting one runs; an ended one stays as it is."""
        async with self._store.write() as session:
            await session.execute(
                update(EpisodeRow)
                .where(
                    EpisodeRow.id == episode,
                    EpisodeRow.status.in_((EpisodeStatus.RUNNING, EpisodeStatus.WAITING)),
                )
                .values(status=status)
            )

    async def hand_over(self, episode: str) -> None:
        """Note that a workflow was surely started for it."""
        async with self._store.write() as session:
            await session.execute(update(EpisodeRow).where(EpisodeRow.id == episode).values(handed_over=True))

    async def not_handed_over(self) -> tuple[str, ...]:
        """Durable episodes for which it is not sure that a workflow was started, oldest first."""
        async with self._store.read() as session:
            rows = await session.scalars(
                select(EpisodeRow.id)
                .where(
                    EpisodeRow.handed_over.is_(False),
                    EpisodeRow.driver == Driver.TEMPORAL,
                    EpisodeRow.status.in_((EpisodeStatus.RUNNING, EpisodeStatus.WAITING)),
                )
                .order_by(EpisodeRow.id)
            )
            return tuple(rows)

    async def reward(self, episode: str, request: RewardRequest) -> Episode:
        """Append a verdict; the latest stands.

        Raises:
            NotFoundError: there is none of that id.
        """
        async with self._store.write() as session:
            row = await _locked(session, episode)
            row.reward = request.reward
            session.add(
                RewardRow(
                    episode=episode, reward=request.reward, source=request.source, reason=request.reason, at=utc_now()
                )
            )
            details: JsonObject = {"reward": request.reward, "source": request.source, "reason": request.reason}
            await append(session, Deed(Action.EPISODE_REWARDED, episode, episode=episode, details=details))
        return (await self.get(episode)).episode

    async def rewards(self, episode: str) -> tuple[Reward, ...]:
        """The verdicts on an episode, latest last."""
        async with self._store.read() as session:
            rows = await session.scalars(select(RewardRow).where(RewardRow.episode == episode).order_by(RewardRow.id))
            return tuple(Reward(reward=row.reward, source=row.source, reason=row.reason) for row in rows)

    async def next_call(self, episode: str) -> tuple[int, int]:
        """Draw the place of a tool call made with an episode key: the latest chat call, and its number there.

        Raises:
            NotFoundError: there is none of that id.
        """
        return await self._journal.write(CallPlaced(episode))

    async def _tools(self, toolset: str) -> tuple[Tool, ...]:
        """A toolset, read once: thousands of tools take longer to read than a call takes."""
        read = self._read.get(toolset)
        if read is None:
            read = self._read[toolset] = _TOOLS.validate_python(await self._toolsets.get(toolset))
            if len(self._read) > _TOOLSETS_READ:
                self._read.popitem(last=False)
        return read


def _started(new: NewEpisode) -> Deed:
    request = new.request
    details: JsonObject = {
        "principal": new.principal,
        "model": new.model,
        "version": new.version,
        "driver": request.driver,
        "mode": request.mode,
        "tools": list(request.tools),
        **({"fallbacks": list(new.fallbacks)} if new.fallbacks else {}),
    }
    return Deed(Action.EPISODE_STARTED, new.id, episode=new.id, details=details)


def _ended(row: EpisodeRow, result: EpisodeResult) -> Deed:
    cancelled = result.status is EpisodeStatus.CANCELLED
    details: JsonObject = {"principal": row.principal, "cause": result.cause, "steps": result.steps}
    action = Action.EPISODE_CANCELLED if cancelled else Action.EPISODE_ENDED
    return Deed(action, row.id, result.status, row.id, details)


async def _open(session: AsyncSession, new: NewEpisode) -> None:
    now = utc_now()
    session.add_all(
        MessageRow(episode=new.id, position=position, message=as_json(message), created=now)
        for position, message in enumerate(new.opening)
    )
    await append_event(
        session,
        new.id,
        "episode.started",
        None,
        {
            "task": new.request.task,
            "model": new.model,
            "version": new.version,
            "driver": new.request.driver,
            "tools": [tool.name for tool in new.tools],
        },
    )


async def _locked(session: AsyncSession, episode: str) -> EpisodeRow:
    row = await session.get(EpisodeRow, episode, with_for_update=True)
    if row is None:
        raise NotFoundError(f"There is no episode '{episode}'.")
    return row


async def _same(session: AsyncSession, principal: str, request: EpisodeRequest) -> Episode | None:
    key = request.idempotency_key
    if key is None:
        return None
    row = await session.scalar(
        select(EpisodeRow).where(EpisodeRow.principal == principal, EpisodeRow.idempotency_key == key)
    )
    if row is None:
        return None
    if row.request_hash != _hash(request):
        raise ConflictError(
            f"The idempotency key '{key}' was used for another request, by episode '{row.id}'.",
            mend="Use a new key for a new request.",
        )
    return episode_of(row)


def _hash(request: EpisodeRequest) -> str:
    # A field that came later is left out where it says nothing, so that keys used before it came go on being known.
    silent = {name for name in _LATER_SAMPLING if getattr(request.sampling, name) is None}
    left_out: dict[str, Any] = {"sampling": silent} | ({} if request.fallback else {"fallback": True})
    return digest(request.model_dump(mode="json", exclude=left_out))


def _row(new: NewEpisode, toolset: str) -> EpisodeRow:
    request = new.request
    return EpisodeRow(
        id=new.id,
        principal=new.principal,
        task=request.task,
        model=new.model,
        version=new.version,
        tools=list(request.tools),
        toolset=toolset,
        tool_budget=new.tool_budget,
        fallbacks=list(new.fallbacks) or None,
        tool_profile=new.tool_profile,
        limits=request.limits.model_dump(mode="json"),
        sampling=request.sampling.model_dump(mode="json"),
        driver=request.driver,
        mode=request.mode,
        status=EpisodeStatus.RUNNING,
        idempotency_key=request.idempotency_key,
        request_hash=_hash(request),
        labels=dict(request.metadata),
        created=utc_now(),
        handed_over=False,
        chats=0,
        placed=0,
        events=0,
    )
