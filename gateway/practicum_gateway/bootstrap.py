"""The first start of an installation: its folder, the keys made for it, the lock that keeps a second gateway out."""

import asyncio
import base64
import contextlib
import fcntl
import logging
import os
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path

from pydantic import SecretStr

from practicum.contracts.access import Role
from practicum.errors import ConfigurationError, GatewayUnavailableError
from practicum_gateway.access.keys import Keys, new_secret
from practicum_gateway.secrets.outside import Outside
from practicum_gateway.settings import Settings
from practicum_gateway.store.replicas import Replica
from practicum_gateway.store.vault import KEY_BYTES, LocalMasterKey, MasterKey, new_key

FIRST_KEYS = (("admin", Role.ADMIN), ("worker", Role.WORKER), ("approver", Role.APPROVER))
"""The principals that every installation has, each with the role of its key.

The approver is there because nobody answers what was asked on their own behalf: who runs everything alone asks as
`admin` and answers as `approver`.
"""

_LOST = "The gateway's hold on its database was lost: what it knows may be out of date, and others take up its calls."

logger = logging.getLogger("practicum_gateway")


@contextlib.contextmanager
def only_gateway(data_dir: Path) -> Generator[None]:
    """Hold the data folder for this process: each gateway has one of its own.

    Raises:
        ConfigurationError: another gateway holds it, or it cannot be written to.
    """
    prepare(data_dir)
    with (data_dir / "gateway.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigurationError(
                f"Another gateway works on {data_dir}.", mend="Stop it, or give this one another --data-dir."
            ) from None
        yield


@contextlib.asynccontextmanager
async def stopped_when_lost(replica: Replica, stop: Callable[[], None]) -> AsyncGenerator[None]:
    """Stop serving as soon as others count this gateway as gone, or it does not hear any more what they change.

    Args:
        replica: this gateway among those on its store.
        stop: ends serving; what was begun may still be recorded.

    Raises:
        GatewayUnavailableError: at the end, where the hold was lost.
    """

    async def watch() -> None:
        await replica.lost.wait()
        logger.error(_LOST)
        stop()

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
    if replica.lost.is_set():
        raise GatewayUnavailableError(_LOST, mend="Start it again once the database can be reached.")


def prepare(data_dir: Path) -> None:
    """Make the data folder, for its owner's eyes only.

    Raises:
        ConfigurationError: it cannot be made or written to.
    """
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        (data_dir / "gateway.lock").touch(mode=0o600)
    except OSError as error:
        raise ConfigurationError(
            f"The data folder {data_dir} cannot be used: {error.strerror}.",
            mend="Give another one with --data-dir or PRACTICUM_DATA_DIR.",
        ) from None


def master_key_of(settings: Settings, outside: Outside | None = None) -> MasterKey:
    """The configured master key, in the vault or in this process, with those that it takes the place of.

    Where none is configured, one is made at the first start.

    Raises:
        ConfigurationError: the key cannot be read, or is none.
    """
    if outside is not None and (kept_outside := outside.master_key()) is not None:
        return kept_outside
    former = [key.get_secret_value() for key in settings.former_master_keys]
    if settings.master_key is not None:
        return LocalMasterKey(settings.master_key.get_secret_value(), former)
    prepare(settings.data_dir)
    path = settings.data_dir / "master.key"
    text = _kept(path, lambda: base64.b64encode(new_key()).decode())
    try:
        key = base64.b64decode(text, validate=True)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigurationError(
            f"{path} does not hold base64 of {KEY_BYTES} bytes.", mend="Put the installation's own key back."
        )
    return LocalMasterKey(key, former)


async def install_keys(settings: Settings, keys: Keys, *, alone: bool) -> None:
    """Make sure that the installation's first keys are valid.

    Args:
        settings: what the operator set.
        keys: the main tenant's.
        alone: whether no other gateway works with them, whose keys one that was made here would withdraw.

    Raises:
        ConfigurationError: a configured key is too short, a file cannot be read or written, or others have other keys.
    """
    given: dict[str, SecretStr | None] = {
        "admin": settings.admin_key,
        "worker": settings.worker_key,
        "approver": settings.approver_key,
    }
    for name, role in FIRST_KEYS:
        configured = given[name]
        secret = (
            _kept(settings.data_dir / f"{name}.key", new_secret)
            if configured is None
            else configured.get_secret_value()
        )
        await keys.install(secret, name, role, replaces=alone or configured is not None)


def _kept(path: Path, make: Callable[[], str]) -> str:
    """The text of a file that only its owner may read, made when it is not there."""
    try:
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(make() + "\n")
        return path.read_text().strip()
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be used: {error.strerror}.", mend="Mend its permissions, or configure the key."
        ) from None
