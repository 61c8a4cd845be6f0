"""A stand-in gateway whose episodes run against a book of numbers, with a model that does what a test says."""

import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from practicum.contracts.episodes import (
    CallReceipt,
    CallReference,
    Episode,
    EpisodeRequest,
    EpisodeResult,
    EpisodeStatus,
    InvokeRequest,
    RewardRequest,
    TurnReceipt,
    TurnRequest,
)
from practicum.contracts.models import ModelInfo, Provider, Usage
from practicum.contracts.tasks import States
from practicum.contracts.tools import CallStatus
from tests.sdk.stand_in import NOW, Answer, Seen, StandIn, as_json, problem, serving

RIGHT, WRONG, IDLE, DOWN, ASKS, UNREADABLE, ABSENT = "right", "wrong", "idle", "down", "asks", "unreadable", "absent"

Behaviour = Callable[[EpisodeRequest], str]


@dataclass
class _Run:
    """One episode."""

    id: str
    request: EpisodeRequest
    behaviour: str
    lines: States
    result: EpisodeResult | None = None
    rewards: list[RewardRequest] = field(default_factory=list[RewardRequest])
    released: bool = False

    def shown(self) -> Episode:
        request, result = self.request, self.result
        return Episode(
            id=self.id,
            task=request.task,
            model=request.model,
            tools=request.tools,
            limits=request.limits,
            driver=request.driver,
            mode=request.mode,
            status=result.status if result else EpisodeStatus.RUNNING,
            principal="ada",
            created=NOW,
            ended=NOW + timedelta(seconds=2) if result else None,
            result=result,
            reward=self.rewards[-1].reward if self.rewards else None,
            metadata=request.metadata,
        )


class PractisingGateway(StandIn):
    """Runs episodes; what the model does in one is decided when it begins."""

    def __init__(self, behaviour: Behaviour) -> None:
        super().__init__()
        self.behaviour = behaviour
        self.version = "smol@1"
        self.runs: dict[str, _Run] = {}
        self.requests: Counter[str] = Counter()
        self.dies_after: int | None = None
        self._lock = threading.Lock()

    def take(self, request: Seen) -> Answer:
        with self._lock:
            self.seen.append(request)
            if self.dies_after is not None:
                if not self.dies_after:
                    return problem(503, "gateway_unavailable", "gone")
                self.dies_after -= 1
            return self._answer(request)

    def run_of(self, task: str, attempt: int = 0) -> _Run:
        """The latest episode of an attempt."""
        labels = (task, str(attempt))
        runs = (
            run
            for run in self.runs.values()
            if (run.request.metadata["task"], run.request.metadata["attempt"]) == labels
        )
        return list(runs)[-1]

    def _answer(self, request: Seen) -> Answer:
        match request.method, *request.target.strip("/").split("/")[1:]:
            case "GET", "models", alias:
                info = ModelInfo(alias=alias, provider=Provider.LLAMA_CPP, target="smol", version=self.version)
                return _json(info) if alias == "local" else problem(404, "not_found", f"no model {alias}")
            case "POST", "episodes":
                return _json(self._start(EpisodeRequest.model_validate_json(request.body)).shown())
            case _, "episodes", id, *verb:
                self.requests[" ".join((request.method, *verb))] += 1
                return self._act(self.runs[id], verb[0] if verb else "", request)
            case _:
                return problem(404, "not_found", request.target)

    def _start(self, request: EpisodeRequest) -> _Run:
        for run in self.runs.values():
            if run.request.idempotency_key == request.idempotency_key:
                return run
        run = _Run(f"ep{len(self.runs) + 1}", request, self.behaviour(request), request.start)
        self.runs[run.id] = run
        return run

    def _act(self, run: _Run, verb: str, request: Seen) -> Answer:
        if verb == "turns":
            return _turn(run, TurnRequest.model_validate_json(request.body).step)
        if verb == "calls":
            return _call(run, InvokeRequest.model_validate_json(request.body))
        if verb == "states":
            return _states(run)
        if verb == "practice":
            run.released = True
            return Answer(204)
        if verb == "close":
            run.result = run.result or EpisodeResult.model_validate_json(request.body)
        elif verb == "reward":
            run.rewards.append(RewardRequest.model_validate_json(request.body))
        return _json(run.shown())


def _states(run: _Run) -> Answer:
    if run.released or run.behaviour == ABSENT:
        return problem(404, "not_found", "the book is given back")
    return _json(run.lines) if run.behaviour != UNREADABLE else problem(502, "system", "the book is closed")


def _turn(run: _Run, step: int) -> Answer:
    if run.behaviour == DOWN:
        return problem(502, "model_provider", "the model is gone")
    calls = (CallReference(index=0, tool="book_write"),) if step == 0 and run.behaviour != IDLE else ()
    return _json(TurnReceipt(step=step, calls=calls, usage=Usage(prompt_tokens=10, completion_tokens=2)))


def _call(run: _Run, request: InvokeRequest) -> Answer:
    receipt = CallReceipt(step=request.step, call=request.call, status=CallStatus.OK)
    if run.behaviour == ASKS:
        asking = {"status": CallStatus.WAITING, "approval": "ap1", "arguments_hash": "abc"}
        return _json(receipt.model_copy(update=asking))
    wanted = int(run.request.task.removeprefix("Write ").removesuffix("."))
    run.lines = {"book": {"lines": {"1": {"number": wanted if run.behaviour != WRONG else 0}}}}
    return _json(receipt)


def _json(value: object) -> Answer:
    return Answer(body=as_json(value))


@contextmanager
def practising(behaviour: Behaviour) -> Generator[PractisingGateway]:
    """A gateway of this kind on a free port, until the block ends."""
    gateway = PractisingGateway(behaviour)
    with serving(stand_in=gateway):
        yield gateway
