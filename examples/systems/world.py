"""A private copy of the three systems in this process: the same applications over databases in memory.

    async with World() as world:
        await world.load(task.start)
        answer = await world.call("erp_get_order", {"order_id": 1042})
        after = await world.state()

Time in a world stands still until a request moves it on by a second, so that a run is the same every time.
"""

import itertools
from collections.abc import Generator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from http import HTTPStatus
from typing import Self

import httpx
from fastapi import FastAPI

from examples.systems.cicd.app import create_app as create_cicd
from examples.systems.credentials import Credentials
from examples.systems.crm.app import create_app as create_crm
from examples.systems.erp.app import create_app as create_erp
from examples.systems.operations import Operation, operations_of
from practicum.contracts.base import JsonObject
from practicum.contracts.tasks import States
from practicum.errors import NotFoundError
from practicum.tasks import states_of

SYSTEMS = ("crm", "erp", "cicd")


@dataclass(frozen=True)
class Answer:
    """What a system answered to a call."""

    status: int
    text: str

    @property
    def ok(self) -> bool:
        """Whether it did what was asked."""
        return self.status < HTTPStatus.BAD_REQUEST


class World:
    """The three systems, empty until a state is loaded; load another to start afresh.

    Attributes:
        apps: the applications by system.
        clients: clients that carry each system's credential, for requests beside the tools.
        documents: the OpenAPI documents by system.
    """

    def __init__(self) -> None:
        """Make the applications; `async with` or `aclose` ends them."""
        credentials, clock = Credentials.fresh(), itertools.count(1).__next__
        self.credentials = credentials
        self.apps: dict[str, FastAPI] = {
            "crm": create_crm(":memory:", credentials=credentials),
            "erp": create_erp(":memory:", credentials=credentials, clock=clock),
            "cicd": create_cicd(":memory:", credentials=credentials, work_seconds=0, clock=clock),
        }
        self.documents: dict[str, JsonObject] = {name: app.openapi() for name, app in self.apps.items()}
        self.clients = {
            "crm": self._client("crm", headers={"X-API-Key": credentials.crm_api_key}),
            "erp": self._client("erp", auth=_ClientCredentials(credentials)),
            "cicd": self._client("cicd", headers={"Authorization": f"Bearer {credentials.cicd_token}"}),
        }
        self._operations: dict[str, Operation] = {}
        for name, app in self.apps.items():
            self._operations.update(operations_of(name, app))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the clients and forget the databases."""
        async with AsyncExitStack() as stack:
            for name, client in self.clients.items():
                stack.callback(self.apps[name].state.books.store.close)
                stack.push_async_callback(client.aclose)

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of all tools, `system_operation`."""
        return tuple(self._operations)

    async def load(self, start: States) -> None:
        """Put the systems into a start state; one that is not named becomes empty.

        Raises:
            httpx.HTTPStatusError: a system does not take it.
        """
        for name in SYSTEMS:
            answer = await self.clients[name].put("/_practice/state", json=start.get(name, {}))
            answer.raise_for_status()

    async def state(self) -> States:
        """The systems' states as they are once all work under way has come to rest."""
        answers = {name: await self.clients[name].get("/_practice/state") for name in SYSTEMS}
        return states_of({name: answer.raise_for_status().json() for name, answer in answers.items()})

    async def effects(self) -> dict[str, int]:
        """How many side effects each system has counted since the last load."""
        counted = {name: await self.clients[name].get("/_practice/effects") for name in SYSTEMS}
        return {name: answer.raise_for_status().json()["count"] for name, answer in counted.items()}

    async def call(self, tool: str, arguments: JsonObject) -> Answer:
        """Call a tool by name.

        Args:
            tool: `system_operation`.
            arguments: its arguments by name, whether they travel in the path, the query or the body.

        Returns:
            What the system answered, refusals included.

        Raises:
            NotFoundError: there is no such tool.
            KeyError: an argument of the path is missing.
        """
        operation = self._operations.get(tool)
        if operation is None:
            raise NotFoundError(f"There is no tool {tool}.", mend=f"Tools are: {', '.join(self._operations)}")
        client = self.clients[operation.system]
        response = await client.send(operation.request(client, arguments))
        return Answer(response.status_code, response.text)

    def _client(
        self, name: str, *, headers: dict[str, str] | None = None, auth: httpx.Auth | None = None
    ) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.apps[name])
        return httpx.AsyncClient(transport=transport, base_url=f"http://{name}.practice", headers=headers, auth=auth)


class _ClientCredentials(httpx.Auth):
    """Fetches a token when there is none, and a new one when it is refused."""

    requires_response_body = True

    def __init__(self, credentials: Credentials) -> None:
        self._form = {
            "grant_type": "client_credentials",
            "client_id": credentials.erp_client_id,
            "client_secret": credentials.erp_client_secret,
        }
        self._token: str | None = None

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        """Send the request with a token that is good."""
        for fetched in (False, True):
            if fetched or self._token is None:
                issued = yield httpx.Request("POST", request.url.join("/oauth/token"), data=self._form)
                self._token = issued.raise_for_status().json()["access_token"]
            request.headers["Authorization"] = f"Bearer {self._token}"
            response = yield request
            if response.status_code != HTTPStatus.UNAUTHORIZED:
                return
