"""Prefect's and Centurion's own servers, each from an interpreter that has it, on a free port of this machine.

They are peers to try against and no dependency: an environment variable names the interpreter, and without it the
journey is skipped. Centurion's tables are made once, beside its interpreter, for that takes minutes.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

PREFECT = "TEST_PREFECT_PYTHON"
CENTURION = "TEST_CENTURION_PYTHON"
TOKEN = "practicum-test-token"
_SECONDS = 600.0

_SETTINGS = """
from centurion.settings import *

SECRET_KEY = "practicum-tests-only"
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": {database!r}}}}}
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = False
CELERY_TASK_ALWAYS_EAGER = True
feature_flag["disable_downloading"] = True
"""

_PEOPLE = """
import datetime
import django

django.setup()

from access.models.tenant import Tenant
from api.models.tokens import AuthToken
from django.contrib.auth import get_user_model

person = get_user_model().objects.create_superuser("admin", "admin@example.com", "not-a-real-password")
token = AuthToken(user=person, note="tests", expires=datetime.datetime(2099, 1, 1, tzinfo=datetime.timezone.utc))
token.token = token.token_hash({token!r})
AuthToken.objects.bulk_create([token])
Tenant.objects.create(name="House")
"""


def interpreter(variable: str) -> Path:
    """The interpreter that an environment variable names; the test is skipped where it names none."""
    named = os.environ.get(variable)
    if not named:
        pytest.skip(f"{variable} names no interpreter")
    return Path(named)


@contextmanager
def prefect(folder: Path) -> Generator[str]:
    """Prefect's server with an empty database; its address."""
    python, port = interpreter(PREFECT), free_port()
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
    python, port = interpreter(CENTURION), free_port()
    environment = _at_home(python, folder)
    made = python.parent.parent / "practicum-tests.sqlite3"
    if not made.exists():
        _run(python, folder, environment, "-m", "django", "migrate")
        _run(python, folder, environment, "-c", _PEOPLE.format(token=TOKEN))
        shutil.copy(folder / "db.sqlite3", made)
    shutil.copy(made, folder / "db.sqlite3")
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
