"""`Practicum`: the client that waits for its answers."""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
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
from practicum.client.endpoint import Endpoint, Resource
from practicum.client.outcome import completed, late, result_of
from practicum.client.stream import Following
from practicum.client.transport import Transport
from practicum.contracts.episodes import Episode, EpisodeEvent, EpisodeResult
from practicum.contracts.trajectory import Trajectory
from practicum.errors import GatewayUnavailableError


class Secrets(Resource):
    """The credentials that the gateway keeps; none is ever shown."""

    rotate = Endpoint(access.rotate_secrets)


class Tenants(Resource):
    """Parts of a company that share the installation and see nothing of each other; for the main one's admins."""

    create = Endpoint(tenants.create)
    list = Endpoint(tenants.fetch_all)
    admin_key = Endpoint(tenants.admin_key)
    remove = Endpoint(tenants.remove)


class Connectors(Resource):
    """The systems registered with the gateway."""

    add = Endpoint(connectors.add)
    compare = Endpoint(connectors.compare)
    declared = Endpoint(connectors.declared)
    replace = Endpoint(connectors.replace)
    list = Endpoint(connectors.fetch_all)
    get = Endpoint(connectors.get)
    refresh = Endpoint(connectors.refresh)
    changes = Endpoint(connectors.changes)
    accept = Endpoint(connectors.accept)
    remove = Endpoint(connectors.remove)


class Tools(Resource):
    """What the systems offer to agents."""

    list = Endpoint(tools.fetch_all)
    search = Endpoint(tools.search)
    get = Endpoint(tools.get)
    profiled = Endpoint(tools.profiled)
    call = Endpoint(tools.call)
    artifact = Endpoint(tools.artifact)
    record = Endpoint(undoing.record)
    undo = Endpoint(undoing.undo)


class Approvals(Resource):
    """Questions to people about single calls."""

    list = Endpoint(approvals.fetch_all)
    get = Endpoint(approvals.get)
    preview = Endpoint(approvals.preview)
    approve = Endpoint(approvals.approve)
    deny = Endpoint(approvals.deny)


class Models(Resource):
    """The aliases behind which models answer."""

    register = Endpoint(models.register)
    compare = Endpoint(models.compare)
    declared = Endpoint(models.declared)
    list = Endpoint(models.fetch_all)
    get = Endpoint(models.get)
    remove = Endpoint(models.remove)
    versions = Endpoint(models.versions)
    outcomes = Endpoint(models.outcomes)
    add_version = Endpoint(models.add_version)
    promote = Endpoint(models.promote)
    rollback = Endpoint(models.rollback)
    check = Endpoint(models.check)
    split = Endpoint(models.split)
    fallbacks = Endpoint(models.fallbacks)
    promotions = Endpoint(models.promotions)


class Rules(Resource):
    """The access rules in force."""

    get = Endpoint(access.get_rules)
    set = Endpoint(access.set_rules)
    check = Endpoint(access.check_rules)
    explain = Endpoint(access.explain)


class Keys(Resource):
    """The keys to the gateway."""

    create = Endpoint(access.create_key)
    list = Endpoint(access.fetch_keys)
    revoke = Endpoint(access.revoke_key)
    rotate = Endpoint(access.rotate_key)


class Issuers(Resource):
    """The identity providers whose tokens are taken."""

    put = Endpoint(issuers.put)
    list = Endpoint(issuers.fetch_all)
    get = Endpoint(issuers.get)
    remove = Endpoint(issuers.remove)


class Webhooks(Resource):
    """Who is told of approvals elsewhere, and may answer there."""

    add = Endpoint(webhooks.add)
    list = Endpoint(webhooks.fetch_all)
    test = Endpoint(webhooks.try_out)
    rotate = Endpoint(webhooks.rotate)
    remove = Endpoint(webhooks.remove)


class Audit(Resource):
    """Who did what to what, with which outcome."""

    list = Endpoint(audit.fetch_all)
    head = Endpoint(audit.head)
    verify = Endpoint(audit.verify)
    erase = Endpoint(audit.erase)

    def export(self, *, after: int = 0) -> Iterator[bytes]:
        """The log, oldest first, each entry a line of JSON; `practicum.audit.check_lines` checks them.

        Args:
            after: number of the last entry that is known already.
        """
        return self._transport.lines(audit.export(after))


class Trajectories(Resource):
    """What the gateway recorded."""

    get = Endpoint(trajectories.get)
    list = Endpoint(trajectories.fetch_all)

    def iterate(self, *, metadata: Mapping[str, str] | None = None, page: int = 50) -> Iterator[Trajectory]:
        """All trajectories, newest first, fetched page by page.

        Args:
            metadata: only those with all these labels.
            page: how many to fetch at a time.
        """
        after: str | None = None
        while found := self.list(metadata=metadata, after=after, limit=page):
            yield from found
            after = found[-1].episode
            if len(found) < page:
                return


class EpisodeHandle:
    """A started episode."""

    def __init__(self, episodes: "Episodes", id: str) -> None:  # noqa: A002  # the name on the wire
        self._episodes = episodes
        self.id = id

    def __repr__(self) -> str:
        return f"EpisodeHandle({self.id!r})"

    def get(self) -> Episode:
        """How it stands."""
        return self._episodes.get(self.id)

    def events(self, *, after: int = 0) -> Iterator[EpisodeEvent]:
        """What happens, as it happens, until it ends; see `Episodes.events`."""
        return self._episodes.events(self.id, after=after)

    def result(self, timeout: float | None = None) -> EpisodeResult:
        """Wait for its end; see `Episodes.result`."""
        return self._episodes.result(self.id, timeout)

    def cancel(self) -> Episode:
        """End it before it is done."""
        return self._episodes.cancel(self.id)


