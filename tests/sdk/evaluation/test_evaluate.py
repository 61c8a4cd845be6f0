"""Evaluations over real HTTP against a gateway whose model does what a test says."""

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from practicum.client import AsyncPracticum
from practicum.contracts.episodes import Cause, Driver, EpisodeMode, EpisodeRequest, EpisodeStatus, Limits
from practicum.contracts.evaluation import AttemptResult, EvaluationReport
from practicum.contracts.models import Sampling
from practicum.contracts.tasks import Split
from practicum.episode.failures import Retries
from practicum.errors import (
    ConfigurationError,
    ConflictError,
    EpisodeError,
    GatewayUnavailableError,
    NotFoundError,
    RequestError,
)
from practicum.evaluation import Progress, evaluate, read_report
from practicum.evaluation.log import EvaluationLog
from tests.sdk.client.conftest import KEY
from tests.sdk.evaluation.practising import (
    ABSENT,
    ASKS,
    DOWN,
    IDLE,
    RIGHT,
    UNREADABLE,
    WRONG,
    Behaviour,
    PractisingGateway,
    practising,
)
from tests.sdk.evaluation.reports import PLAN
from tests.sdk.stand_in import scrubbed_environment
from tests.sdk.suites import NUMBERS, Numbers

HASTE = Retries(attempts=2, first_wait=0.01)


@pytest.fixture(autouse=True)
def clean_environment() -> Iterator[None]:
    with scrubbed_environment():
        yield


@asynccontextmanager
async def house(behaviour: Behaviour) -> AsyncGenerator[tuple[PractisingGateway, AsyncPracticum]]:
    with practising(behaviour) as gateway:
        async with AsyncPracticum(gateway.url, KEY, timeout=5) as client:
            yield gateway, client


async def run(client: AsyncPracticum, folder: Path, **options: Any) -> EvaluationReport:
    return await evaluate(client, NUMBERS, model="local", folder=folder, retries=HASTE, **options)


def always(behaviour: str) -> Behaviour:
    return lambda _: behaviour


def by_number(request: EpisodeRequest) -> str:
    """The first attempt is right at even numbers, the second at all."""
    return RIGHT if request.metadata["attempt"] == "1" or request.metadata["family"] == "even" else WRONG


async def test_an_evaluation_from_its_plan_to_its_report(tmp_path: Path) -> None:
    told: list[Progress] = []
    async with house(by_number) as (gateway, client):
        report = await run(client, tmp_path / "new" / "out", k=2, limit=4, on_attempt=told.append)
    assert (report.success.n, report.success.value, report.unscored) == (8, 6 / 8, 0)
    assert (report.pass_at_k.value, report.pass_hat_k.value) == (1.0, 0.5)
    assert {family: found.value for family, found in report.families.items()} == {"odd": 0.5, "even": 1.0}
    assert (report.suite, report.suite_digest, report.version) == ("numbers", NUMBERS.digest, "smol@1")
    assert (report.usage.prompt_tokens, report.seconds) == (8 * 20, 8 * 2.0)
    assert sorted(path.name for path in (tmp_path / "new/out").iterdir()) == [
        "attempts.jsonl",
        "evaluation.json",
        "report.json",
    ]
    assert read_report(tmp_path / "new/out") == read_report(tmp_path / "new/out/report.json") == report
    assert [(each.done, each.total) for each in told] == [(number, 8) for number in range(1, 9)]
    assert len(gateway.runs) == 8
    assert all(each.released for each in gateway.runs.values())


async def test_what_an_attempt_asks_of_the_gateway(tmp_path: Path) -> None:
    async with house(always(WRONG)) as (gateway, client):
        report = await run(client, tmp_path, limit=1, limits=Limits(steps=4), sampling=Sampling(temperature=1), k=2)
    task = NUMBERS.tasks(Split.HELD_OUT)[0]
    request = gateway.run_of(task.id).request
    assert (request.task, request.model, request.tools, request.start) == (task.prompt, "local", task.tools, task.start)
    assert (request.driver, request.mode) == (Driver.CLIENT, EpisodeMode.TRAINING)
    assert (request.limits, request.sampling) == (Limits(steps=4), Sampling(temperature=1))
    assert request.metadata == {
        "suite": "numbers",
        "split": "held_out",
        "family": "odd",
        "task": task.id,
        "evaluation": report.id,
        "attempt": "0",
    }
    assert len({each.request.idempotency_key for each in gateway.runs.values()}) == 2
    (reward,) = gateway.run_of(task.id).rewards
    assert (reward.reward, reward.source) == (0.0, "suite:numbers")
    assert reward.reason == "different: book/lines/1: number is 0, not 101"


