"""Processes known by more than their number, so that a recycled process id is never signalled."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from practicum.contracts.base import Value

_PROC = Path("/proc")
_POLL_SECONDS = 0.05
_KILL_SECONDS = 5.0


class ProcessIdentity(Value):
    """One process and no other.

    Attributes:
        pid: its process id, which is also its process group's: services lead their own group.
        started: when it started, as the platform says it; a recycled id has another.
    """

    pid: int
    started: str


@dataclass(frozen=True, slots=True)
class ProcessEntry:
    """One row of the process table."""

    pid: int
    group: int
    zombie: bool
    started: str


_children: dict[ProcessIdentity, subprocess.Popen[bytes]] = {}
"""What this process started and has not reaped; as global as the process table that it mirrors."""


def spawn(command: Sequence[str], *, directory: Path, environment: Mapping[str, str], log: Path) -> ProcessIdentity:
    """Start a process that outlives this one, as the leader of a group of its own.

    Args:
        command: program and arguments.
        directory: its working directory.
        environment: its whole environment.
        log: file that takes what it prints.

    Raises:
        OSError: there is no such program, or it may not be run.
    """
    with log.open("wb") as output:
        child = subprocess.Popen(  # noqa: S603 -- the commands are this package's own, from stack.py
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that a Ctrl-C meant for this process does not reach it
        )
    # A child keeps its entry until it is reaped, even one that has died already.
    entry = _entry(child.pid)
    process = ProcessIdentity(pid=child.pid, started="" if entry is None else entry.started)
    _children[process] = child
    return process


def identify(pid: int) -> ProcessIdentity | None:
    """The identity behind a process id, or None where no process has it."""
    entry = _entry(pid)
    return None if entry is None else ProcessIdentity(pid=pid, started=entry.started)


def is_alive(process: ProcessIdentity) -> bool:
    """Whether exactly this process still runs; one that only waits to be reaped does not."""
    entry = _entry(process.pid)
    return entry is not None and not entry.zombie and entry.started == process.started


def end_group(process: ProcessIdentity, *, grace: float) -> bool:
    """End a process and everything in its group: first asked, then killed.

    A group's number cannot be given away while a member lives, so once the leader was recognised, signalling the group
    reaches nobody else.

    Args:
        process: the group's leader.
        grace: seconds it has to end by itself after SIGTERM.

    Returns:
        Whether there was something to end; False when the process was gone already.
    """
    alive = is_alive(process)
    if alive:
        _signal_group(process.pid, signal.SIGTERM)
        if not _group_gone(process, grace):
            _signal_group(process.pid, signal.SIGKILL)
            _group_gone(process, _KILL_SECONDS)
    bury(process)
    return alive


def bury(process: ProcessIdentity) -> int | None:
    """Reap a dead child of this process and kill what it left in its group.

    Returns:
        Its exit code, or None for a process that this one did not start or has reaped before.
    """
    child = _children.pop(process, None)
    if child is None:
        return None
    if child.returncode is None:  # not reaped yet, so its number, and its group's, is still its own
        _signal_group(child.pid, signal.SIGKILL)
    return child.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return  # gone meanwhile; macOS answers EPERM for a group of zombies


def _group_gone(process: ProcessIdentity, seconds: float) -> bool:
    """Wait until no live process is left in the group."""
    deadline = time.monotonic() + seconds
    while True:
        if process in _children:
            _children[process].poll()
        if not any(entry.group == process.pid and not entry.zombie for entry in _entries()):
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS)


def _entry(pid: int) -> ProcessEntry | None:
    if _has_proc():
        return _entry_from_proc(pid)
    return next((entry for entry in process_table_from_ps() if entry.pid == pid), None)


def _entries() -> Iterator[ProcessEntry]:
    if not _has_proc():
        yield from process_table_from_ps()
        return
    for folder in _PROC.iterdir():
        if folder.name.isdigit() and (entry := _entry_from_proc(int(folder.name))) is not None:
            yield entry


def _has_proc() -> bool:
    return (_PROC / "self" / "stat").exists()


def _entry_from_proc(pid: int) -> ProcessEntry | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    # The command's name stands in parentheses and may hold any character; the fields after it are numbers.
    fields = text.rpartition(")")[2].split()
    # A leader is a zombie before its last threads are gone, and they still hold its sockets.
    zombie = fields[0] in "ZX" and int(fields[17]) <= 1
    return ProcessEntry(pid=pid, group=int(fields[2]), zombie=zombie, started=f"{_boot()}/{fields[19]}")


def _boot() -> str:
    """The running boot: start times count from it, so after a reboot the same pair could come again."""
    try:
        return (_PROC / "sys" / "kernel" / "random" / "boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "boot"


def process_table_from_ps() -> Iterator[ProcessEntry]:
    """The process table where there is no /proc, to the second."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,pgid=,stat=,lstart="],  # noqa: S607 -- a POSIX tool, wherever the platform keeps it
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    for line in listing.stdout.splitlines():
        fields = line.split(maxsplit=3)
        if len(fields) == 4:  # noqa: PLR2004 -- the four columns asked for
            pid, group, state, started = fields
            yield ProcessEntry(pid=int(pid), group=int(group), zombie=state.startswith("Z"), started=started.strip())
