"""`python -m practicum_workflows`: the worker as a process."""

import argparse
import asyncio
import logging
import os
import signal
import sys
from typing import NoReturn

from practicum.errors import PracticumError
from practicum_workflows.settings import WorkerSettings
from practicum_workflows.worker import serve

_HELP = """\
environment:
  PRACTICUM_URL                 the gateway
  PRACTICUM_API_KEY             a key of role worker
  PRACTICUM_TEMPORAL_ADDRESS    host:port of Temporal (127.0.0.1:7233)
  PRACTICUM_TEMPORAL_NAMESPACE  its namespace (default)
  PRACTICUM_TASK_QUEUE          the queue to poll (practicum)
  PRACTICUM_MODEL_ATTEMPTS      attempts before a failing model ends an episode (8)
  PRACTICUM_OTLP_ENDPOINT       a collector to which spans are sent (none)
"""


async def _run() -> None:
    stop = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    await serve(WorkerSettings.read(os.environ), stop, _say)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Work until a signal; the exit code is 0 then, 1 for whatever kept the worker from it."""
    parser = argparse.ArgumentParser(
        prog="python -m practicum_workflows",
        description="Drives durable episodes: takes them from Temporal, does them through the gateway.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it says every request
    try:
        asyncio.run(_run())
    except PracticumError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def leave(code: int) -> NoReturn:
    """End the process without Python's finalisation, in which temporalio's threads now and then crash it."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    leave(main())
