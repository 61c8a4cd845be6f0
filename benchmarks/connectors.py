"""What connectors cost, against FastMCP in the same run: the same document, the same server on loopback.

    python -m benchmarks.connectors [--runs 3] [--fastmcp PYTHON] [--document FILE]

Measured is CPU time, which other programs on the machine disturb least, in a fresh process each time, the two in turns;
shown are medians and the median of the ratios of the turns. Memory is how much the process grew by it, which Linux
alone tells. The document is GitHub's where the corpus lies (PRACTICUM_CORPUS), else one of its size made here. FastMCP
runs in an interpreter of its own: the one given, or one that is made for this run. Exits with 1 if a promise is missed.
"""

import argparse
import asyncio
import gzip
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import venv
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from benchmarks.documents import github_like, graph_like
from practicum.contracts.connectors import ConnectorSpec
from practicum.contracts.tools import Effect, Tool
from practicum_connectors import CompiledConnector, load_document
from practicum_connectors.catalogue.search import WordIndex

ROOT = Path(__file__).resolve().parents[1]
FASTMCP = "fastmcp==4.2.3"
GITHUB = "github_api.github.com.json.gz"
CALLS = 100
SEARCHED = 100_000
QUERIES = (
    "refund an order",
    "get a ticket",
    "list customers of a region",
    "approve the contract",
    "update",
    "archive project of the department 12",
    "create invoice",
)
ANSWER = json.dumps({"id": 1, "name": "hello", "full_name": "octo/hello", "private": False}).encode()

THEIRS = """
import asyncio, json, sys, time
import httpx2
from fastmcp import Client, FastMCP

def grown():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))

async def main(what, path, url, tool, arguments, calls):
    text = open(path, "rb").read()
    before, began = grown(), time.process_time()
    server = FastMCP.from_openapi(json.loads(text), client=httpx2.AsyncClient(base_url=url), validate_output=False)
    found = {"load": time.process_time() - began, "megabytes": grown() - before}
    async with Client(server) as client:
        began = time.process_time()
        tools = await client.list_tools()
        found |= {"list": time.process_time() - began, "listed_megabytes": grown() - before, "tools": len(tools)}
        if what == "call":
            names = {each.name for each in tools}
            name = next(name for name in json.loads(tool) if name in names)
            spent = []
            for _ in range(int(calls)):
                began = time.process_time()
                answer = await client.call_tool(name, json.loads(arguments))
                spent.append(time.process_time() - began)
            assert "hello" in str(answer)
            found["call"] = sorted(spent)[len(spent) // 2]
    print(json.dumps(found))

asyncio.run(main(*sys.argv[1:]))
"""


@dataclass(frozen=True)
class Row:
    """One promise: what was measured, and what it may be at most."""

    what: str
    ours: str
    theirs: str
    measured: float | None
    most: float
    unit: str = ""

    @property
    def kept(self) -> bool:
        """Whether the promise holds; what was not measured is not held against it."""
        return self.measured is None or self.measured <= self.most


