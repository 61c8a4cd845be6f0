"""What a tool call costs through the gateway, against the peers in the same run: the same system on loopback.

    python -m benchmarks.gateway [--runs 3] [--calls 600] [--fastmcp PYTHON] [--contextforge PYTHON] [--ahead]

Every service is a fresh process, the ways to the system are measured in turns, and the load generator, a process of its
own too, speaks HTTP with next to no work of its own: no peer's client is measured. Through the gateway all is on: an
episode's key, rules that look at arguments, validation, the ledger, the record and the audit log, on the disk before
the answer is given; once more it is asked over MCP, as FastMCP is. Shown are medians over the turns; ratios are medians
of the ratios of the turns. Throughput is what a second of a service's CPU answers: it is the same whatever else the
machine does, and wall clock is shown beside it.
FastMCP and ContextForge run in interpreters of their own: those given, or ones that are made for this run. Exits with 1
if a promise is missed.
"""

import argparse
import contextlib
import os
import statistics
import sys
import tempfile
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import peers
from benchmarks.load import Plan, Seen
from benchmarks.peers import EXPECTED, Way, system
from benchmarks.services import Service, ahead_of_all, interpreter, load

MANY, MOST = 64, 200
_WARM = 100
_OVER_MCP = "  over MCP"


@dataclass(frozen=True)
class Measured:
    """One turn of one way.

    Attributes:
        alone: one call after the other.
        alone_cpu: CPU milliseconds of the service for one of them.
        many: 64 calls at a time.
        many_cpu: CPU milliseconds of the service for one of them.
        ready_seconds: from its start to its first answer.
        megabytes: the most memory it held, with 200 calls at a time; None where that was not asked for.
    """

    alone: Seen
    alone_cpu: float
    many: Seen
    many_cpu: float
    ready_seconds: float
    megabytes: float | None = None


@dataclass(frozen=True)
class Promise:
    """A promise and what was measured, None where it was not."""

    what: str
    measured: float | None
    least: float | None = None
    most: float | None = None
    unit: str = ""

    @property
    def kept(self) -> bool:
        """Whether it holds; what was not measured is not held against it."""
        if self.measured is None:
            return True
        return (self.least is None or self.measured >= self.least) and (self.most is None or self.measured <= self.most)

    def __str__(self) -> str:
        limit = f"at most {self.most:g}" if self.most is not None else f"at least {self.least:g}"
        got = "not measured" if self.measured is None else f"{self.measured:.2f} {self.unit}".strip()
        verdict = "-" if self.measured is None else "kept" if self.kept else "MISSED"
        return f"{self.what:66} {got:>12}   {f'{limit} {self.unit}'.strip():16} {verdict}"


