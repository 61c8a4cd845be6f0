"""Prefect's and Centurion's own servers, each from an interpreter that has it, on a free port of this machine.

They are peers to try against and no dependency: `make peers` makes the interpreters, an environment variable names
another, and without either the journey is skipped.
"""

import os
import socket
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

PEERS = Path(__file__).resolve().parents[3] / ".venv-peers"
TOKEN = "practicum-test-token"
_SECONDS = 600.0

_SETTINGS = '''
from centurion.settings import *

SECRET_KEY = "practicum-tests-only"
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": {database!r}}}}}
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = False
CELERY_TASK_ALWAYS_EAGER = True
feature_flag["disable_downloading"] = True


class FromModels:
    """Tables made from the models as they are now: the way there by every migration takes minutes."""

    def __contains__(self, app):
        return True

    def __getitem__(self, app):
        return None


MIGRATION_MODULES = FromModels()
'''

_PEOPLE = """
import datetime
import django

django.setup()

from access.models.tenant import Tenant
from api.models.tokens import AuthToken
from django.contrib.auth import get_user_model
from settings.models.app_settings import AppSettings

person = get_user_model().objects.create_superuser("admin", "admin@example.com", "not-a-real-password")
token = AuthToken(user=person, note="tests", expires=datetime.datetime(2099, 1, 1, tzinfo=datetime.timezone.utc))
token.token = token.token_hash({token!r})
AuthToken.objects.bulk_create([token])
Tenant.objects.create(name="House")
AppSettings.objects.get_or_create(owner_organization=None)
"""


def interpreter(peer: str) -> Path:
    """The interpreter that has a peer: the one an environment variable names, else the one `make peers` made."""
    variable = f"TEST_{peer.upper()}_PYTHON"
    python = Path(os.environ.get(variable) or PEERS / peer / "bin" / "python")
    if not python.exists():
        pytest.skip(f"{python} is not there: run `make peers`, or name an interpreter that has {peer} in {variable}")
    return python


@contextmanager
def prefect(folder: Path) -> Generator[str]:
    """Prefect's server with an empty database; its address."""
    python, port = interpreter("prefect"), free_port()
    environment = {
        "PREFECT_HOME": str(folder),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_API_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{folder / 'prefect.db'}",
    }
    arguments = ["-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-services"]
    with running([str(python), *arguments], folder, environment, f"http://127.0.0.1:{port}/api/health"):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def centurion(folder: Path) -> Generator[str]:
    """Centurion's server with one superuser, one token and one tenant; its address."""
    python, port = interpreter("centurion"), free_port()
    environment = _at_home(python, folder)
    _run(python, folder, environment, "-m", "django", "migrate", "--run-syncdb")
    _run(python, folder, environment, "-c", _PEOPLE.format(token=TOKEN))
    arguments = ["-m", "django", "runserver", "--noreload", f"127.0.0.1:{port}"]
    with running([str(python), *arguments], folder, environment, f"http://127.0.0.1:{port}/api/v2"):
        yield f"http://127.0.0.1:{port}"


def _at_home(python: Path, folder: Path) -> dict[str, str]:
    (folder / "tests_settings.py").write_text(_SETTINGS.format(database=str(folder / "db.sqlite3")))
    (package,) = python.parent.parent.glob("lib/python3*/site-packages/centurion_erp")
    path = os.pathsep.join((str(package), str(folder)))
    return {"PYTHONPATH": path, "DJANGO_SETTINGS_MODULE": "tests_settings", "PWD": str(folder)}


def _run(python: Path, folder: Path, environment: Mapping[str, str], *arguments: str) -> None:
    subprocess.run(
        [str(python), *arguments], check=True, cwd=folder, env=os.environ | environment, stdout=subprocess.DEVNULL
    )


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def running(command: list[str], folder: Path, environment: Mapping[str, str], health: str) -> Generator[None]:
    """A server from its first answer to the end of the context."""
    log = folder / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            command, cwd=folder, env=os.environ | environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        deadline = time.monotonic() + _SECONDS
        while not _answers(health):
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} gives no answer at {health}:\n{log.read_text()[-2000:]}")
            time.sleep(0.5)
        yield
    finally:
        server.terminate()
        server.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=10).status_code < httpx.codes.INTERNAL_SERVER_ERROR
    except httpx.TransportError:
        return False