async def test_seeds_are_the_attempts_own_and_the_same_for_every_model(tmp_path: Path) -> None:
    drawn: list[set[int | None]] = []
    for folder, seed in (("a", 7), ("b", 7), ("c", 8)):
        async with house(always(RIGHT)) as (gateway, client):
            await run(client, tmp_path / folder, limit=3, k=2, seed=seed)
            drawn.append({each.request.sampling.seed for each in gateway.runs.values()})
    assert len(drawn[0]) == 6
    assert drawn[0] == drawn[1]
    assert not drawn[0] & drawn[2]
    assert all(seed is not None and 0 <= seed < 2**31 for seed in drawn[0])


async def test_what_the_model_could_not_have_caused_is_unscored_and_tried_again_later(tmp_path: Path) -> None:
    down = {"numbers.held_out.1"}

    def behaviour(request: EpisodeRequest) -> str:
        return DOWN if request.metadata["task"] in down else RIGHT

    async with house(behaviour) as (gateway, client):
        report = await run(client, tmp_path, limit=3)
        assert (report.success.n, report.success.value, report.unscored) == (2, 1.0, 1)
        assert gateway.run_of("numbers.held_out.1").rewards[-1].reward is None
        assert report.endings == {EpisodeStatus.COMPLETED: 2, EpisodeStatus.FAILED: 1}
        down.clear()
        again = await run(client, tmp_path, limit=3)
    assert (again.success.n, again.unscored, again.id) == (3, 0, report.id)
    assert len(gateway.runs) == 4
    assert (tmp_path / "attempts.jsonl").read_text().count("\n") == 4


async def test_a_state_that_cannot_be_read_is_no_failure_of_the_model(tmp_path: Path) -> None:
    async with house(always(UNREADABLE)) as (gateway, client):
        report = await run(client, tmp_path, limit=2)
        gateway.behaviour = always(RIGHT)
        again = await run(client, tmp_path, limit=2)
    assert (report.success.n, report.unscored) == (0, 2)
    assert (again.success.n, again.success.value, again.unscored) == (2, 1.0, 0)
    line = AttemptResult.model_validate_json((tmp_path / "attempts.jsonl").read_text().splitlines()[0])
    assert (line.reward, line.cause, line.status) == (None, Cause.POLICY, EpisodeStatus.COMPLETED)
    assert line.differences == ("the systems' states could not be read",)


async def test_a_model_that_does_nothing_earns_zero(tmp_path: Path) -> None:
    async with house(always(IDLE)) as (_, client):
        report = await run(client, tmp_path, limit=2)
    assert (report.success.value, report.unscored) == (0.0, 0)


@pytest.mark.parametrize("requests", [3, 9, 13, 15, 16, 17, 20, 27, 33])
async def test_interrupted_anywhere_it_goes_on_and_repeats_nothing(tmp_path: Path, requests: int) -> None:
    async with house(by_number) as (gateway, client):
        gateway.dies_after = requests
        with pytest.raises(GatewayUnavailableError, match="gone"):
            await run(client, tmp_path, limit=4, concurrency=2)
        assert not (tmp_path / "report.json").exists()
        with pytest.raises(ConfigurationError, match="is not finished"):
            read_report(tmp_path)
        done = (tmp_path / "attempts.jsonl").read_text() if (tmp_path / "attempts.jsonl").exists() else ""
        gateway.dies_after = None
        report = await run(client, tmp_path, limit=4, concurrency=2)
    assert (report.success.n, report.success.value, report.unscored) == (4, 0.5, 0)
    assert (tmp_path / "attempts.jsonl").read_text().startswith(done)
    assert len(gateway.runs) == len({each.request.metadata["task"] for each in gateway.runs.values()}) == 4
    finished = await run_again(tmp_path)
    assert finished == report


async def run_again(folder: Path) -> EvaluationReport:
    """Asked for once more when all is done, nothing is started."""
    async with house(always(WRONG)) as (gateway, client):
        report = await run(client, folder, limit=4)
        assert not gateway.runs
    return report


async def test_an_attempt_that_was_cancelled_with_the_evaluation_is_made_anew(tmp_path: Path) -> None:
    async with house(always(RIGHT)) as (gateway, client):
        await run(client, tmp_path, limit=1)
        first = gateway.run_of("numbers.held_out.0")
        assert first.result is not None
        first.result = first.result.model_copy(update={"status": EpisodeStatus.CANCELLED, "cause": Cause.PERSON})
        (tmp_path / "attempts.jsonl").unlink()
        report = await run(client, tmp_path, limit=1)
    assert (report.success.n, report.unscored, len(gateway.runs)) == (1, 0, 2)


async def test_a_line_cut_off_by_a_kill_is_made_up_for(tmp_path: Path) -> None:
    async with house(always(RIGHT)) as (gateway, client):
        report = await run(client, tmp_path, limit=3, concurrency=1)
        path = tmp_path / "attempts.jsonl"
        whole = path.read_bytes()
        path.write_bytes(whole[:-20])
        gateway.run_of("numbers.held_out.2").released = False  # which comes after the line is written
        assert await run(client, tmp_path, limit=3) == report
        assert path.read_bytes() == whole
        assert len(gateway.runs) == 3


