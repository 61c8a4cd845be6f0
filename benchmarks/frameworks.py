"""Agents of three frameworks, many at a time, for minutes; then every record is compared with what has to be in it.

    python -m benchmarks.frameworks [--minutes 10] [--at-once 64]

Each episode has a nonce; all that its model says and its system answers follows from it (`nonces`). Afterwards each
episode's record has to hold every byte of it and none of another's; what the model answered, the system was asked, the
ledger, the events and the audit log have to agree; and the gateway's memory must have stopped growing. Exits with 1 and
says what is wrong where they do not.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import secrets
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks.counting import different, plain
from benchmarks.nonces import NONCE, NOTE, TURNS, Turn, fails, task, turn
from benchmarks.peers import registration
from benchmarks.runners import PYTHONS, Runner, runner
from benchmarks.services import Service, free_port, running

FLAT = 1.0
"""Megabytes a minute that the gateway may grow by in the last third: what it remembers of the latest thousand episodes
fills up meanwhile."""
_LONG_SECONDS = 600.0
"""From how long a run on its memory is looked at: before, what is remembered has not filled up."""
_SAMPLE_SECONDS = 2.0
_RULES = {"rules": [{"id": "orders", "tools": ["orders.*"], "outcome": "allow"}]}
_ROWS = ("episodes", "model_calls", "invocations", "events", "audit", "keys", "messages", "artifacts")


@dataclass(frozen=True)
class Done:
    """An episode that ended.

    Attributes:
        id: of the episode.
        nonce: its nonce.
        framework: whose agent it was.
        answer: what the agent said last.
    """

    id: str
    nonce: str
    framework: str
    answer: str


@dataclass(frozen=True)
class Memory:
    """What the gateway held at a moment.

    Attributes:
        seconds: since the first episode began.
        megabytes: resident.
    """

    seconds: float
    megabytes: float


class Soak:
    """Agents that run until their time is over."""

    def __init__(self, gateway: Service, admin: httpx.AsyncClient, runners: Sequence[Runner]) -> None:
        """Nothing runs yet."""
        self._gateway = gateway
        self._admin = admin
        self._ways = itertools.cycle(
            (each, api, streamed) for api in ("chat", "responses") for streamed in (False, True) for each in runners
        )
        self._numbers = itertools.count(1)
        self.done: list[Done] = []
        self.failed: list[str] = []
        self.memory: list[Memory] = []

    async def run(self, at_once: int, seconds: float) -> None:
        """Keep so many at a time for so long, and let those end that have begun."""
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._watch(began))
            agents = [group.create_task(self._agents(began + seconds)) for _ in range(at_once)]
            await asyncio.wait(agents)
            watching.cancel()

    async def _agents(self, until: float) -> None:
        while time.monotonic() < until:
            nonce = f"n{next(self._numbers):06d}x{secrets.token_hex(6)}"
            try:
                self.done.append(await self._one(nonce))
            except (RuntimeError, httpx.HTTPError) as error:
                self.failed.append(f"{nonce}: {type(error).__name__} {str(error)[-1_000:]}")

    async def _one(self, nonce: str) -> Done:
        agent, api, streamed = next(self._ways)
        wish = {"task": task(nonce), "model": "nonces", "tools": ["orders.*"], "driver": "client"}
        labels = {"framework": agent.framework, "api": api, "streamed": str(streamed)}
        episode = (await self._ask("POST", "/v1/episodes", wish | {"metadata": labels}))["id"]
        key = (await self._ask("POST", f"/v1/episodes/{episode}/keys", {}))["key"]
        told = agent.run(url=self._gateway.url, key=key, model="nonces", task=task(nonce), api=api, streamed=streamed)
        answer = await asyncio.wrap_future(told)
        await self._ask("POST", f"/v1/episodes/{episode}/close", {"status": "completed", "cause": "policy"})
        return Done(episode, nonce, agent.framework, answer)

    async def _ask(self, method: str, path: str, body: object) -> Any:
        answer = await self._admin.request(method, path, json=body)
        if not answer.is_success:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
        return answer.json()

    async def _watch(self, began: float) -> None:
        while True:
            self.memory.append(Memory(time.monotonic() - began, _held(self._gateway.process.pid)))
            await asyncio.sleep(_SAMPLE_SECONDS)


async def soak(at_once: int, seconds: float) -> AsyncGenerator[str]:
    """What is wrong after so long; nothing, if all is well.

    Args:
        at_once: how many episodes at a time.
        seconds: for how long new ones are begun.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        world, gateway, key = stack.enter_context(services(folder))
        runners = [stack.enter_context(runner(each)) for each in PYTHONS]
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=gateway.url, headers=headers, timeout=120) as admin:
            going = Soak(gateway, admin, runners)
            await going.run(at_once, seconds)
            print(_told(going, at_once, gateway))
            for fault in going.failed[:20]:
                yield f"an agent ended with an error: {fault}"
            async for fault in _faults(going, admin, world):
                yield fault
            for fault in _rows(folder, going):
                yield fault
            if seconds >= _LONG_SECONDS and (growth := slope(going.memory[-len(going.memory) // 3 :])) > FLAT:
                yield f"the gateway grew by {growth:.2f} MB a minute in the last third"


@contextlib.contextmanager
def services(folder: Path) -> Generator[tuple[Service, Service, str]]:
    """The model and the system, a gateway that knows both, and its administrator's key.

    Args:
        folder: the gateway's.
    """
    port = free_port()
    with (
        running([sys.executable, "-m", "benchmarks.nonces", str(port)], port, "/seen") as world,
        gateway_of(folder, free_port()) as service,
    ):
        key = (folder / "admin.key").read_text().strip()
        admin = {"Authorization": f"Bearer {key}"}
        service.ask("POST", "/v1/connectors", registration(world), admin)
        service.ask("PUT", "/v1/rules", _RULES, admin)
        model = {"alias": "nonces", "provider": "litellm", "target": "openai/nonces", "base_url": f"{world.url}/v1"}
        service.ask("POST", "/v1/models", model, admin)
        yield world, service, key


def gateway_of(folder: Path, port: int) -> AbstractContextManager[Service]:
    """The gateway of a folder, on a port."""
    command = [sys.executable, "-m", "practicum_gateway", "--port", str(port), "--data-dir", str(folder)]
    return running(command, port, "/healthz")


def _told(going: Soak, at_once: int, gateway: Service) -> str:
    by_framework = Counter(done.framework for done in going.done)
    held = [one.megabytes for one in going.memory]
    third = max(1, len(going.memory) // 3)
    growths = [slope(going.memory[place : place + third]) for place in (0, third, 2 * third)]
    return (
        f"{len(going.done)} episodes ({', '.join(f'{name} {count}' for name, count in sorted(by_framework.items()))}), "
        f"{at_once} at a time, {going.memory[-1].seconds / 60:.1f} minutes, {len(going.failed)} failed\n"
        f"gateway: {held[0]:.0f} MB at first, {statistics.mean(held[-third:]):.0f} MB in the last third, "
        f"{max(held):.0f} MB at most; MB a minute in each third: {', '.join(f'{each:+.2f}' for each in growths)}; "
        f"{gateway.cpu_seconds():.0f} s of CPU"
    )


def slope(memory: Sequence[Memory]) -> float:
    """Megabytes a minute, by least squares."""
    if len(memory) < 2:
        return 0.0
    line = statistics.linear_regression([one.seconds for one in memory], [one.megabytes for one in memory])
    return 60 * line.slope


async def _faults(going: Soak, admin: httpx.AsyncClient, world: Service) -> AsyncGenerator[str]:
    for done in going.done:
        record = (await admin.get(f"/v1/trajectories/{done.id}")).json()
        events = (await admin.get(f"/v1/episodes/{done.id}/events")).text.splitlines()
        kinds = Counter(json.loads(line[5:])["type"] for line in events if line.startswith("data:"))
        for fault in faults_of(done, record, kinds):
            yield f"{done.id} of {done.framework}, {done.nonce}: {fault}"
    seen = json.loads(world.ask("GET", "/seen")[0])
    nonces = [done.nonce for done in going.done]
    if going.failed:
        return  # what was begun and did not end is in what was seen
    wanted = Counter(f"{nonce} {number}" for nonce in nonces for number in range(TURNS))
    for fault in different("the model answered", seen["answered"], wanted):
        yield fault
    for fault in different(
        "the system was asked", {plain(each): n for each, n in seen["asked"].items()}, _asks(nonces)
    ):
        yield fault
    async for fault in _of_audit(going, admin):
        yield fault


def faults_of(done: Done, record: dict[str, Any], kinds: Counter[str]) -> Generator[str]:
    """What is wrong with the record of one episode; nothing, if it holds all of it and nothing else.

    Args:
        done: the episode.
        record: its trajectory as JSON.
        kinds: how often its events are of each kind.
    """
    strange = set(NONCE.findall(json.dumps(record))) - {done.nonce}
    if strange:
        yield f"it speaks of {sorted(strange)[:5]}"
    said = [turn(done.nonce, number) for number in range(TURNS)]
    if done.answer != said[-1].text:
        yield f"its agent said {done.answer[:200]!r}"
    yield from _of_messages(done.nonce, record["messages"], said)
    yield from _of_calls(done.nonce, record["model_calls"], said)
    wishes = [(call.id, call.tool, call.arguments) for each in said for call in each.calls]
    made = sorted((one["key"], one["tool"], one["arguments"]) for one in record["invocations"])
    if made != wishes:
        yield f"its ledger holds {made}"
    told = {
        message["tool_call_id"]: str(message["content"]) for message in record["messages"] if message["role"] == "tool"
    }
    for one in record["invocations"]:
        content = one["observation"]["content"]
        if one["observation"]["status"] != "ok" or json.loads(content) != json.loads(told[one["key"]]):
            yield f"call {one['key']} is told as {told[one['key']][:200]!r} and was {content[:200]!r}"
    down = int(any(fails(done.nonce, number) for number in range(TURNS)))
    wanted = {"turn.started": TURNS + down, "turn.finished": TURNS, "call.started": 3, "call.finished": 3}
    wanted |= {"episode.started": 1, "episode.ended": 1} | ({"turn.failed": down} if down else {})
    yield from different("its events are", kinds, wanted)
    if not next(use for use in record["uses"] if use["use"] == "sft")["eligible"]:
        yield "it is not eligible for sft"


def _of_messages(nonce: str, messages: list[dict[str, Any]], said: list[Turn]) -> Generator[str]:
    roles = [message["role"] for message in messages]
    if roles != ["system", "user", "assistant", "tool", "assistant", "tool", "tool", "assistant"]:
        yield f"its messages are of {roles}"
        return
    if messages[1]["content"] != task(nonce):
        yield f"its task is {messages[1]['content'][:200]!r}"
    for message, wanted in zip((one for one in messages if one["role"] == "assistant"), said, strict=True):
        calls = [(call["id"], call["name"], call["arguments"]) for call in message["tool_calls"]]
        if message["content"] != wanted.text or calls != [(one.id, one.tool, one.arguments) for one in wanted.calls]:
            yield f"a turn is {str(message)[:300]}"


def _of_calls(nonce: str, calls: list[dict[str, Any]], said: list[Turn]) -> Generator[str]:
    accepted = [call for call in calls if call["standing"] == "accepted"]
    down = sum(fails(nonce, number) for number in range(TURNS))
    if (len(accepted), len(calls)) != (TURNS, TURNS + down):
        yield f"of {len(calls)} model calls {len(accepted)} are accepted"
        return
    if [call["parent"] for call in accepted] != [None, *(call["id"] for call in accepted[:-1])]:
        yield "its model calls do not continue one another"
    if any(call["candidates"] for call in calls):
        yield "a model call is in quarantine"
    for call, wanted in zip(accepted, said, strict=True):
        used = (call["usage"]["prompt_tokens"], call["usage"]["completion_tokens"])
        if used != wanted.tokens or call["response"]["content"] != wanted.text:
            yield f"model call {call['step']} took {used} tokens and said {str(call['response'])[:200]}"


async def _of_audit(going: Soak, admin: httpx.AsyncClient) -> AsyncGenerator[str]:
    kinds: Counter[str] = Counter()
    called: Counter[str] = Counter()
    async with admin.stream("GET", "/v1/audit/export") as answer:
        async for line in answer.aiter_lines():
            entry: dict[str, Any] = json.loads(line)
            if entry["action"].startswith("tool."):
                kinds[f"{entry['action']} {entry['outcome']}"] += 1
                called[entry["details"]["invocation"]] += 1
    made = 3 * len(going.done)
    for fault in different("the audit log says", kinds, {"tool.called started": made, "tool.finished ok": made}):
        yield fault
    for fault in different("its entries are of", Counter(called.values()), {2: made}):
        yield fault
    check = (await admin.get("/v1/audit/verify")).json()
    if not check["ok"]:
        yield f"the audit log is not whole from {check['broken']} on: {check['why']}"


def _rows(folder: Path, going: Soak) -> Generator[str]:
    """Count the rows of the database, and say which are too many or too few."""
    place = folder / "gateway.sqlite3"
    with closing(sqlite3.connect(place)) as connection:
        rows = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in _ROWS}  # noqa: S608  # names of ours
    print(f"rows: {rows}; {place.stat().st_size / 1e6:.0f} MB")
    if going.failed:
        return
    done = len(going.done)
    down = sum(any(fails(one.nonce, number) for number in range(TURNS)) for one in going.done)
    wanted = {"episodes": done, "model_calls": TURNS * done + down, "invocations": 3 * done}
    wanted["events"] = (2 + 2 * TURNS + 2 * 3) * done + 2 * down
    yield from different("the database has rows", {table: rows[table] for table in wanted}, wanted)


def _asks(nonces: Sequence[str]) -> Counter[str]:
    wanted: Counter[str] = Counter()
    for call in (call for nonce in nonces for number in range(TURNS) for call in turn(nonce, number).calls):
        note = f"POST /notes {json.dumps(call.arguments)}"
        wanted[plain(note) if call.tool == NOTE else f"GET /orders/{call.arguments['id']}"] += 1
    return wanted


def _held(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


async def _main(at_once: int, minutes: float) -> int:
    faults = [fault async for fault in soak(at_once, 60 * minutes)]
    print("\n".join(faults[:50]) or "no record lost, crossed or truncated; all agree")
    return 1 if faults else 0


def main() -> int:
    """Run, compare, say what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--at-once", type=int, default=64)
    given = parser.parse_args()
    return asyncio.run(_main(given.at_once, given.minutes))


if __name__ == "__main__":
    sys.exit(main())
