"""Agents of foreign frameworks, each framework in a process and an interpreter of its own; see `benchmarks/agents`."""

import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_PEERS = ROOT / ".venv-peers"
PYTHONS: Mapping[str, Path] = {
    "openai_agents": Path(sys.executable),
    "pydantic_ai": _PEERS / "pydantic_ai" / "bin" / "python",
    "langgraph": _PEERS / "langgraph" / "bin" / "python",
}
"""Where each framework is installed: the first among our own tools, the others by `make peers`."""


class Runner:
    """A process that runs agents of one framework, as many at a time as it is asked for."""

    def __init__(self, framework: str) -> None:
        """Start it.

        Args:
            framework: one of `PYTHONS`.
        """
        program = ROOT / "benchmarks" / "agents" / f"{framework}_runner.py"
        self.framework = framework
        self._process = subprocess.Popen(
            [str(PYTHONS[framework]), str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=program.parent
        )
        self._numbers = itertools.count()
        self._waiting: dict[int, Future[str]] = {}
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def run(self, **wish: Any) -> "Future[str]":
        """The answer of one agent, or a `RuntimeError` with what it ended with; `serving` says what can be wished."""
        if self._process.stdin is None:
            raise RuntimeError("it was started with a pipe")
        number, told = next(self._numbers), Future[str]()
        self._waiting[number] = told
        self._process.stdin.write(json.dumps({"id": number, **wish}).encode() + b"\n")
        self._process.stdin.flush()
        return told

    def close(self) -> None:
        """Let it end what it began, for a while, and end it."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listening.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _listen(self) -> None:
        for line in self._process.stdout or ():
            told = json.loads(line)
            if "id" not in told:
                continue
            waiting = self._waiting.pop(told["id"])
            if "answer" in told:
                waiting.set_result(told["answer"])
            else:
                waiting.set_exception(RuntimeError(told["trace"]))
        for waiting in self._waiting.values():
            waiting.set_exception(RuntimeError(f"The process of {self.framework} ended."))


@contextmanager
def runner(framework: str) -> Generator[Runner]:
    """A framework's process for as long as the block lasts."""
    started = Runner(framework)
    try:
        yield started
    finally:
        started.close()
