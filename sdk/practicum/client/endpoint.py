"""Binds a function that builds a `Call` to a client that sends it: each endpoint is written once and typed twice."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Generic, ParamSpec

from practicum.client.call import Call, T
from practicum.client.transport import AsyncTransport, Transport

P = ParamSpec("P")


class Resource:
    """One noun of the gateway, for a client that waits."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def send(self, call: Call[T]) -> T:
        """The answer to a call of this noun."""
        return self._transport.send(call)


class AsyncResource:
    """One noun of the gateway, for a client that does not block."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def send(self, call: Call[T]) -> T:
        """The answer to a call of this noun."""
        return await self._transport.send(call)


class Endpoint(Generic[P, T]):
    """A method of a `Resource`, with the parameters and documentation of the function that builds its call."""

    def __init__(self, build: Callable[P, Call[T]]) -> None:
        """Take the function that builds the call."""
        self.build = build
        self.__doc__ = build.__doc__

    def __get__(self, resource: Resource, _owner: type[Resource]) -> Callable[P, T]:
        """The method."""

        @wraps(self.build)
        def method(*args: P.args, **kwargs: P.kwargs) -> T:
            return resource.send(self.build(*args, **kwargs))

        return method


class AsyncEndpoint(Generic[P, T]):
    """A method of an `AsyncResource`, as `Endpoint`."""

    def __init__(self, build: Callable[P, Call[T]]) -> None:
        """Take the function that builds the call."""
        self.build = build
        self.__doc__ = build.__doc__

    def __get__(self, resource: AsyncResource, _owner: type[AsyncResource]) -> Callable[P, Coroutine[Any, Any, T]]:
        """The method."""

        @wraps(self.build)
        async def method(*args: P.args, **kwargs: P.kwargs) -> T:
            return await resource.send(self.build(*args, **kwargs))

        return method
