"""How long it takes until the SDK is imported and the gateway answers, against named baselines in the same run.

    python benchmarks/start.py [--runs 5]

Prints the median of the runs in seconds and the ratio to the baseline of the row: what any program pays that imports
httpx and pydantic, or that serves an empty FastAPI application with uvicorn.
"""

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from urllib.request import urlopen

BARE_SERVER = """
import sys
import fastapi, uvicorn
app = fastapi.FastAPI()
@app.get("/healthz")
def healthz() -> dict[str, str]:
    return {"status": "ok"}
uvicorn.run(app, port=int(sys.argv[1]), log_level="error")
"""


def run(code: str) -> float:
    """Seconds that a fresh interpreter takes for some code."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - began


def until_healthy(command: Callable[[int, str], list[str]]) -> float:
    """Seconds from the start of a server to its first answer at /healthz."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        server = subprocess.Popen(
            command(port, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ
        )
        try:
            while server.poll() is None:
                try:
                    with urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1):  # a loopback address
                        return time.perf_counter() - began
                except OSError:  # not yet listening, or not yet answering
                    time.sleep(0.01)
            raise RuntimeError(f"the server ended with {server.returncode} before it answered")
        finally:
            server.terminate()
            server.wait()


def gateway(port: int, folder: str) -> list[str]:
    """The gateway, with a store of its own to migrate."""
    return [sys.executable, "-m", "practicum_gateway", "--port", str(port), "--data-dir", folder]


def bare(port: int, _folder: str) -> list[str]:
    """An empty FastAPI application."""
    return [sys.executable, "-c", BARE_SERVER, str(port)]


def main() -> None:
    """Measure in turn, print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    runs: int = parser.parse_args().runs
    rows: list[tuple[str, Callable[[], float], str, Callable[[], float]]] = [
        ("import practicum", lambda: run("import practicum"), "empty interpreter", lambda: run("pass")),
        (
            "from practicum import Practicum",
            lambda: run("from practicum import Practicum"),
            "import httpx, pydantic",
            lambda: run("import httpx, pydantic"),
        ),
        ("gateway, first answer", lambda: until_healthy(gateway), "bare FastAPI", lambda: until_healthy(bare)),
    ]
    for name, measured, baseline, compared in rows:
        pairs = [(measured(), compared()) for _ in range(runs + 1)][1:]  # the first run warms the disk cache
        ours = statistics.median(pair[0] for pair in pairs)
        theirs = statistics.median(pair[1] for pair in pairs)
        ratio = statistics.median(a / b for a, b in pairs)
        print(f"{name:34} {ours:6.2f} s   {baseline:24} {theirs:6.2f} s   ratio {ratio:5.2f}")


if __name__ == "__main__":
    main()
