"""The three example systems in this process, seen as an agent sees them behind the gateway.

Tools are compiled from the documents that the systems serve, calls are prepared and answers shaped by the product's own
connectors; only the wire between connector and system is left out.
"""

import time
from typing import Self

from examples.systems.world import World
from practicum.contracts.connectors import (
    ApiKeyAuth,
    Auth,
    BearerAuth,
    ClientCredentialsAuth,
    ConnectorSpec,
    Mode,
)
from practicum.contracts.messages import ToolCall
from practicum.contracts.tasks import States, Task
from practicum.contracts.tools import Observation, Tool
from practicum.errors import CallError
from practicum_connectors.connector import CompiledConnector, Sent, load_source
from practicum_connectors.exchange import Delivery, HttpResponse
from practicum_gateway.episodes.observations import told
from practicum_gateway.episodes.refusals import refusal
from practicum_gateway.invocation.outcomes import mendable
from practicum.contracts.episodes import Limits

SYSTEM = "Do the task by calling tools, then say what you did."
"""The system message that the local model is trained and served with."""


class Practice:
    """Private copies of the systems with their connectors; use `open`, then `async with`.

    Attributes:
        tools: all tools of the three systems, in the order in which the gateway offers them.
    """

    def __init__(self, world: World, connectors: tuple[CompiledConnector, ...]) -> None:
        """Take the systems and the connectors made from their documents."""
        self._world = world
        self._owners = {name: connector for connector in connectors for name in connector.tools}
        tools = (tool for connector in connectors for tool in connector.tools.values())
        self.tools: tuple[Tool, ...] = tuple(sorted(tools, key=lambda tool: tool.name))

    @classmethod
    async def open(cls) -> Self:
        """Make the systems and register them."""
        world = World()
        specs = [
            ConnectorSpec(
                name=name,
                document=document,
                base_url=str(world.clients[name].base_url),
                auth=_auth(name, world),
                mode=Mode.PRACTICE,
            )
            for name, document in world.documents.items()
        ]
        return cls(world, tuple([CompiledConnector.compile(spec, await load_source(spec)) for spec in specs]))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for connector in set(self._owners.values()):
            await connector.aclose()
        await self._world.aclose()

    async def load(self, task: Task) -> None:
        """Put the systems into a task's start state."""
        await self._world.load(task.start)

    async def state(self) -> States:
        """The systems' states."""
        return await self._world.state()

    async def call(self, call: ToolCall, place: int = 0, limits: Limits = Limits()) -> tuple[Observation, str]:
        """Make a call.

        Args:
            call: the model's wish.
            place: its index within the turn.
            limits: the episode's limits.

        Returns:
            What came of it, and what the model reads.
        """
        observation = refusal(call, place, self.tools, limits) or await self._made(call)
        return observation, told(observation)

    async def _made(self, call: ToolCall) -> Observation:
        connector = self._owners[call.name]
        try:
            prepared = connector.prepare(call.name, call.arguments)
        except CallError as error:
            return mendable(error)
        began, request = time.perf_counter(), prepared.request
        answer = await self._world.clients[connector.name].request(
            request.method, request.url, headers=list(request.headers), content=request.body
        )
        headers = tuple((name.lower(), value) for name, value in answer.headers.items())
        response = HttpResponse(answer.status_code, headers, answer.content)
        seconds = time.perf_counter() - began
        return connector.observe(Sent(prepared, Delivery.ANSWERED, response, None, None, seconds))


def _auth(name: str, world: World) -> Auth:
    credentials = world.credentials
    auths: dict[str, Auth] = {
        "crm": ApiKeyAuth(value=credentials.crm_api_key),
        "erp": ClientCredentialsAuth(client_id=credentials.erp_client_id, client_secret=credentials.erp_client_secret),
        "cicd": BearerAuth(token=credentials.cicd_token),
    }
    return auths[name]
