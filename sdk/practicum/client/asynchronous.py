"""`AsyncPracticum`: the client that does not block; the same nouns and methods as `Practicum`, awaited."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Self, Unpack

from practicum.client.address import address_of
from practicum.client.calls import (
    access,
    approvals,
    audit,
    connectors,
    issuers,
    models,
    tenants,
    tools,
    trajectories,
    undoing,
    webhooks,
)
from practicum.client.calls import episodes as calls
from practicum.client.calls.episodes import EpisodeOptions
from practicum.client.endpoint import AsyncEndpoint, AsyncResource
from practicum.client.outcome import completed, late, result_of
from practicum.client.stream import Following
from practicum.client.transport import AsyncTransport
from practicum.contracts.episodes import Episode, EpisodeEvent, EpisodeResult
from practicum.contracts.trajectory import Trajectory
from practicum.errors import GatewayUnavailableError


class AsyncSecrets(AsyncResource):
    """The credentials that the gateway keeps; none is ever shown."""

    rotate = AsyncEndpoint(access.rotate_secrets)


class AsyncTenants(AsyncResource):
    """Parts of a company that share the installation and see nothing of each other; for the main one's admins."""

    create = AsyncEndpoint(tenants.create)
    list = AsyncEndpoint(tenants.fetch_all)
    admin_key = AsyncEndpoint(tenants.admin_key)
    remove = AsyncEndpoint(tenants.remove)


class AsyncConnectors(AsyncResource):
    """The systems registered with the gateway."""

    add = AsyncEndpoint(connectors.add)
    compare = AsyncEndpoint(connectors.compare)
    declared = AsyncEndpoint(connectors.declared)
    replace = AsyncEndpoint(connectors.replace)
    list = AsyncEndpoint(connectors.fetch_all)
    get = AsyncEndpoint(connectors.get)
    refresh = AsyncEndpoint(connectors.refresh)
    changes = AsyncEndpoint(connectors.changes)
    accept = AsyncEndpoint(connectors.accept)
    remove = AsyncEndpoint(connectors.remove)


class AsyncTools(AsyncResource):
    """What the systems offer to agents."""

    list = AsyncEndpoint(tools.fetch_all)
    search = AsyncEndpoint(tools.search)
    get = AsyncEndpoint(tools.get)
    profiled = AsyncEndpoint(tools.profiled)
    call = AsyncEndpoint(tools.call)
    artifact = AsyncEndpoint(tools.artifact)
    record = AsyncEndpoint(undoing.record)
    undo = AsyncEndpoint(undoing.undo)


class AsyncApprovals(AsyncResource):
    """Questions to people about single calls."""

    list = AsyncEndpoint(approvals.fetch_all)
    get = AsyncEndpoint(approvals.get)
    preview = AsyncEndpoint(approvals.preview)
    approve = AsyncEndpoint(approvals.approve)
    deny = AsyncEndpoint(approvals.deny)


class AsyncModels(AsyncResource):
    """The aliases behind which models answer."""

    register = AsyncEndpoint(models.register)
    compare = AsyncEndpoint(models.compare)
    declared = AsyncEndpoint(models.declared)
    list = AsyncEndpoint(models.fetch_all)
    get = AsyncEndpoint(models.get)
    remove = AsyncEndpoint(models.remove)
    versions = AsyncEndpoint(models.versions)
    outcomes = AsyncEndpoint(models.outcomes)
    add_version = AsyncEndpoint(models.add_version)
    promote = AsyncEndpoint(models.promote)
    rollback = AsyncEndpoint(models.rollback)
    check = AsyncEndpoint(models.check)
    split = AsyncEndpoint(models.split)
    fallbacks = AsyncEndpoint(models.fallbacks)
    promotions = AsyncEndpoint(models.promotions)


class AsyncRules(AsyncResource):
    """The access rules in force."""

    get = AsyncEndpoint(access.get_rules)
    set = AsyncEndpoint(access.set_rules)
    check = AsyncEndpoint(access.check_rules)
    explain = AsyncEndpoint(access.explain)