class Episodes(Resource):
    """Runs of an agent on a task."""

    list = Endpoint(calls.fetch_all)
    get = Endpoint(calls.get)
    cancel = Endpoint(calls.cancel)
    close = Endpoint(calls.close)
    take_turn = Endpoint(calls.take_turn)
    invoke = Endpoint(calls.invoke)
    states = Endpoint(calls.states)
    release = Endpoint(calls.release)
    issue_key = Endpoint(calls.issue_key)
    reward = Endpoint(calls.reward)

    def __init__(self, transport: Transport, patience: float) -> None:
        super().__init__(transport)
        self._patience = patience

    def start(self, task: str, *, model: str, **options: Unpack[EpisodeOptions]) -> EpisodeHandle:
        """Begin an episode and return at once.

        Args:
            task: what to do, in words.
            model: alias of the model.
            options: tools, limits, sampling, driver, mode, idempotency key and metadata.

        Raises:
            RequestError: an option does not fit, or the gateway knows no such model.
            InDoubtError: the gateway's answer was lost; the error says how to find the episode.
        """
        return self.handle(self.send(calls.start(task, model=model, **options)).id)

    def handle(self, episode: str) -> EpisodeHandle:
        """A handle to an episode that was started before, here or elsewhere."""
        return EpisodeHandle(self, episode)

    def events(self, episode: str, *, after: int = 0) -> Iterator[EpisodeEvent]:
        """What happens in an episode, as it happens, until it ends.

        A lost connection is taken up again where it broke off, so that each event comes once.

        Args:
            episode: the episode's id.
            after: sequence of the last event already seen.

        Raises:
            NotFoundError: there is no such episode.
            GatewayUnavailableError: the gateway is not there, or stayed away for the client's patience.
        """
        return self._follow(episode, Following(after, self._patience), None)

    def result(self, episode: str, timeout: float | None = None) -> EpisodeResult:
        """Wait for an episode's end, also while the gateway is away for less than the client's patience.

        Args:
            episode: the episode's id.
            timeout: seconds to wait; for ever when absent, since people may have to approve.

        Raises:
            TimeoutError: it has not ended within `timeout`.
            EpisodeError: it ended and nothing says how.
            NotFoundError: there is no such episode.
            GatewayUnavailableError: the gateway stayed away for the client's patience.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        following = Following(0, self._patience, known=True)
        while True:
            try:
                current = self.get(episode)
            except GatewayUnavailableError as error:
                following.lost(error)
            else:
                following.alive()
                if current.status.ended:
                    return result_of(current)
                for _ in self._follow(episode, following, deadline):
                    pass
            if _past(deadline):
                raise late(episode, timeout or 0)
            time.sleep(following.pause())

    def _follow(self, episode: str, following: Following, deadline: float | None) -> Iterator[EpisodeEvent]:
        while not following.ended:
            try:
                stream = self._transport.stream(calls.events(episode, following.after), deadline=deadline)
                with closing(stream):
                    for event in stream:
                        following.alive()
                        if event is not None and following.fresh(event):
                            yield event
                        if _past(deadline):
                            return
                if following.ended or self.get(episode).status.ended:
                    return
            except GatewayUnavailableError as error:
                following.lost(error)
            if _past(deadline):
                return
            time.sleep(following.pause())


def _past(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline


class Practicum:
    """A client of a gateway.

    Example:
        client = Practicum()
        result = client.run("Refund order 1042 within policy", model="local", tools=["crm.*", "erp.*"])
        print(result.answer)
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
        """Prepare a client; nothing is sent yet.

        Args:
            url: the gateway's URL; `PRACTICUM_URL` when absent.
            api_key: the key to it; `PRACTICUM_API_KEY` when absent.
            timeout: seconds that one answer may take.
            connect_timeout: seconds that a connection may take.
            patience: seconds that a stream of events waits for a lost gateway to come back.
            tenant: which tenant, where a token of an identity provider opens several.

        Raises:
            ConfigurationError: the URL or key is missing or cannot be used.
        """
        address = address_of(url, api_key, tenant)
        self.url = address.url
        self._transport = Transport(address, timeout=timeout, connect_timeout=connect_timeout)
        self.connectors = Connectors(self._transport)
        self.tools = Tools(self._transport)
        self.episodes = Episodes(self._transport, patience)
        self.approvals = Approvals(self._transport)
        self.trajectories = Trajectories(self._transport)
        self.models = Models(self._transport)
        self.rules = Rules(self._transport)
        self.keys = Keys(self._transport)
        self.issuers = Issuers(self._transport)
        self.webhooks = Webhooks(self._transport)
        self.audit = Audit(self._transport)
        self.secrets = Secrets(self._transport)
        self.tenants = Tenants(self._transport)

    def __repr__(self) -> str:
        return f"Practicum({self.url!r})"

    def run(self, task: str, *, model: str, **options: Unpack[EpisodeOptions]) -> EpisodeResult:
        """Run a durable episode to its end and return the result of a completed one.

        Args:
            task: what to do, in words.
            model: alias of the model.
            options: as for `episodes.start`.

        Raises:
            EpisodeError: the episode ended without the agent's final answer.
        """
        handle = self.episodes.start(task, model=model, **options)
        return completed(handle.id, handle.result())

    def close(self) -> None:
        """Close its connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
