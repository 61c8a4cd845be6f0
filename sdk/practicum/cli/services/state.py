"""The state directory: what was started, the keys it was started with, and where its logs are."""

import fcntl
import json
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from practicum.cli.services.process import ProcessIdentity
from practicum.contracts.base import Value
from practicum.errors import ConfigurationError, ConflictError

_KEY_BYTES = 24


class RunningService(Value):
    """A service that was started.

    Attributes:
        name: its name.
        process: exactly which process it is.
        command: how it was started; secrets travel by environment and never stand here.
        log: file that holds what it prints.
        ports: its ports, by what listens there.
        urls: what a person can open, by title.
        grace: seconds it has to end by itself.
        started: when.
    """

    name: str
    process: ProcessIdentity
    command: tuple[str, ...]
    log: Path
    ports: dict[str, int] = Field(default_factory=dict[str, int])
    urls: dict[str, str] = Field(default_factory=dict[str, str])
    grace: float = 10.0
    started: datetime


class _ServicesFile(Value):
    """What `services.json` holds, in the order of starting."""

    format: Literal["practicum-services/1"] = "practicum-services/1"
    services: tuple[RunningService, ...] = ()


class LocalKeys(Value):
    """The keys of a local installation, made once.

    Attributes:
        admin: key of the person at this machine.
        worker: key of the process that drives durable episodes.
        approver: key of somebody who may answer approvals; never the one who asked.
    """

    admin: str = Field(repr=False)
    worker: str = Field(repr=False)
    approver: str = Field(repr=False)


class StateDirectory:
    """A folder that belongs to one local installation, `.practicum` by default."""

    def __init__(self, path: Path) -> None:
        """Name the folder; it is made when something is first written.

        Args:
            path: the folder.
        """
        self.path = path.absolute()
        self._services = self.path / "services.json"
        self._client = self.path / "client.json"
        self._keys = self.path / "secrets.json"

    def prepare(self) -> None:
        """Make the folder, readable by its owner only and ignored by git.

        Raises:
            ConfigurationError: it cannot be made or written to.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.path / "logs").mkdir(exist_ok=True)
            (self.path / ".gitignore").write_text("*\n", encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(
                f"The state directory {self.path} cannot be written to: {error.strerror}.",
                mend="Make it writable, or name another with --state-dir.",
            ) from error

    def log(self, service: str) -> Path:
        """Where a service's output goes."""
        return self.path / "logs" / f"{service}.log"

    @contextmanager
    def lock(self) -> Generator[None]:
        """Hold the folder against a second `up` or `down`; the system lets go of it should this process die.

        Raises:
            ConflictError: somebody else holds it.
        """
        self.prepare()
        with (self.path / "lock").open("a+", encoding="utf-8") as holder:
            try:
                fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder.seek(0)
                other = holder.read() or "unknown"
                raise ConflictError(
                    f"Another `practicum up` or `down` (process {other}) is at work in {self.path}.",
                    mend="Wait for it to finish, then try again.",
                ) from None
            holder.truncate(0)
            holder.write(str(os.getpid()))
            holder.flush()
            yield

    def services(self) -> tuple[RunningService, ...]:
        """What was started, in order; some of it may have died since.

        Raises:
            ConfigurationError: the file cannot be read as one of ours.
        """
        try:
            return _ServicesFile.model_validate_json(self._services.read_bytes()).services
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except PermissionError as error:
            raise ConfigurationError(
                f"{self._services} may not be read.", mend="Be the user who started the services."
            ) from error
        except ValidationError as error:
            raise ConfigurationError(
                f"{self._services} is damaged, so what was started is not known.",
                mend="End what still runs by hand (`ps` shows temporal and practicum_*), then delete that file.",
            ) from error

    def write_services(self, services: tuple[RunningService, ...]) -> None:
        """Record what runs; nothing running leaves no file."""
        if services:
            _write_private(self._services, _ServicesFile(services=services).model_dump_json(indent=2))
        else:
            self._services.unlink(missing_ok=True)

    def keys(self) -> LocalKeys:
        """The installation's keys, made at the first call.

        Raises:
            ConfigurationError: the file cannot be read as one of ours.
        """
        try:
            return LocalKeys.model_validate_json(self._keys.read_bytes())
        except FileNotFoundError:
            keys = LocalKeys(admin=_new_key(), worker=_new_key(), approver=_new_key())
            _write_private(self._keys, keys.model_dump_json(indent=2))
            return keys
        except ValidationError:
            # Without the cause: it would print the file's content.
            raise ConfigurationError(
                f"{self._keys} is damaged.", mend="Delete it and start again; new keys are made."
            ) from None

    def write_client(self, url: str, api_key: str) -> None:
        """Tell the CLI of this folder where its gateway is and which key to use."""
        _write_private(self._client, json.dumps({"url": url, "api_key": api_key}, indent=2))

    def remove_client(self) -> None:
        """Forget the gateway that no longer runs."""
        self._client.unlink(missing_ok=True)


def _new_key() -> str:
    return f"prk_{secrets.token_urlsafe(_KEY_BYTES)}"


def _write_private(path: Path, text: str) -> None:
    """Write a file whole or not at all, readable by its owner only from its first byte on."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    draft.replace(path)
