"""The front door is counted, typed as it is, and light."""

import ast
import subprocess
import sys
import time
from pathlib import Path

import practicum
from practicum import _HOMES  # pyright: ignore[reportPrivateUsage]

HEAVY = (
    "torch",
    "litellm",
    "temporalio",
    "fastapi",
    "rich",
    "typer",
    "httpx",
    "pydantic",
    "opentelemetry",
    "sqlalchemy",
)


def test_all_is_sorted_and_every_name_is_there() -> None:
    assert practicum.__all__ == sorted(set(practicum.__all__))
    for name in practicum.__all__:
        value = getattr(practicum, name)
        assert value.__name__ == name
        assert value.__module__.startswith(_HOMES[name])
    assert set(practicum.__all__) <= set(dir(practicum))


def test_type_checkers_are_told_the_same() -> None:
    tree = ast.parse(Path(practicum.__file__ or "").read_text())
    (checking,) = [node for node in tree.body if isinstance(node, ast.If)]
    told = {
        alias.name: node.module for node in checking.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert told == _HOMES
    assert sorted(told) == practicum.__all__


def test_nothing_else_is_public() -> None:
    code = "import practicum; print(*(name for name in vars(practicum) if not name.startswith('_')))"
    public = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert set(public) == {"TYPE_CHECKING", "import_module"}
    assert not hasattr(practicum, "nonsense")


def test_importing_is_light() -> None:
    code = f"import sys, practicum; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    seconds: list[float] = []
    for _ in range(3):  # the best of three, since the machine may be busy with something else
        began = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        seconds.append(time.perf_counter() - began)
        assert done.stdout.strip() == ""
    assert min(seconds) < 0.35


def test_the_client_needs_no_server_and_no_model_library() -> None:
    heavy = tuple(name for name in HEAVY if name not in ("httpx", "pydantic", "rich"))  # httpx brings rich itself
    code = f"import sys; from practicum import Practicum; print(*[name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""
