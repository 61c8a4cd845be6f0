"""The supervisor: starts named services as processes of their own and ends exactly those."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from practicum.cli.services.probes import Probe
from practicum.cli.services.process import bury, end_group, is_alive, spawn
from practicum.cli.services.state import RunningService, StateDirectory
from practicum.contracts.base import utc_now
from practicum.errors import ConfigurationError

_POLL_SECONDS = 0.05
_TAIL_LINES = 20
_TAIL_BYTES = 16_384


@dataclass(frozen=True, kw_only=True)
class Service:
    """How one service is started and when it counts as up.

    Attributes:
        name: its name, in the state directory and on the screen.
        command: program and arguments; no secret ever stands here.
        directory: its working directory.
        probe: how it shows that it is ready.
        environment: its whole environment, secrets left out.
        secrets: further environment variables, kept out of every record and message.
        ports: its ports, by what listens there.
        urls: what a person can open, by title.
        timeout: seconds it has to become ready.
        grace: seconds it has to end by itself when told to.
    """

    name: str
    command: tuple[str, ...]
    directory: Path
    probe: Probe
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    ports: Mapping[str, int] = field(default_factory=dict[str, int])
    urls: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout: float = 30.0
    grace: float = 10.0


@dataclass(frozen=True, slots=True)
class Launch:
    """What an `up` did.

    Attributes:
        services: everything that runs now, in the order of starting.
        started: names of what this call started; the rest ran already.
    """

    services: tuple[RunningService, ...]
    started: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ending:
    """What became of a service at `down`.

    Attributes:
        name: its name.
        ended: whether it was running and was ended; False when it had died before.
    """

    name: str
    ended: bool


class Supervisor:
    """Starts and ends the services of one state directory."""

    def __init__(self, state: StateDirectory, report: Callable[[str], None] | None = None) -> None:
        """Take charge of a state directory.

        Args:
            state: where the record of what runs is kept.
            report: told what happens, a line at a time.
        """
        self.state = state
        self._report = report or _silent

    def running(self) -> tuple[RunningService, ...]:
        """What was started and still runs, in the order of starting."""
        return tuple(service for service in self.state.services() if is_alive(service.process))

    def up(self, waves: Sequence[Sequence[Service]]) -> Launch:
        """Start what does not run yet; call it under the state directory's lock.

        The services of a wave start side by side, the next wave begins when all of them are ready. If one fails,
        everything that this call started is ended again and what ran before is left alone.

        Args:
            waves: the wanted services, in the order of starting.

        Raises:
            ConfigurationError: a service cannot be started, died early, or did not become ready in time.
        """
        self.state.prepare()
        kept = self.running()
        for service in self.state.services():
            if service not in kept:  # it died, or did not survive a reboot: forgotten here
                bury(service.process)
        self.state.write_services(kept)
        names = {service.name for service in kept}
        started: list[str] = []
        with ExitStack() as undo:
            for wave in waves:
                missing = [service for service in wave if service.name not in names]
                for service in missing:
                    started.append(service.name)
                    self._start(service, undo)
                for service in missing:
                    self._await(service)
            undo.pop_all()
        return Launch(services=self.state.services(), started=tuple(started))

    def restart(self, service: Service) -> RunningService:
        """End a service and start it as it is described now; call it under the state directory's lock.

        It keeps its place in the order of ending. If it does not come up, it runs no more; the others are left alone.

        Args:
            service: the service; one that does not run is started.

        Raises:
            ConfigurationError: it cannot be started, died early, or did not become ready in time.
        """
        names = [record.name for record in self.state.services()]
        for record in self.state.services():
            if record.name == service.name:
                self._end(record)
        with ExitStack() as undo:
            self._start(service, undo)
            self._await(service)
            undo.pop_all()
        records = {record.name: record for record in self.state.services()}
        self.state.write_services(tuple(records[name] for name in dict.fromkeys((*names, service.name))))
        return records[service.name]

    def down(self) -> tuple[Ending, ...]:
        """End what was started, last first; call it under the state directory's lock.

        A process that merely has the number of one of ours is left alone.
        """
        return tuple(Ending(service.name, self._end(service)) for service in reversed(self.state.services()))

    def _start(self, service: Service, undo: ExitStack) -> None:
        log = self.state.log(service.name)
        if log.exists():
            log.replace(log.with_suffix(".log.1"))
        try:
            process = spawn(
                service.command,
                directory=service.directory,
                environment={**service.environment, **service.secrets},
                log=log,
            )
        except OSError as error:
            raise ConfigurationError(
                f"Service '{service.name}' cannot be started: {error.strerror}: {error.filename}.",
                mend="`practicum doctor` says what is missing on this machine.",
            ) from error
        record = RunningService(
            name=service.name,
            process=process,
            command=service.command,
            log=log,
            ports=dict(service.ports),
            urls=dict(service.urls),
            grace=service.grace,
            started=utc_now(),
        )
        undo.callback(partial(self._end, record))
        self.state.write_services((*self.state.services(), record))

    def _await(self, service: Service) -> None:
        """Wait until a service is ready."""
        record = next(each for each in self.state.services() if each.name == service.name)
        began = time.monotonic()
        while is_alive(record.process):
            if service.probe.ready():
                # Somebody else may answer on its port: only the one that also lives is ours.
                if is_alive(record.process):
                    self._report(f"{service.name} is ready ({time.monotonic() - began:.1f} s)")
                    return
            elif time.monotonic() - began > service.timeout:
                raise ConfigurationError(
                    f"Service '{service.name}' was not ready within {service.timeout:g} s."
                    + _told(_tail(record.log, service.secrets)),
                    mend=f"Its whole log: {record.log}",
                )
            time.sleep(_POLL_SECONDS)
        code = bury(record.process)
        raise ConfigurationError(
            f"Service '{service.name}' ended{'' if code is None else f' (code {code})'} before it was ready."
            + _told(_tail(record.log, service.secrets)),
            mend=f"Its whole log: {record.log}",
        )

    def _end(self, record: RunningService) -> bool:
        """End one service and forget it."""
        ended = end_group(record.process, grace=record.grace)
        self.state.write_services(tuple(each for each in self.state.services() if each.process != record.process))
        self._report(f"{record.name} {'ended' if ended else 'had ended already'}")
        return ended


def _silent(_line: str) -> None:
    """Report to nobody."""


def _tail(log: Path, secrets: Mapping[str, str]) -> str:
    """The last lines of a log, with the secrets that its service was given blotted out."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        text = file.read().decode("utf-8", errors="replace")
    for secret in filter(None, secrets.values()):
        text = text.replace(secret, "***")
    return "\n".join(text.splitlines()[-_TAIL_LINES:])


def _told(tail: str) -> str:
    return f" Its last words:\n{tail}" if tail.strip() else " It printed nothing."