def megabytes() -> float:
    """The most memory that this process ever held; `ru_maxrss` would count that of the process that started it too."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


# --- what a fresh process of ours measures -------------------------------------------------------------------------


def load(path: str, url: str) -> tuple[CompiledConnector, dict[str, float]]:
    """A document from its bytes to tools."""
    text = Path(path).read_bytes()
    before, began = megabytes(), time.process_time()
    spec = ConnectorSpec(name="bench", base_url=url, private_network=True)
    connector = CompiledConnector.compile(spec, load_document(text))
    spent = time.process_time() - began
    found = {
        "load": spent,
        "megabytes": megabytes() - before,
        "peak": megabytes(),
        "tools": float(len(connector.tools)),
    }
    began = time.process_time()
    listed = [tool.input_schema for tool in connector.tools.values()]
    return connector, found | {"list": time.process_time() - began, "listed_megabytes": megabytes() - before} | {
        "listed": float(len(listed))
    }


async def call(path: str, url: str, tool: str, arguments: str) -> dict[str, float]:
    """One read, again and again: what building with its proof, sending, and shaping the answer cost."""
    connector, found = load(path, url)
    name = next(name for name in cast("list[str]", json.loads(tool)) if name in connector.tools)
    given: dict[str, Any] = json.loads(arguments)
    built: list[float] = []
    sent: list[float] = []
    shaped: list[float] = []
    async with connector:
        for _ in range(CALLS):
            marks = [time.process_time()]
            prepared = connector.prepare(name, given)
            marks.append(time.process_time())
            answered = await connector.send(prepared)
            marks.append(time.process_time())
            seen = connector.observe(answered)
            marks.append(time.process_time())
            for kept, (start, end) in zip((built, sent, shaped), itertools.pairwise(marks), strict=True):
                kept.append(end - start)
            if "hello" not in seen.content:
                raise RuntimeError(seen.content)
    return found | {
        name: statistics.median(values) for name, values in (("build", built), ("send", sent), ("shape", shaped))
    }


def search() -> dict[str, float]:
    """An index over very many tools: from its cache, and the slowest of some queries."""
    document = json.loads(graph_like(2_000, 10, 1))
    described = [operation for item in document["paths"].values() for operation in item.values()]
    tools = [
        Tool.model_construct(
            name=f"s{number}_{described[number % 2000]['operationId'].replace('.', '_')}",
            connector=f"s{number // 2000}",
            operation=described[number % 2000]["operationId"],
            description=described[number % 2000]["summary"],
            input_schema={"type": "object", "properties": {"id": {"type": "string"}}},
            effect=Effect.READ,
            method="GET",
            path=f"/{number}/{{id}}",
        )
        for number in range(SEARCHED)
    ]
    began = time.process_time()
    kept = WordIndex.of(tools).dump()
    made = time.process_time() - began
    began = time.process_time()
    index = WordIndex.load(kept)
    loaded = time.process_time() - began
    if index is None:
        raise RuntimeError("the index is not taken up again")
    slowest = 0.0
    for query in QUERIES:
        spent: list[float] = []
        for _ in range(5):
            began = time.process_time()
            found = index.find(query)
            spent.append(time.process_time() - began)
            if not found:
                raise RuntimeError(f"nothing is found for {query!r}")
        slowest = max(slowest, statistics.median(spent))
    return {"made": made, "loaded": loaded, "slowest": slowest}


def measure(arguments: list[str]) -> dict[str, float]:
    """What a child of this script does."""
    match arguments:
        case ["load", path]:
            return load(path, "http://127.0.0.1:1")[1]
        case ["call", path, url, tool, given]:
            return asyncio.run(call(path, url, tool, given))
        case ["search"]:
            return search()
        case _:
            raise SystemExit(f"unknown: {arguments}")


# --- the server, and the two in turns --------------------------------------------------------------------------------


@contextmanager
def server() -> Generator[str]:
    """A server on loopback that gives the same answer to everything, in a thread of this process."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(ANSWER)}\r\n\r\n".encode()
    loop = asyncio.new_event_loop()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(head + ANSWER)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):  # the caller hung up
            writer.close()

    listening = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def child(command: list[str]) -> dict[str, float]:
    """What a fresh process prints."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def ours(*arguments: str) -> dict[str, float]:
    """A measurement in a fresh process of this interpreter."""
    return child([sys.executable, "-m", "benchmarks.connectors", "--measure", *arguments])


@contextmanager
def fastmcp(given: str | None) -> Generator[str | None]:
    """An interpreter that has FastMCP; None, said loudly, where there is none to be had."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="fastmcp-") as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        done = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", FASTMCP], check=False, capture_output=True, text=True
        )
        if done.returncode == 0:
            yield python
        else:
            print(f"SKIPPED: every comparison, for {FASTMCP} cannot be installed here:\n{done.stderr.strip()[-300:]}")
            yield None


def in_turns(
    runs: int, one: Callable[[], dict[str, float]], other: Callable[[], dict[str, float]] | None
) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """Both, one after the other, so many times."""
    first: list[dict[str, float]] = []
    second: list[dict[str, float]] = []
    for _ in range(runs):
        first.append(one())
        if other is not None:
            second.append(other())
    return first, second


def median(entries: list[dict[str, float]], *names: str) -> float:
    """The median of the sum of some measurements."""
    return statistics.median(sum(entry[name] for name in names) for entry in entries)


def ratio(mine: list[dict[str, float]], theirs: list[dict[str, float]], *names: str, of: str) -> float | None:
    """The median of the ratios of the turns."""
    if not theirs:
        return None
    return statistics.median(
        sum(entry[name] for name in names) / other[of] for entry, other in zip(mine, theirs, strict=True)
    )


