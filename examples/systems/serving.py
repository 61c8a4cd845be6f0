"""Starts an example system as a process of its own."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import uvicorn
from fastapi import FastAPI

from examples.systems.company import seed_states
from examples.systems.credentials import Credentials
from examples.systems.store import State


class Factory(Protocol):
    """How a system's app is made."""

    def __call__(self, store: Path | str, *, credentials: Credentials, seed: State | None) -> FastAPI:
        """Make the app over its database."""
        ...


def serve(name: str, create_app: Factory, run: Callable[..., None] = uvicorn.run) -> None:
    """Read the command line and serve until told to stop.

    Args:
        name: the system's name, of its database file and its part of the seed.
        create_app: makes the app.
        run: serves it.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m examples.systems.{name}",
        description=f"The example {name}. Credentials come from the environment; see examples/systems/credentials.py.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, required=True, help="port to listen on")
    parser.add_argument("--data", type=Path, required=True, help="folder of its database, made when missing")
    parser.add_argument("--seed", type=int, default=1, help="what an empty database is filled from")
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    app = create_app(
        options.data / f"{name}.sqlite3",
        credentials=Credentials.from_environment(os.environ),
        seed=seed_states(options.seed)[name],
    )
    run(app, host=options.host, port=options.port, access_log=False)