def measured(
    opened: AbstractContextManager[Way], asked: Service, calls: int, *, memory: bool = False, ahead: bool = False
) -> Measured:
    """One turn."""
    with opened as way, ahead_of_all(asked, way.service) if ahead else contextlib.nullcontext():
        alone, alone_cpu = _loaded(way, 1, calls // 4)
        many, many_cpu = _loaded(way, MANY, calls)
        held = None
        if memory:
            _loaded(way, MOST, calls)
            held = way.service.megabytes()
        return Measured(alone, alone_cpu, many, many_cpu, way.service.ready_seconds, held)


def _loaded(way: Way, connections: int, calls: int) -> tuple[Seen, float]:
    requests = way.requests(connections)
    load(Plan("127.0.0.1", way.service.port, requests, connections, max(_WARM, 2 * connections), expected=EXPECTED))
    before = way.service.cpu_seconds()
    seen = load(Plan("127.0.0.1", way.service.port, requests, connections, calls, expected=EXPECTED))
    return seen, (way.service.cpu_seconds() - before) / seen.calls * 1000


def turn(
    asked: Service, folder: Path, calls: int, fastmcp: str | None, contextforge: str | None, *, ahead: bool
) -> dict[str, Measured]:
    """Every way once."""
    (folder / "theirs").mkdir()
    ways: dict[str, AbstractContextManager[Way]] = {
        "direct": peers.direct(asked),
        "FastAPI proxy": peers.floor(asked),
        "Practicum": peers.gateway(asked, folder / "ours"),
        _OVER_MCP: peers.mcp(asked, folder / "mcp"),
    }
    if fastmcp is not None:
        ways["FastMCP"] = peers.fastmcp(asked, fastmcp)
    if contextforge is not None:
        ways["ContextForge"] = peers.contextforge(asked, contextforge, folder / "theirs")
    return {name: measured(way, asked, calls, memory=name == "Practicum", ahead=ahead) for name, way in ways.items()}


def show(turns: list[dict[str, Measured]]) -> None:
    """The table."""
    print(f"{'':14} {'one at a time':^29}  {f'{MANY} at a time':^38}  {'first':>8}")
    names = ("median ms", "p95 ms", "CPU ms", "median ms", "p95 ms", "CPU ms", "calls/s", "answer s")
    print(f"{'':14} " + " ".join(f"{name:>9}" for name in names))
    for name in turns[0]:
        columns = zip(*(_figures(turn[name]) for turn in turns), strict=True)
        print(f"{name:14} " + " ".join(f"{statistics.median(column):9.2f}" for column in columns))


def _figures(one: Measured) -> tuple[float, ...]:
    alone, many = one.alone, one.many
    return (
        *(alone.median, alone.p95, one.alone_cpu),
        *(many.median, many.p95, one.many_cpu, _per_second(one)),
        one.ready_seconds,
    )


def promises(turns: list[dict[str, Measured]]) -> list[Promise]:
    """Every promise."""
    ours = [turn["Practicum"] for turn in turns]
    added = [turn["Practicum"].alone.median - turn["direct"].alone.median for turn in turns]
    held = [one.megabytes for one in ours if one.megabytes is not None]
    return [
        Promise("a call more than a direct one, median", statistics.median(added), most=8, unit="ms"),
        *_faster(turns, "ContextForge", 5),
        *_faster(turns, "FastMCP", 3),
        Promise("ready after its start", statistics.median(one.ready_seconds for one in ours), most=3, unit="s"),
        Promise(f"memory with {MOST} calls at a time", statistics.median(held), most=250, unit="MB"),
    ]


def _faster(turns: list[dict[str, Measured]], peer: str, least: float) -> list[Promise]:
    what = f"throughput on the same cores against {peer}, {MANY} at a time"
    if peer not in turns[0]:
        return [Promise(what, None, least=least, unit="times")]
    by_cpu = statistics.median(turn[peer].many_cpu / turn["Practicum"].many_cpu for turn in turns)
    by_clock = statistics.median(_per_second(turn["Practicum"]) / _per_second(turn[peer]) for turn in turns)
    print(f"against {peer}: {by_cpu:.2f} times as much per second of CPU, {by_clock:.2f} times per second")
    if peer == "FastMCP":
        over = statistics.median(turn[peer].many_cpu / turn[_OVER_MCP].many_cpu for turn in turns)
        print(f"over MCP, as {peer}: {over:.2f} times as much per second of CPU")
    return [Promise(what, by_cpu, least=least, unit="times")]


def _per_second(one: Measured) -> float:
    return one.many.calls / one.many.wall_seconds


def main() -> int:
    """Measure, print, and say whether every promise holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--calls", type=int, default=600, help=f"with {MANY} at a time; a quarter of it one at a time")
    parser.add_argument("--fastmcp", metavar="PYTHON", help=f"an interpreter that has {peers.FASTMCP}")
    parser.add_argument("--contextforge", metavar="PYTHON", help=f"an interpreter that has {peers.CONTEXTFORGE}")
    parser.add_argument("--ahead", action="store_true", help="what is measured goes ahead of all else; needs root")
    given = parser.parse_args()
    turns: list[dict[str, Measured]] = []
    with (
        interpreter(peers.FASTMCP, given.fastmcp) as fastmcp,
        interpreter(peers.CONTEXTFORGE, given.contextforge) as contextforge,
    ):
        for _ in range(given.runs):
            with tempfile.TemporaryDirectory() as folder, system() as one:
                turns.append(turn(one, Path(folder), given.calls, fastmcp, contextforge, ahead=given.ahead))
    cores, busy = os.cpu_count(), os.getloadavg()[0]
    print(f"{given.runs} turns, {given.calls} calls each; {cores} cores, on which {busy:.1f} programs ran at the end\n")
    show(turns)
    print()
    kept = promises(turns)
    print("\n".join(map(str, kept)))
    return 0 if all(promise.kept for promise in kept) else 1


if __name__ == "__main__":
    sys.exit(main())
