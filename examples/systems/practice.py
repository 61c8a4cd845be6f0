"""What every example system offers beside its own API, hidden from its document: health, and practice with its state.

    GET  /healthz              whether it runs, without a credential
    GET  /_practice/effects    every side effect since the last load: {"count": n, "effects": [...]}
    GET  /_practice/state      the whole state, as it is once all work under way has come to rest
    PUT  /_practice/state      replace the state and empty the books
    POST /_practice/reset      back to the seed

The practice paths ask for the system's own credential.
"""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, FastAPI, HTTPException, Request

from examples.systems.store import State, StateError, Store


class Books:
    """A system's state as practice sees it."""

    def __init__(self, store: Store, seed: State | None) -> None:
        """Fill an empty database from the seed.

        Args:
            store: the system's database.
            seed: what it begins with and is reset to; None for an empty system.
        """
        self.store = store
        self._seed = seed or {}
        if store.empty:
            self.reset()

    def at_rest(self) -> State:
        """The state as it will be when nothing is under way any more."""
        return self.store.dump()

    def load(self, state: dict[str, dict[str, dict[str, Any]]]) -> None:
        """Replace the state and empty the books.

        Raises:
            StateError: it does not fit; nothing is changed then.
        """
        self.store.load(state)

    def reset(self) -> None:
        """Go back to the seed."""
        self.load(self._seed)


def add_practice(app: FastAPI, books: Books, guard: Callable[..., object]) -> None:
    """Give a system its practice paths.

    Args:
        app: the system.
        books: its state.
        guard: the dependency that checks the system's own credential.
    """
    app.state.books = books
    app.include_router(_open)
    app.include_router(_guarded, dependencies=[Depends(guard)])


def books_of(app: FastAPI) -> Books:
    """The books of a system."""
    books = app.state.books
    if not isinstance(books, Books):
        raise TypeError("the app was not given its books")
    return books


async def store_of(request: Request) -> Store:
    """The database of the app that answers a request; a dependency of its operations.

    Like all of these dependencies it is a coroutine, so that it runs on the event loop's own thread.
    """
    return books_of(request.app).store


_open = APIRouter(include_in_schema=False)
_guarded = APIRouter(prefix="/_practice", include_in_schema=False)


@_open.get("/healthz")
async def health() -> dict[str, str]:
    """Say that the system runs."""
    return {"status": "ok"}


@_guarded.get("/effects")
async def effects(request: Request) -> dict[str, object]:
    """List the side effects."""
    found = books_of(request.app).store.effects()
    return {"count": len(found), "effects": found}


@_guarded.get("/state")
async def state(request: Request) -> State:
    """Show the whole state."""
    return books_of(request.app).at_rest()


@_guarded.put("/state", status_code=204)
async def load(request: Request, new: Annotated[dict[str, dict[str, dict[str, Any]]], Body()]) -> None:
    """Replace the state."""
    try:
        books_of(request.app).load(new)
    except StateError as error:
        raise HTTPException(422, str(error)) from error


@_guarded.post("/reset", status_code=204)
async def reset(request: Request) -> None:
    """Go back to the seed."""
    books_of(request.app).reset()