async def test_what_is_lost_beyond_repair_is_made_anew(tmp_path: Path) -> None:
    async with house(always(RIGHT)) as (gateway, client):
        report = await run(client, tmp_path, limit=3)
        path = tmp_path / "attempts.jsonl"
        whole = path.read_bytes()
        path.write_bytes(whole[:-20])
        again = await run(client, tmp_path, limit=3)
        assert (again.success, len(gateway.runs)) == (report.success, 4)
        path.write_bytes(whole.replace(b'"task"', b'"tusk"', 1))
        with pytest.raises(ConfigurationError, match="line 1, is damaged"):
            await run(client, tmp_path, limit=3)


async def test_without_practice_systems_it_stops_at_once(tmp_path: Path) -> None:
    async with house(always(ABSENT)) as (gateway, client):
        with pytest.raises(NotFoundError, match="given back"):
            await run(client, tmp_path, concurrency=1)
        assert len(gateway.runs) == 1


async def test_a_folder_holds_one_evaluation(tmp_path: Path) -> None:
    async with house(always(RIGHT)) as (gateway, client):
        await run(client, tmp_path, limit=2)
        with pytest.raises(ConflictError, match="another limit, k"):
            await run(client, tmp_path, limit=3, k=2)
        gateway.version = "smol@2"
        with pytest.raises(ConflictError, match="another version"):
            await run(client, tmp_path, limit=2)
        with pytest.raises(ConflictError, match="another suite_digest"):
            await evaluate(client, Numbers(9), model="local", folder=tmp_path, limit=2)
        (tmp_path / "evaluation.json").write_text(json.dumps({"id": "e1"}))
        with pytest.raises(ConfigurationError, match="is no record of an evaluation: suite: Field required"):
            await run(client, tmp_path, limit=2)


async def test_two_do_not_evaluate_into_one_folder(tmp_path: Path) -> None:
    async with house(always(RIGHT)) as (gateway, client):
        with (
            EvaluationLog.open(tmp_path / "a", PLAN),
            pytest.raises(ConflictError, match="Another process evaluates into"),
        ):
            await run(client, tmp_path / "a", limit=2)
        assert not gateway.runs
        assert (await run(client, tmp_path / "b", limit=2)).success.n == 2
        assert (await run(client, tmp_path / "b", limit=2)).success.n == 2  # nobody is at work there any more


async def test_another_model_behind_the_alias_spoils_the_evaluation(tmp_path: Path) -> None:
    async with house(always(RIGHT)) as (gateway, client):

        def promote(_: Progress) -> None:
            gateway.version = "smol@2"

        with pytest.raises(ConflictError, match="answered smol@1 when the evaluation began, and now smol@2"):
            await run(client, tmp_path, limit=2, on_attempt=promote)
        assert not (tmp_path / "report.json").exists()


async def test_nobody_is_there_to_approve(tmp_path: Path) -> None:
    behaviours = [ASKS]
    async with house(lambda _: behaviours[-1]) as (_, client):
        with pytest.raises(ConfigurationError, match="asks for approval"):
            await run(client, tmp_path, limit=1)
        behaviours.append(RIGHT)
        report = await run(client, tmp_path, limit=1)
    assert (report.success.value, report.unscored) == (1.0, 0)


async def test_when_nothing_can_be_scored_it_stops(tmp_path: Path) -> None:
    async with house(always(DOWN)) as (gateway, client):
        with pytest.raises(EpisodeError, match="8 attempts in a row could not be scored") as caught:
            await evaluate(
                client, Numbers(40), model="local", folder=tmp_path, retries=Retries(attempts=1), concurrency=1
            )
        assert "ended by infrastructure, not by the policy: Model provider failed" in str(caught.value)
        assert len(gateway.runs) == 8


async def test_what_makes_no_sense_is_refused_before_anything_begins(tmp_path: Path) -> None:
    async with house(always(RIGHT)) as (gateway, client):
        for options in ({"k": 0}, {"limit": 0}, {"concurrency": 0}):
            with pytest.raises(RequestError):
                await run(client, tmp_path / "a", **options)
        with pytest.raises(RequestError, match="no tasks of the split"):
            await evaluate(client, Numbers(0), model="local", folder=tmp_path / "a")
        with pytest.raises(NotFoundError):
            await evaluate(client, NUMBERS, model="nobody", folder=tmp_path / "a")
        assert not (tmp_path / "a").exists()
        (tmp_path / "file").write_text("x")
        with pytest.raises(ConfigurationError, match="cannot be written"):
            await run(client, tmp_path / "file" / "out")
        assert not gateway.runs
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_report(tmp_path / "nowhere")
