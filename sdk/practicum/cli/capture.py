"""`practicum capture`: run somebody else's agent so that the gateway records it as an episode."""

import os
import signal
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import typer

from practicum.cli.connection import connect
from practicum.cli.inputs import labels_of
from practicum.cli.output import remark
from practicum.cli.run import only_model
from practicum.client import EpisodeHandle, Practicum
from practicum.client.address import KEY_VARIABLE, TENANT_VARIABLE, URL_VARIABLE
from practicum.contracts.episodes import Cause, Driver, EpisodeMode, EpisodeResult, EpisodeStatus
from practicum.errors import PracticumError

EPILOG = """\
**What the program is given:** `OPENAI_BASE_URL` and `OPENAI_API_KEY` for its model, `PRACTICUM_MCP_URL` for its tools,
`PRACTICUM_URL` and `PRACTICUM_API_KEY` for the SDK, `PRACTICUM_MODEL`, `PRACTICUM_EPISODE` and `PRACTICUM_TASK`. The
key is the episode's own and ends with it; yours is taken out of the program's environment.

**How it ends:** the program's exit status is this command's. With 0 the episode is completed; with any other, or killed
by a signal, it failed for a reason outside the agent; interrupted, it is cancelled. Whether the agent did well is told
by `practicum episodes reward`.

**Example:** `practicum capture "Refund order 1042" --tools 'crm.*' -- python their_agent.py`
"""

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NOT_FOUND, _NOT_ALLOWED = 127, 126
"""What a shell ends with when a program is not there, or may not be run."""


def capture(
    task: Annotated[str, typer.Argument(help="What the agent is to do, in words: the task that the record names.")],
    command: Annotated[
        list[str], typer.Argument(metavar="-- PROGRAM [ARGUMENT...]", help="The agent's program, behind `--`.")
    ],
    tools: Annotated[
        list[str] | None, typer.Option(help="Tools it may use: a pattern over `system.operation`; repeatable.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Alias of the model; needed if there are several.")] = None,
    training: Annotated[
        bool, typer.Option("--training", help="For training: only practice systems may be touched.")
    ] = False,
    metadata: Annotated[list[str] | None, typer.Option(help="A label name=value, kept with it; repeatable.")] = None,
) -> None:
    """Run an agent of any framework and record what it does as an episode; it needs nothing of ours but the variables.

    The episode's id is printed on stderr, the program has the terminal otherwise.
    """
    with connect() as client:
        alias = model or only_model(client)
        handle = client.episodes.start(
            task,
            model=alias,
            tools=tools or (),
            driver=Driver.CLIENT,
            mode=EpisodeMode.TRAINING if training else EpisodeMode.LIVE,
            metadata=labels_of(metadata or ()),
        )
        remark(f"episode {handle.id}")
        raise typer.Exit(_captured(client, handle, command, task, alias))


def variables_of(url: str, key: str, episode: str, task: str, model: str) -> dict[str, str]:
    """What tells an agent where its model and its tools are.

    Args:
        url: the gateway's.
        key: the episode's key.
        episode: its id.
        task: what it is to do.
        model: alias of its model.
    """
    return {
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": key,
        "PRACTICUM_MCP_URL": f"{url}/mcp",
        URL_VARIABLE: url,
        KEY_VARIABLE: key,
        "PRACTICUM_MODEL": model,
        "PRACTICUM_EPISODE": episode,
        "PRACTICUM_TASK": task,
    }


def _captured(client: Practicum, handle: EpisodeHandle, command: Sequence[str], task: str, model: str) -> int:
    """Run the program within the episode, end the episode as the program ended, and return its exit status."""
    try:
        key = client.episodes.issue_key(handle.id).key
        environment = os.environ | variables_of(client.url, key, handle.id, task, model)
        environment.pop(TENANT_VARIABLE, None)  # the episode's key says whose it is
        status, interrupted = _run(command, environment)
    except BaseException:
        _end(client, handle, None, interrupted=False)
        raise
    _end(client, handle, status, interrupted=interrupted)
    return status


def _run(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, bool]:
    """The program's exit status as a shell would give it, and whether somebody interrupted it."""
    with _passed_on() as (running, caught):
        try:
            child = subprocess.Popen(list(command), env=dict(environment))  # noqa: S603 -- what the user asked to run
        except FileNotFoundError:
            remark(f"{command[0]} is no program that can be found.")
            return _NOT_FOUND, False
        except OSError as error:
            remark(f"{command[0]} cannot be run: {error.strerror}.")
            return _NOT_ALLOWED, False
        running.append(child)
        if caught:  # before there was anything to pass it on to
            child.terminate()
        code = child.wait()
    return (code if code >= 0 else 128 - code), bool(caught)


@contextmanager
def _passed_on() -> Generator[tuple[list["subprocess.Popen[bytes]"], list[int]]]:
    """Outlive what asks us to end, pass it on to the program, and tell what it was.

    The terminal's Ctrl-C reaches the program by itself.
    """
    running: list[subprocess.Popen[bytes]] = []
    caught: list[int] = []

    def take(number: int, _frame: FrameType | None) -> None:
        caught.append(number)
        if number != signal.SIGINT:
            for child in running:
                child.send_signal(number)

    former = {number: signal.signal(number, take) for number in _ENDING}
    try:
        yield running, caught
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _end(client: Practicum, handle: EpisodeHandle, status: int | None, *, interrupted: bool) -> None:
    """End the episode; that it could not be ended is told, and changes nothing of the program's own status."""
    try:
        if status is None or interrupted:
            handle.cancel()
        else:
            client.episodes.close(handle.id, _result(status))
    except PracticumError as error:
        remark(f"Episode {handle.id} could not be ended: {error.detail}\n  -> practicum episodes cancel {handle.id}")


def _result(status: int) -> EpisodeResult:
    if status == 0:
        return EpisodeResult(status=EpisodeStatus.COMPLETED, cause=Cause.POLICY)
    reason = f"The agent's program ended with status {status}."
    return EpisodeResult(status=EpisodeStatus.FAILED, cause=Cause.INFRASTRUCTURE, reason=reason)
