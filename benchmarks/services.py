"""Services on loopback, each a process of its own: started, waited for, measured and ended."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

from benchmarks.load import Plan, Seen

ROOT = Path(__file__).resolve().parents[1]
_TICKS = os.sysconf("SC_CLK_TCK")
_START_SECONDS = 180.0


@dataclass(frozen=True)
class Service:
    """A process that answers.

    Attributes:
        process: the process.
        port: where on loopback.
        ready_seconds: from its start to its first answer.
    """

    process: subprocess.Popen[bytes]
    port: int
    ready_seconds: float

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def cpu_seconds(self) -> float:
        """What it has computed so far, with the processes it started."""
        return sum(_ticks(pid) for pid in _family(self.process.pid)) / _TICKS

    def megabytes(self) -> float:
        """The most memory it held."""
        return sum(_most_held(pid) for pid in _family(self.process.pid))

    def ask(self, method: str, path: str, body: object = None, headers: Mapping[str, str] = {}) -> tuple[Any, Any]:
        """One answer as it came, and its headers.

        Raises:
            RuntimeError: it was refused.
        """
        data = None if body is None else json.dumps(body).encode()
        given = {"Content-Type": "application/json", **headers}
        try:
            asked = HttpRequest(self.url + path, data, given, method=method)  # noqa: S310  # loopback
            with urlopen(asked, timeout=60) as answer:  # noqa: S310  # loopback
                return answer.read().decode(), answer.headers
        except HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.code} {error.read().decode()[:2000]}") from error


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def running(
    command: Sequence[str], port: int, healthy: str, environment: Mapping[str, str] = {}, folder: str | None = None
) -> Generator[Service]:
    """A service for as long as the block lasts.

    Args:
        command: how it is started.
        port: where it will listen.
        healthy: a path that answers once it is ready.
        environment: more variables.
        folder: where it runs.
    """
    with tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=said, stderr=said, env={**os.environ, **environment}, cwd=folder or ROOT
        )
        try:
            while not _answers(port, healthy):
                if process.poll() is not None or time.perf_counter() - began > _START_SECONDS:
                    said.seek(0)
                    raise RuntimeError(f"{command[0]} did not start:\n{said.read().decode()[-3000:]}")
                time.sleep(0.01)
            yield Service(process, port, time.perf_counter() - began)
        finally:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def ahead_of_all(*services: Service) -> Generator[None]:
    """Let services, and the load generators that are started meanwhile, go ahead of everything else on the machine."""
    for service in services:
        for task in Path(f"/proc/{service.process.pid}/task").iterdir():
            os.sched_setscheduler(int(task.name), os.SCHED_RR, os.sched_param(1))
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def load(plan: Plan) -> Seen:
    """What a load generator in a fresh process saw.

    Raises:
        RuntimeError: an answer was not what it had to be.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load"],
        input=json.dumps(asdict(plan)),
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    return Seen(**json.loads(done.stdout))


@contextlib.contextmanager
def interpreter(package: str, given: str | None) -> Generator[str | None]:
    """An interpreter that has a package; None, said loudly, where there is none to be had.

    Args:
        package: a requirement as pip takes it.
        given: an interpreter that has it; one is made for this run where none is given.
    """
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="peer-") as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        done = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", package], check=False, capture_output=True, text=True
        )
        if done.returncode == 0:
            yield python
        else:
            print(f"SKIPPED: {package} cannot be installed here:\n{done.stderr.strip()[-300:]}")
            yield None


def _answers(port: int, path: str) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=1):  # loopback
            return True
    except HTTPError:
        return True  # whatever it says, it speaks
    except OSError:  # not yet listening, or not yet answering
        return False


def _family(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [each for child in task.read_text().split() for each in _family(int(child))]
    return found


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _most_held(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))
