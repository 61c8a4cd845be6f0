"""A private copy of the three systems in this process: the same applications over databases in memory.

    async with World() as world:
        await world.load(task.start)
        seen = await world.call("erp_get_order", {"order_id": 1042})
        after = await world.state()

A call goes through the product's own connectors, up to the exchange itself, which stays in this process: the same
tools, the same check of arguments, the same words for the model as behind the gateway. Time in a world stands still
until a request moves it on by a second, so that a run is the same every time. It is a `practicum.tasks.Practice`.
"""

import itertools
from collections.abc import Generator
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import Self

import httpx
from fastapi import FastAPI

from examples.systems.cicd.app import create_app as create_cicd
from examples.systems.credentials import Credentials
from examples.systems.crm.app import create_app as create_crm
from examples.systems.erp.app import create_app as create_erp
from examples.systems.practice import books_of
from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ConnectorSpec, Mode
from practicum.contracts.tasks import States
from practicum.contracts.tools import CallStatus, Observation, Tool
from practicum.errors import CallError, NotFoundError
from practicum.tasks import states_of
from practicum_connectors.calls import PreparedCall, Sent
from practicum_connectors.connector import CompiledConnector
from practicum_connectors.document import load_document
from practicum_connectors.exchange import Delivery, HttpResponse

SYSTEMS = ("crm", "erp", "cicd")


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
        self._books = {name: books_of(app) for name, app in self.apps.items()}
        self.documents: dict[str, JsonObject] = {name: app.openapi() for name, app in self.apps.items()}
        self.clients = {
            "crm": self._client("crm", headers={"X-API-Key": credentials.crm_api_key}),
            "erp": self._client("erp", auth=_ClientCredentials(credentials)),
            "cicd": self._client("cicd", headers={"Authorization": f"Bearer {credentials.cicd_token}"}),
        }
        self._connectors = {name: _connector(name, document) for name, document in self.documents.items()}
        self._owners = {tool: connector for connector in self._connectors.values() for tool in connector.tools}
        self._observed: dict[str, Observation] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the clients and forget the databases."""
        async with AsyncExitStack() as stack:
            for name, client in self.clients.items():
                stack.callback(self._books[name].store.close)
                stack.push_async_callback(client.aclose)
                stack.push_async_callback(self._connectors[name].aclose)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools, as the gateway offers them to a model: sorted by name."""
        tools = (tool for connector in self._connectors.values() for tool in connector.tools.values())
        return tuple(sorted(tools, key=lambda tool: tool.name))

    async def load(self, start: States) -> None:
        """Put the systems into a start state; one that is not named becomes empty. All counts begin anew.

        Raises:
            StateError: a system does not take it; load another before going on.
        """
        self._observed.clear()
        for name, books in self._books.items():
            books.load(start.get(name, {}))

    async def state(self) -> States:
        """The systems' states as they are once all work under way has come to rest."""
        return states_of({name: books.at_rest() for name, books in self._books.items()})

    async def effects(self) -> dict[str, int]:
        """How many side effects each system has counted since the last load."""
        return {name: len(books.store.effects()) for name, books in self._books.items()}

    async def call(self, tool: str, arguments: JsonObject, key: str | None = None) -> Observation:
        """Call a tool by name.

        Args:
            tool: its exposed name, `system_operation`.
            arguments: its arguments.
            key: a repeated key returns what was observed the first time since the last load; None never repeats.

        Returns:
            What a model is told: the system's answer, its refusal, or that the arguments do not fit.

        Raises:
            NotFoundError: there is no such tool.
        """
        connector = self._owners.get(tool)
        if connector is None:
            raise NotFoundError(f"There is no tool {tool}.", mend=f"Tools are: {', '.join(self._owners)}")
        if key is not None and key in self._observed:
            return self._observed[key]
        try:
            observation = connector.observe(await self._send(connector.prepare(tool, arguments)))
        except CallError as error:
            observation = Observation(status=CallStatus.ERROR, content=str(error))
        if key is not None:
            self._observed[key] = observation
        return observation

    async def _send(self, prepared: PreparedCall) -> Sent:
        request = prepared.request
        client = self.clients[prepared.tool.connector]
        answer = await client.request(
            request.method, request.url, headers=list(request.headers), content=request.body or b""
        )
        headers = tuple((name.lower(), value) for name, value in answer.headers.multi_items())
        response = HttpResponse(answer.status_code, headers, answer.content)
        return Sent(prepared, Delivery.ANSWERED, response, reason=None, mend=None, seconds=0.0)

    def _client(
        self, name: str, *, headers: dict[str, str] | None = None, auth: httpx.Auth | None = None
    ) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.apps[name])
        return httpx.AsyncClient(transport=transport, base_url=_base_url(name), headers=headers, auth=auth)


def _connector(name: str, document: JsonObject) -> CompiledConnector:
    """A connector that makes and reads messages; the credential is the sending client's matter."""
    spec = ConnectorSpec(name=name, document=document, base_url=_base_url(name), mode=Mode.PRACTICE)
    return CompiledConnector.compile(spec, load_document(document))


def _base_url(name: str) -> str:
    return f"http://{name}.practice"


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
