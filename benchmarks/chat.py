"""What a chat completion costs through the gateway, against LiteLLM's proxy in the same run and on the same model.

    python -m benchmarks.chat [--runs 3] [--calls 600] [--litellm PYTHON] [--ahead]

The model server answers at once, whole or in some 20 pieces, and is asked directly, through a bare FastAPI proxy (whole
answers only), through LiteLLM's proxy (one worker, no database) and through the gateway, with an episode key: every
call is recorded into the episode, on the disk before its end is seen. Through the gateway once more the server is
vLLM's, whose token ids and logprobs are recorded too. Every service is a fresh process, the ways are measured in turns,
and the load generator speaks HTTP itself. Shown are medians over the turns; ratios are medians of the ratios of the
turns. Throughput is what a second of a service's CPU answers: it is the same whatever else the machine does; how long
an answer takes is so only where what is measured goes ahead of everything else, for which `--ahead` needs root.
Exits with 1 if a promise is missed.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gateway import Promise
from benchmarks.load import Plan, Request, Seen
from benchmarks.model import FIRST
from benchmarks.peers import EXPECTED, FLOOR, RULES, Way, registration, system
from benchmarks.services import Service, ahead_of_all, free_port, interpreter, load, running

LITELLM = "litellm[proxy]==1.108.7"
MANY = 64
_WARM = 100
_KEY = "sk-bench-0123456789"
_JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Measured:
    """One turn of one way; CPU in milliseconds of the service for one answer.

    Attributes:
        alone: one whole answer after the other.
        alone_cpu: of one of them.
        many: 64 whole answers at a time.
        many_cpu: of one of them.
        streamed: one streamed answer after the other.
        streamed_cpu: of one of them.
        flood: 64 streamed answers at a time.
        flood_cpu: of one of them.
    """

    alone: Seen
    alone_cpu: float
    many: Seen
    many_cpu: float
    streamed: Seen
    streamed_cpu: float
    flood: Seen
    flood_cpu: float


def conversation(model: str, *, stream: bool) -> str:
    """What an agent sends in the middle of its work."""
    wanted = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    names = ("get_order", "refund_order", "add_note", "find_customer")
    wish = {"id": "call_1", "type": "function", "function": {"name": "get_order", "arguments": '{"id": "1042"}'}}
    body = {
        "model": model,
        "messages": [
            {"role": "system", "content": "You look after the orders of a shop, and never refund twice. " * 20},
            {"role": "user", "content": "Where is order 1042, and who is it for?"},
            {"role": "assistant", "content": None, "tool_calls": [wish]},
            {"role": "tool", "tool_call_id": "call_1", "content": json.dumps({"id": "1042", "status": "shipped"})},
        ],
        "tools": [
            {"type": "function", "function": {"name": name, "description": "Look.", "parameters": wanted}}
            for name in names
        ],
        "temperature": 0.7,
        "max_tokens": 256,
    }
    return json.dumps(body | ({"stream": True, "stream_options": {"include_usage": True}} if stream else {}))


def asking(model: str, key: str, *, stream: bool) -> Request:
    """The request of one answer."""
    path = "/v1/chat/completions"
    return Request("POST", path, {**_JSON, "Authorization": f"Bearer {key}"}, conversation(model, stream=stream))


@dataclass(frozen=True)
class ChatWay(Way):
    """A way to the model.

    Attributes:
        streams: requests of streamed answers; None where they do not come in pieces.
    """

    streams: list[Request] | None = None


def _one(service: Service, model: str, key: str) -> ChatWay:
    whole, streamed = (asking(model, key, stream=stream) for stream in (False, True))
    return ChatWay(service, lambda _: [whole], [streamed])


def model_server() -> AbstractContextManager[Service]:
    """The model that is asked, in whatever way."""
    port = free_port()
    return running([sys.executable, "-m", "benchmarks.model", str(port)], port, "/")


@contextlib.contextmanager
def direct(asked: Service) -> Generator[ChatWay]:
    """Nothing in between."""
    yield _one(asked, "bench", _KEY)


@contextlib.contextmanager
def floor(asked: Service) -> Generator[ChatWay]:
    """A FastAPI application that passes everything on with httpx and does nothing else."""
    port = free_port()
    with running([sys.executable, "-c", FLOOR, asked.url, str(port)], port, "/") as service:
        yield ChatWay(service, lambda _: [asking("bench", _KEY, stream=False)])


@contextlib.contextmanager
def litellm(asked: Service, python: str, folder: Path) -> Generator[ChatWay]:
    """LiteLLM's proxy as its docs say for production, one worker, without a database."""
    port, config = free_port(), folder / "litellm.json"  # JSON is YAML
    reached = {"model": "openai/bench", "api_base": f"{asked.url}/v1", "api_key": _KEY}
    settings = {
        "model_list": [{"model_name": "bench", "litellm_params": reached}],
        "litellm_settings": {"set_verbose": False, "request_timeout": 60, "telemetry": False},
        "general_settings": {"master_key": _KEY},
    }
    config.write_text(json.dumps(settings))
    command = [str(Path(python).parent / "litellm"), "--config", str(config), "--host", "127.0.0.1"]
    environment = {"LITELLM_MODE": "PRODUCTION", "LITELLM_LOG": "ERROR", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with running(
        [*command, "--port", str(port), "--num_workers", "1"], port, "/health/readiness", environment, str(folder)
    ) as service:
        yield _one(service, "bench", _KEY)


@contextlib.contextmanager
def gateway(asked: Service, folder: Path, provider: str) -> Generator[ChatWay]:
    """This house's gateway: an episode for each connection, everything on, its embedded store."""
    port = free_port()
    command = [sys.executable, "-m", "practicum_gateway", "--port", str(port), "--data-dir", str(folder)]
    with running(command, port, "/healthz") as service:
        admin = {"Authorization": f"Bearer {(folder / 'admin.key').read_text().strip()}"}
        with system() as orders:
            service.ask("POST", "/v1/connectors", registration(orders), admin)
        service.ask("PUT", "/v1/rules", RULES, admin)
        model = {"alias": "bench", "provider": "litellm", "target": f"{provider}/bench", "base_url": f"{asked.url}/v1"}
        service.ask("POST", "/v1/models", {**model, "api_key": _KEY}, admin)
        wish = {"task": "measure", "model": "bench", "tools": ["orders.*"], "driver": "client"}
        keys: list[str] = []
        for _ in range(MANY):
            episode = json.loads(service.ask("POST", "/v1/episodes", {**wish, "limits": {"steps": 10_000}}, admin)[0])[
                "id"
            ]
            keys.append(json.loads(service.ask("POST", f"/v1/episodes/{episode}/keys", {}, admin)[0])["key"])
        whole, streams = ([asking("bench", key, stream=stream) for key in keys] for stream in (False, True))
        yield ChatWay(service, lambda _: whole, streams)


_NOTHING = Seen(median=0.0, p95=0.0, wall_seconds=0.0, calls=1)


def measured(opened: AbstractContextManager[ChatWay], asked: Service, calls: int, *, ahead: bool = False) -> Measured:
    """One turn."""
    with opened as way, ahead_of_all(asked, way.service) if ahead else contextlib.nullcontext():
        alone, alone_cpu = _loaded(way, way.requests(1), 1, calls // 2)
        many, many_cpu = _loaded(way, way.requests(MANY), MANY, calls)
        if way.streams is None:
            return Measured(alone, alone_cpu, many, many_cpu, _NOTHING, 0.0, _NOTHING, 0.0)
        streamed, streamed_cpu = _loaded(way, way.streams, 1, calls // 4, streamed=True)
        flood, flood_cpu = _loaded(way, way.streams, MANY, calls, streamed=True)
        return Measured(alone, alone_cpu, many, many_cpu, streamed, streamed_cpu, flood, flood_cpu)


def _loaded(
    way: ChatWay, requests: list[Request], connections: int, calls: int, *, streamed: bool = False
) -> tuple[Seen, float]:
    first = f'"{FIRST} ' if streamed else ""
    expected = "[DONE]" if streamed else EXPECTED
    requests = requests[:connections]
    plan = Plan("127.0.0.1", way.service.port, requests, connections, max(_WARM, 2 * connections), 0, expected, first)
    load(plan)
    before = way.service.cpu_seconds()
    seen = load(Plan("127.0.0.1", way.service.port, requests, connections, calls, 0, expected, first))
    return seen, (way.service.cpu_seconds() - before) / seen.calls * 1000


def turn(asked: Service, folder: Path, calls: int, proxy: str | None, *, ahead: bool) -> dict[str, Measured]:
    """Every way once."""
    ways: dict[str, AbstractContextManager[ChatWay]] = {
        "direct": direct(asked),
        "FastAPI proxy": floor(asked),
        "Practicum": gateway(asked, folder / "ours", "openai"),
        "  with tokens": gateway(asked, folder / "tokens", "hosted_vllm"),
    }
    if proxy is not None:
        ways["LiteLLM proxy"] = litellm(asked, proxy, folder)
    return {name: measured(way, asked, calls, ahead=ahead) for name, way in ways.items()}


def show(turns: list[dict[str, Measured]]) -> None:
    """The table."""
    print(f"{'':14} {'whole, one at a time':^19} {f'whole, {MANY} at a time':^29} ", end="")
    print(f"{'streamed, one at a time':^29} {f'streamed, {MANY} at a time':^29}")
    names = ("median ms", "CPU ms", "median ms", "CPU ms", "a second", "first ms", "median ms", "CPU ms")
    names = (*names, "first ms", "CPU ms", "a second")
    print(f"{'':14} " + " ".join(f"{name:>9}" for name in names))
    for name in turns[0]:
        columns = zip(*(_figures(turn[name]) for turn in turns), strict=True)
        print(f"{name:14} " + " ".join(f"{statistics.median(column):9.2f}" for column in columns))


def _figures(one: Measured) -> tuple[float, ...]:
    return (
        *(one.alone.median, one.alone_cpu),
        *(one.many.median, one.many_cpu, _per_second(one.many)),
        *(one.streamed.first, one.streamed.median, one.streamed_cpu),
        *(one.flood.first, one.flood_cpu, _per_second(one.flood)),
    )


def _per_second(seen: Seen) -> float:
    return seen.calls / seen.wall_seconds if seen.wall_seconds else 0.0


def promises(turns: list[dict[str, Measured]]) -> list[Promise]:
    """Every promise."""
    whole = [turn["Practicum"].alone.median - turn["direct"].alone.median for turn in turns]
    first = [turn["Practicum"].streamed.first - turn["direct"].streamed.first for turn in turns]
    faster, streaming = None, None
    if "LiteLLM proxy" in turns[0]:
        faster = statistics.median(turn["LiteLLM proxy"].many_cpu / turn["Practicum"].many_cpu for turn in turns)
        streaming = statistics.median(turn["LiteLLM proxy"].flood_cpu / turn["Practicum"].flood_cpu for turn in turns)
    against = f"throughput on the same cores against LiteLLM's proxy, {MANY} at a time"
    return [
        Promise("a whole answer more than a direct one, median", statistics.median(whole), most=5, unit="ms"),
        Promise("a first piece more than a direct one, median", statistics.median(first), most=5, unit="ms"),
        Promise(against, faster, least=1, unit="times"),
        Promise(f"{against}, streamed", streaming, least=1, unit="times"),
    ]


def main() -> int:
    """Measure, print, and say whether every promise holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--calls", type=int, default=600, help=f"with {MANY} at a time; fewer one at a time")
    parser.add_argument("--litellm", metavar="PYTHON", help=f"an interpreter that has {LITELLM}")
    parser.add_argument("--ahead", action="store_true", help="what is measured goes ahead of all else; needs root")
    given = parser.parse_args()
    turns: list[dict[str, Measured]] = []
    with interpreter(LITELLM, given.litellm) as proxy:
        for _ in range(given.runs):
            with tempfile.TemporaryDirectory() as folder, model_server() as asked:
                turns.append(turn(asked, Path(folder), given.calls, proxy, ahead=given.ahead))
    cores, busy = os.cpu_count(), os.getloadavg()[0]
    print(f"{given.runs} turns, {given.calls} calls each; {cores} cores, on which {busy:.1f} programs ran at the end\n")
    show(turns)
    print()
    kept = promises(turns)
    print("\n".join(map(str, kept)))
    return 0 if all(promise.kept for promise in kept) else 1


if __name__ == "__main__":
    sys.exit(main())
