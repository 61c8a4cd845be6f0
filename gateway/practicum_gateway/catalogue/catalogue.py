"""The catalogue: which systems are registered and which tools they offer."""

from collections.abc import Sequence

from practicum.contracts.connectors import Connector, ConnectorReport, ConnectorSpec
from practicum.contracts.tools import Tool


class Catalogue:
    """The registered connectors and their tools."""

    async def register(self, spec: ConnectorSpec) -> tuple[ConnectorReport, bool]:
        """Register a system; the flag says whether it is new (False: the same registration was there already)."""
        raise NotImplementedError

    async def connectors(self) -> tuple[Connector, ...]:
        """The registered systems, newest first."""
        raise NotImplementedError

    async def report(self, name: str) -> ConnectorReport:
        """A registration and what became of each operation."""
        raise NotImplementedError

    async def remove(self, name: str) -> None:
        """Forget a system, its document and its credential."""
        raise NotImplementedError

    async def connector(self, name: str) -> Connector:
        """One registered system."""
        raise NotImplementedError

    async def tools(self, patterns: Sequence[str]) -> tuple[Tool, ...]:
        """The tools that any of the glob patterns names, over `connector.operation` or the exposed name; sorted."""
        raise NotImplementedError

    async def tool(self, name: str) -> Tool:
        """The tool of an exposed name, or of `connector.operation`.

        Raises:
            NotFoundError: there is none; the message names the nearest.
        """
        raise NotImplementedError

    async def search(self, query: str, limit: int = 20, patterns: Sequence[str] = ()) -> tuple[Tool, ...]:
        """The tools that fit the words best, best first."""
        raise NotImplementedError