class AsyncKeys(AsyncResource):
    """The keys to the gateway."""

    create = AsyncEndpoint(access.create_key)
    list = AsyncEndpoint(access.fetch_keys)
    revoke = AsyncEndpoint(access.revoke_key)
    rotate = AsyncEndpoint(access.rotate_key)


class AsyncIssuers(AsyncResource):
    """The identity providers whose tokens are taken."""

    put = AsyncEndpoint(issuers.put)
    list = AsyncEndpoint(issuers.fetch_all)
    get = AsyncEndpoint(issuers.get)
    remove = AsyncEndpoint(issuers.remove)


class AsyncWebhooks(AsyncResource):
    """Who is told of approvals elsewhere, and may answer there."""

    add = AsyncEndpoint(webhooks.add)
    list = AsyncEndpoint(webhooks.fetch_all)
    test = AsyncEndpoint(webhooks.try_out)
    rotate = AsyncEndpoint(webhooks.rotate)
    remove = AsyncEndpoint(webhooks.remove)


class AsyncAudit(AsyncResource):
    """Who did what to what, with which outcome."""

    list = AsyncEndpoint(audit.fetch_all)
    head = AsyncEndpoint(audit.head)
    verify = AsyncEndpoint(audit.verify)
    erase = AsyncEndpoint(audit.erase)

    def export(self, *, after: int = 0) -> AsyncGenerator[bytes]:
        """The log, oldest first, each entry a line of JSON; arguments as for `Audit.export`."""
        return self._transport.lines(audit.export(after))


class AsyncTrajectories(AsyncResource):
    """What the gateway recorded."""

    get = AsyncEndpoint(trajectories.get)
    list = AsyncEndpoint(trajectories.fetch_all)

    async def iterate(self, *, metadata: Mapping[str, str] | None = None, page: int = 50) -> AsyncGenerator[Trajectory]:
        """All trajectories, newest first, fetched page by page; arguments as for `Trajectories.iterate`."""
        after: str | None = None
        while found := await self.list(metadata=metadata, after=after, limit=page):
            for trajectory in found:
                yield trajectory
            after = found[-1].episode
            if len(found) < page:
                return


class AsyncEpisodeHandle:
    """A started episode."""

    def __init__(self, episodes: "AsyncEpisodes", id: str) -> None:  # noqa: A002  # the name on the wire
        self._episodes = episodes
        self.id = id

    def __repr__(self) -> str:
        return f"AsyncEpisodeHandle({self.id!r})"

    async def get(self) -> Episode:
        """How it stands."""
        return await self._episodes.get(self.id)

    def events(self, *, after: int = 0) -> AsyncGenerator[EpisodeEvent]:
        """What happens, as it happens, until it ends; see `Episodes.events`."""
        return self._episodes.events(self.id, after=after)

    async def result(self, timeout: float | None = None) -> EpisodeResult:  # noqa: ASYNC109  # as the blocking one
        """Wait for its end; see `Episodes.result`."""
        return await self._episodes.result(self.id, timeout)

    async def cancel(self) -> Episode:
        """End it before it is done."""
        return await self._episodes.cancel(self.id)


