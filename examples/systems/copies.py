"""Private, resettable copies of the three systems, any number of them in one process.

    PUT    /{system}/{copy}/_practice/state   begin a copy with a state, or put one back into it
    POST   /{system}/{copy}/_practice/reset   begin a copy as the system is seeded, or put one back there
    GET    /{system}/{copy}/_practice/state   its state, as it is once all work under way has come to rest
    DELETE /{system}/{copy}/_practice/state   end it
    *      /{system}/{copy}/...               the system itself
    GET    /healthz

Whoever uses a copy chooses its name and must know it: nothing lists the copies. One that was not begun, or has ended,
is answered with 404 and never comes back by itself, so that nobody takes an empty system for the one he worked on.

There is room for so many copies at once. When all of it is taken, the copy that nobody used for longest gives way,
provided that it is idle; otherwise a new one is refused with 429.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from examples.systems.cicd.app import create_app as create_cicd
from examples.systems.company import seed_states
from examples.systems.credentials import Credentials
from examples.systems.crm.app import create_app as create_crm
from examples.systems.erp import tokens
from examples.systems.erp.app import create_app as create_erp
from examples.systems.practice import books_of
from examples.systems.store import State, Store

MOST = 256
"""How many copies there may be at once, over all systems."""
IDLE_SECONDS = 900.0
"""After this long without a request a copy gives way when its place is needed."""

_SYSTEMS = ("crm", "erp", "cicd")
_STATE = "/_practice/state"
_BEGINNINGS = {("PUT", _STATE), ("POST", "/_practice/reset")}
_TOKEN = "/oauth/token"  # noqa: S105  # a path
_TOKEN_SECONDS = 3600.0
_LONGEST_NAME = 100
_PROBLEM = "application/problem+json"


@dataclass(slots=True)
class _Copy:
    """One copy.

    Attributes:
        app: the system.
        used: when it was last asked for anything.
        users: requests under way.
        ended: whether its database is closed once they are done.
    """

    app: FastAPI
    used: float
    users: int = 0
    ended: bool = False

    def end(self) -> None:
        """Close the database, now or when the last request is done."""
        self.ended = True
        if not self.users:
            books_of(self.app).store.close()


@dataclass(frozen=True, slots=True)
class _Place:
    """What a request speaks of: a path below a copy of a system."""

    system: str
    copy: str
    path: str

    @classmethod
    def of(cls, path: str) -> "_Place | None":
        parts = path.split("/", 3)
        if len(parts) < 4 or parts[0] or parts[1] not in _SYSTEMS or not 0 < len(parts[2]) <= _LONGEST_NAME:
            return None
        return cls(parts[1], parts[2], f"/{parts[3]}")

    @property
    def key(self) -> tuple[str, str]:
        return self.system, self.copy


@dataclass(slots=True)
class Copies:
    """The practice server, an ASGI app.

    Attributes:
        credentials: what the copies ask for, all of them the same.
        most: how many copies there may be at once.
        idle_seconds: how long a copy is unused before it may give way.
        seed: what a reset copy begins with.
        clock: seconds since some fixed moment.
    """

    credentials: Credentials
    most: int = MOST
    idle_seconds: float = IDLE_SECONDS
    seed: int = 1
    clock: Callable[[], float] = time.monotonic
    _copies: dict[tuple[str, str], _Copy] = field(default_factory=dict[tuple[str, str], _Copy], init=False)
    _seeds: dict[str, State] = field(init=False)
    _tokens: Store = field(init=False)
    _desk: FastAPI = field(init=False)

    def __post_init__(self) -> None:
        """Open the desk that issues the tokens for every copy of the ERP, also for one that is yet to begin."""
        self._seeds = seed_states(self.seed)
        self._tokens = Store(":memory:", tokens.SCHEMA, ())
        self._desk = self._create("erp")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        place = _Place.of(scope["path"])
        if place is None:
            healthy = scope["path"] == "/healthz"
            await (JSONResponse({"status": "ok"}) if healthy else _missing("Nothing is here."))(scope, receive, send)
            return
        below = {**scope, "root_path": f"{scope.get('root_path', '')}/{place.system}/{place.copy}"}
        copy = self._copies.get(place.key)
        if (place.system, place.path) == ("erp", _TOKEN):
            await self._desk(below, receive, send)
        elif copy is None and (scope["method"], place.path) in _BEGINNINGS:
            await self._begin(place, below, receive, send)
        elif copy is None:
            await _missing(f"There is no copy '{place.copy}' of the {place.system}.")(scope, receive, send)
        elif (scope["method"], place.path) == ("DELETE", _STATE):
            await self._end(place.key, copy, below, receive, send)
        else:
            await self._use(copy, copy.app(below, receive, send))

    def __len__(self) -> int:
        """How many copies there are."""
        return len(self._copies)

    def close(self) -> None:
        """End every copy."""
        for key in tuple(self._copies):
            self._drop(key)
        books_of(self._desk).store.close()
        self._tokens.close()

    async def _begin(self, place: _Place, scope: Scope, receive: Receive, send: Send) -> None:
        """Begin a copy, if its app takes the credential and the state, and there is room."""
        copy = _Copy(self._create(place.system), self.clock())
        said = _Said()
        await self._use(copy, copy.app(scope, receive, said.hear))
        if not said.well:
            copy.end()
            await said.repeat(send)
            return
        self._drop(place.key)  # two may begin it at once: the later one has it
        if self._make_room():
            self._copies[place.key] = copy
            await said.repeat(send)
            return
        copy.end()
        detail = f"All {self.most} copies are in use: end one with DELETE {_STATE}, or start the server with more room."
        await _problem(429, "Too many copies", detail, {"Retry-After": "5"})(scope, receive, send)

    async def _end(self, key: tuple[str, str], copy: _Copy, scope: Scope, receive: Receive, send: Send) -> None:
        """End a copy for whoever may read its state."""
        said = _Said()
        await self._use(copy, copy.app({**scope, "method": "GET"}, receive, said.hear))
        if not said.well:
            await said.repeat(send)
            return
        if self._copies.get(key) is copy:
            self._drop(key)
        await Response(status_code=204)(scope, receive, send)

    async def _use(self, copy: _Copy, answering: Awaitable[None]) -> None:
        copy.users += 1
        copy.used = self.clock()
        try:
            await answering
        finally:
            copy.users -= 1
            if copy.ended:
                copy.end()

    def _drop(self, key: tuple[str, str]) -> None:
        copy = self._copies.pop(key, None)
        if copy is not None:
            copy.end()

    def _make_room(self) -> bool:
        """Whether there is room for one more copy, once the longest unused one has given way where it must and can."""
        if len(self._copies) < self.most:
            return True
        key, oldest = min(self._copies.items(), key=lambda item: (item[1].users, item[1].used))
        if oldest.users or self.clock() - oldest.used < self.idle_seconds:
            return False
        self._drop(key)
        return True

    def _create(self, system: str) -> FastAPI:
        """A system of its own, as it is seeded; its work is done by the next request."""
        seed = self._seeds[system]
        if system == "crm":
            return create_crm(":memory:", credentials=self.credentials, seed=seed)
        if system == "cicd":
            return create_cicd(":memory:", credentials=self.credentials, seed=seed, work_seconds=0)
        return create_erp(
            ":memory:",
            credentials=self.credentials,
            seed=seed,
            token_seconds=_TOKEN_SECONDS,
            token_store=self._tokens,
        )


class _Said:
    """What an app answers, kept until it is decided whether it is said."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    async def hear(self, message: Message) -> None:
        self._messages.append(message)

    async def repeat(self, send: Send) -> None:
        for message in self._messages:
            await send(message)

    @property
    def well(self) -> bool:
        return any(200 <= message.get("status", 0) < 300 for message in self._messages)


def _problem(status: int, title: str, detail: str, headers: dict[str, str] | None = None) -> ASGIApp:
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return JSONResponse(body, status, headers, _PROBLEM)


def _missing(detail: str) -> ASGIApp:
    return _problem(404, "Not found", detail)
