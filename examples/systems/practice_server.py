"""Serves practice copies of the example systems.

    python -m examples.systems.practice_server --port P [--host H] [--most N] [--idle S] [--seed N]

Each training episode has copies of its own here; `examples.systems.copies` says how they are begun, read and ended.
They know one secret, `PRACTICE_TOKEN` in the environment, which each system is shown in its own way: as the CRM's
`X-API-Key`, as the ERP's client secret (of the client `practicum`), as the CI/CD system's bearer token.
"""

import argparse
import os
from collections.abc import Callable

import uvicorn

from examples.systems.copies import IDLE_SECONDS, MOST, Copies
from examples.systems.credentials import Credentials


def main(run: Callable[..., None] = uvicorn.run) -> None:
    """Read the command line and serve until told to stop.

    Args:
        run: serves the app.
    """
    parser = argparse.ArgumentParser(
        prog="python -m examples.systems.practice_server",
        description="Practice copies of the example systems. Their secret comes from the environment, PRACTICE_TOKEN.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, required=True, help="port to listen on")
    parser.add_argument("--most", type=_count, default=MOST, help="most copies at once, over all systems")
    parser.add_argument("--idle", type=float, default=IDLE_SECONDS, help="seconds unused until a copy may give way")
    parser.add_argument("--seed", type=int, default=1, help="what a reset copy begins with")
    options = parser.parse_args()
    copies = Copies(
        Credentials.of_practice(os.environ), most=options.most, idle_seconds=options.idle, seed=options.seed
    )
    try:
        run(copies, host=options.host, port=options.port, access_log=False, lifespan="off", ws="none")
    finally:
        copies.close()


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


if __name__ == "__main__":
    main()