def compared(path: Path, python: str | None, runs: int) -> list[Row]:
    """Loading and calling, against FastMCP."""
    tool = json.dumps(["bench_repos_get", "bench_order_0_list", "reposget", "order0list", "order_0_list"])
    given = json.dumps({"owner": "octo", "repo": "hello"} if GITHUB[:6] in path.name else {"id": "1"})
    with server() as url:
        theirs = [str(python), "-c", THEIRS]
        mine, other = in_turns(
            runs,
            lambda: ours("call", str(path), url, tool, given),
            (lambda: child([*theirs, "call", str(path), url, tool, given, str(CALLS)])) if python else None,
        )
    shown = f"{median(other, 'load'):.2f} s" if other else "-", f"{median(other, 'megabytes'):.0f} MB" if other else "-"
    called = f"{median(other, 'call') * 1000:.2f} ms" if other else "-"
    whole = median(mine, "build", "shape") * 1000
    listed = f"{median(other, 'load', 'list'):.2f} s, {median(other, 'listed_megabytes'):.0f} MB" if other else "-"
    print(f"{int(mine[0]['tools'])} tools of {path.name}, until all are listed: {median(mine, 'load', 'list'):.2f} s, "
          f"{median(mine, 'listed_megabytes'):.0f} MB; FastMCP {listed}")  # fmt: skip
    print(f"one whole call with sending: {median(mine, 'build', 'send', 'shape') * 1000:.2f} ms; FastMCP {called}")
    return [
        Row("load: CPU", f"{median(mine, 'load'):.2f} s", shown[0], ratio(mine, other, "load", of="load"), 1 / 3),
        Row(
            "load: memory",
            f"{median(mine, 'megabytes'):.0f} MB",
            shown[1],
            ratio(mine, other, "megabytes", of="megabytes"),
            1 / 3,
        ),
        Row("build, check and shape: CPU", f"{whole:.2f} ms", "", whole, 3.0, "ms"),
        Row(
            "the same against its call",
            f"{whole:.2f} ms",
            called,
            ratio(mine, other, "build", "shape", of="call"),
            1 / 5,
        ),
    ]


def alone(runs: int) -> list[Row]:
    """What nobody else is asked for: the largest document, and search."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(graph_like())
        file.flush()
        size = Path(file.name).stat().st_size / 1_000_000
        large = [ours("load", file.name) for _ in range(runs)]
    found = [ours("search") for _ in range(runs)]
    peak, slowest, loaded = median(large, "peak"), median(found, "slowest") * 1000, median(found, "loaded")
    what = f"{int(large[0]['tools'])} operations, {size:.0f} MB: memory"
    print(f"{what.partition(':')[0]}: {median(large, 'load'):.1f} s of CPU; "
          f"an index over {SEARCHED} tools is made in {median(found, 'made'):.1f} s")  # fmt: skip
    return [
        Row(what, f"{peak:.0f} MB", "", peak, 1024, "MB"),
        Row(f"search over {SEARCHED}, slowest query", f"{slowest:.1f} ms", "", slowest, 50, "ms"),
        Row(f"index over {SEARCHED} from cache", f"{loaded:.2f} s", "", loaded, 1.0, "s"),
    ]


def main() -> int:
    """Measure, print, and say whether every promise holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--fastmcp", metavar="PYTHON", help=f"an interpreter that has {FASTMCP}")
    parser.add_argument("--document", type=Path, help="an OpenAPI 3 document in JSON, instead of GitHub's")
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure)))
        return 0
    runs: int = given.runs
    corpus = Path(os.environ.get("PRACTICUM_CORPUS", ROOT.parent / "shared" / "specs")) / GITHUB
    with tempfile.TemporaryDirectory() as folder, fastmcp(given.fastmcp) as python:
        path = Path(given.document or Path(folder) / (GITHUB.removesuffix(".gz") if corpus.exists() else "made.json"))
        if given.document is None:
            path.write_bytes(gzip.decompress(corpus.read_bytes()) if corpus.exists() else github_like())
        rows = compared(path, python, runs) + alone(runs)
    for row in rows:
        limit = f"at most {row.most:.2f} {row.unit}".strip()
        got = "not measured" if row.measured is None else f"{row.measured:.2f} {row.unit}".strip()
        verdict = "-" if row.measured is None else "kept" if row.kept else "MISSED"
        print(f"{row.what:42} {row.ours:>10} {row.theirs:>10}   {got:>12}   {limit:18} {verdict}")
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