class AsyncEpisodes(AsyncResource):
    """Runs of an agent on a task."""

    list = AsyncEndpoint(calls.fetch_all)
    get = AsyncEndpoint(calls.get)
    cancel = AsyncEndpoint(calls.cancel)
    close = AsyncEndpoint(calls.close)
    take_turn = AsyncEndpoint(calls.take_turn)
    invoke = AsyncEndpoint(calls.invoke)
    states = AsyncEndpoint(calls.states)
    release = AsyncEndpoint(calls.release)
    issue_key = AsyncEndpoint(calls.issue_key)
    reward = AsyncEndpoint(calls.reward)

    def __init__(self, transport: AsyncTransport, patience: float) -> None:
        super().__init__(transport)
        self._patience = patience

    async def start(self, task: str, *, model: str, **options: Unpack[EpisodeOptions]) -> AsyncEpisodeHandle:
        """Begin an episode and return at once; arguments and errors as for `Episodes.start`."""
        episode = await self.send(calls.start(task, model=model, **options))
        return self.handle(episode.id)

    def handle(self, episode: str) -> AsyncEpisodeHandle:
        """A handle to an episode that was started before, here or elsewhere."""
        return AsyncEpisodeHandle(self, episode)

    def events(self, episode: str, *, after: int = 0) -> AsyncGenerator[EpisodeEvent]:
        """What happens in an episode, as it happens, until it ends; as `Episodes.events`."""
        return self._follow(episode, Following(after, self._patience))

    async def _follow(self, episode: str, following: Following) -> AsyncGenerator[EpisodeEvent]:
        while not following.ended:
            try:
                async with aclosing(self._transport.stream(calls.events(episode, following.after))) as stream:
                    async for event in stream:
                        following.alive()
                        if event is not None and following.fresh(event):
                            yield event
                if following.ended or (await self.get(episode)).status.ended:
                    return
            except GatewayUnavailableError as error:
                following.lost(error)
            await asyncio.sleep(following.pause())

    async def result(self, episode: str, timeout: float | None = None) -> EpisodeResult:  # noqa: ASYNC109  # as the blocking one
        """Wait for an episode's end; arguments and errors as for `Episodes.result`."""
        try:
            async with asyncio.timeout(timeout):
                return await self._end_of(episode)
        except TimeoutError:
            raise late(episode, timeout or 0) from None

    async def _end_of(self, episode: str) -> EpisodeResult:
        following = Following(0, self._patience, known=True)
        while True:
            try:
                current = await self.get(episode)
            except GatewayUnavailableError as error:
                following.lost(error)
            else:
                following.alive()
                if current.status.ended:
                    return result_of(current)
                async with aclosing(self._follow(episode, following)) as events:
                    async for _ in events:
                        pass
            await asyncio.sleep(following.pause())


class AsyncPracticum:
    """A client of a gateway that does not block.

    Example:
        async with AsyncPracticum() as client:
            result = await client.run("Refund order 1042 within policy", model="local", tools=["crm.*", "erp.*"])
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 120.0,
        connect_timeout: float = 5.0,
        patience: float = 60.0,
        tenant: str | None = None,
    ) -> None:
        """Prepare a client; arguments and errors as for `Practicum`.

        Args:
            url: as for `Practicum`, like all that is not said here.
            api_key: the key.
            timeout: seconds.
            connect_timeout: seconds.
            patience: seconds.
            tenant: which tenant, where a token of an identity provider opens several; for a worker, whose episodes
                it drives, where they are not its key's own tenant's.
        """
        address = address_of(url, api_key, tenant)
        self.url = address.url
        self._transport = AsyncTransport(address, timeout=timeout, connect_timeout=connect_timeout)
        self.connectors = AsyncConnectors(self._transport)
        self.tools = AsyncTools(self._transport)
        self.episodes = AsyncEpisodes(self._transport, patience)
        self.approvals = AsyncApprovals(self._transport)
        self.trajectories = AsyncTrajectories(self._transport)
        self.models = AsyncModels(self._transport)
        self.rules = AsyncRules(self._transport)
        self.keys = AsyncKeys(self._transport)
        self.issuers = AsyncIssuers(self._transport)
        self.webhooks = AsyncWebhooks(self._transport)
        self.audit = AsyncAudit(self._transport)
        self.secrets = AsyncSecrets(self._transport)
        self.tenants = AsyncTenants(self._transport)

    def __repr__(self) -> str:
        return f"AsyncPracticum({self.url!r})"

    async def run(self, task: str, *, model: str, **options: Unpack[EpisodeOptions]) -> EpisodeResult:
        """Run a durable episode to its end; arguments and errors as for `Practicum.run`."""
        handle = await self.episodes.start(task, model=model, **options)
        return completed(handle.id, await handle.result())

    async def close(self) -> None:
        """Close its connections."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
