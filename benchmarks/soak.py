"""Very many calls, many at a time, and then everything counted: nothing is lost, nothing is there twice.

    python -m benchmarks.soak [--calls 20000] [--at-once 64]

Half of the calls read, half add a note with a text of its own. Afterwards the system's own count, the ledger (as the
episode's trajectory shows it), the episode's events and the audit log have to say the same, and the audit log has to
be whole. Exits with 1 and says what is wrong where they do not.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.counting import different, plain
from benchmarks.load import Plan
from benchmarks.peers import Ours, gateway, system, tool_call
from benchmarks.services import Service, load

_OK = '"status":"ok"'


def soak(calls: int, at_once: int) -> Generator[str]:
    """What is wrong after so many calls; nothing, if all is well.

    Args:
        calls: how many, an even number.
        at_once: how many at a time.

    Raises:
        RuntimeError: a call was not answered as it has to be.
    """
    notes = [f"note {number}" for number in range(calls // 2)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        asked = stack.enter_context(system())
        ours = stack.enter_context(gateway(asked, folder))
        requests = [
            request
            for note in notes
            for request in (
                tool_call(ours.key, "orders_add_note", {"text": note}),
                tool_call(ours.key, "orders_get_order", {"id": "17"}),
            )
        ]
        began = time.perf_counter()
        load(Plan("127.0.0.1", ours.service.port, requests, at_once, calls, expected=_OK))
        seconds, megabytes = time.perf_counter() - began, ours.service.megabytes()
        print(f"{calls} calls, {at_once} at a time: {calls / seconds:.0f} calls/s, at most {megabytes:.0f} MB")
        yield from _faults(asked, ours, notes)


def _faults(asked: Service, ours: Ours, notes: list[str]) -> Generator[str]:
    calls = 2 * len(notes)
    wanted = Counter({f'POST /notes {{"text":"{note}"}}': 1 for note in notes}) + Counter(
        {"GET /orders/17": len(notes)}
    )
    seen = Counter[str](json.loads(asked.ask("GET", "/seen")[0]))
    yield from different("the system was asked", {plain(each): times for each, times in seen.items()}, wanted)

    ours.service.ask(
        "POST", f"/v1/episodes/{ours.episode}/close", {"status": "completed", "cause": "policy"}, ours.admin
    )
    made = json.loads(ours.service.ask("GET", f"/v1/trajectories/{ours.episode}", None, ours.admin)[0])["invocations"]
    yield from different("the ledger holds", _asked(made), wanted)
    yield from different(
        "the ledger's outcomes are", Counter(one["observation"]["status"] for one in made), {"ok": calls}
    )
    yield from different(
        "the ledger's keys are", {"different": len({one["key"] for one in made})}, {"different": calls}
    )

    lines = ours.service.ask("GET", f"/v1/episodes/{ours.episode}/events", None, ours.admin)[0].splitlines()
    events = Counter(json.loads(line[5:])["type"] for line in lines if line.startswith("data:"))
    told = {"episode.started": 1, "call.started": calls, "call.finished": calls, "episode.ended": 1}
    yield from different("the episode's events are", events, told)

    log = ours.service.ask("GET", "/v1/audit/export", None, ours.admin)[0].splitlines()
    entries = [entry for entry in map(json.loads, log) if entry["action"].startswith("tool.")]
    kinds = Counter(f"{entry['action']} {entry['outcome']}" for entry in entries)
    yield from different("the audit log says", kinds, {"tool.called started": calls, "tool.finished ok": calls})
    called = Counter(entry["details"]["invocation"] for entry in entries)
    yield from different("its entries are of", Counter(called.values()), {2: calls})
    check = json.loads(ours.service.ask("GET", "/v1/audit/verify", None, ours.admin)[0])
    if not check["ok"]:
        yield f"the audit log is not whole from {check['broken']} on: {check['why']}"


def _asked(made: list[dict[str, Any]]) -> Counter[str]:
    """What the ledger's calls ask of the system."""
    return Counter(
        "GET /orders/17" if one["tool"] == "orders_get_order" else plain(f"POST /notes {json.dumps(one['arguments'])}")
        for one in made
    )


def main() -> int:
    """Call, count, say what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--at-once", type=int, default=64)
    given = parser.parse_args()
    faults = list(soak(given.calls, given.at_once))
    print("\n".join(faults) or "no lost call, no lost record, no lost audit entry; all four agree")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
