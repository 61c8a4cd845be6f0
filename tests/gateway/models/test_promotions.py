"""Promotions over HTTP: what an alias names, on what evidence, and what an episode keeps."""

from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import pytest

from practicum.contracts.episodes import Episode, Limits
from practicum.contracts.evaluation import EvaluationReport
from practicum.contracts.models import Sampling
from practicum.contracts.promotion import Change, Promotion
from practicum.contracts.trajectory import Trajectory
from practicum.testing import ScriptedModelServer, say
from practicum_gateway.house import House
from tests.gateway.conftest import KeyOf
from tests.gateway.models.test_registry import TRAINED, forge_template
from tests.sdk.evaluation.reports import report_of

BEFORE = [[0.0]] * 20 + [[1.0]] * 20
BETTER = [[1.0]] * 40
BARELY = [[1.0]] * 3 + [[0.0]] * 17 + [[1.0]] * 20
WORSE = [[0.0]] * 30 + [[1.0]] * 10


@pytest.fixture
def models() -> Iterator[tuple[ScriptedModelServer, ScriptedModelServer]]:
    with ScriptedModelServer(lambda _: say("I am one.")) as one, ScriptedModelServer(lambda _: say("I am two.")) as two:
        yield one, two


@pytest.fixture
async def house_of_two(
    gateway: httpx.AsyncClient, models: tuple[ScriptedModelServer, ScriptedModelServer]
) -> httpx.AsyncClient:
    """A gateway in which `support` names the version `one`, and has the candidate `two`."""
    gateway.timeout = 60  # the first call imports litellm
    for path, version, server in zip(
        ("/v1/models", "/v1/models/support/versions"), ("one", "two"), models, strict=True
    ):
        answer = await gateway.post(path, json=spec_of(server, version))
        assert answer.status_code == 201, answer.text
    return gateway


def spec_of(server: ScriptedModelServer, version: str) -> dict[str, Any]:
    return {
        "alias": "support",
        "provider": "litellm",
        "target": f"openai/{version}",
        "base_url": server.base_url,
        "version": version,
    }


def report(version: str, rewards: Sequence[Sequence[float | None]], **changes: Any) -> dict[str, Any]:
    """What an evaluation of a version found, as it travels."""
    named = {"id": f"of-{version}", "model": f"support@{version}", "version": version, **changes}
    return report_of(rewards, **named).model_dump(mode="json")


async def promote(gateway: httpx.AsyncClient, version: str = "two", **given: Any) -> httpx.Response:
    return await gateway.post("/v1/models/support/promote", json={"version": version, **given})


async def promoted(gateway: httpx.AsyncClient, version: str = "two", **given: Any) -> Promotion:
    answer = await promote(gateway, version, **given)
    assert answer.status_code == 200, answer.text
    return Promotion.model_validate_json(answer.content)


async def rolled_back(gateway: httpx.AsyncClient) -> Promotion:
    answer = await gateway.post("/v1/models/support/rollback")
    assert answer.status_code == 200, answer.text
    return Promotion.model_validate_json(answer.content)


async def current(gateway: httpx.AsyncClient) -> str:
    return str((await gateway.get("/v1/models/support")).json()["version"])


async def begin(gateway: httpx.AsyncClient, model: str = "support") -> Episode:
    answer = await gateway.post("/v1/episodes", json={"task": "Who are you?", "model": model, "driver": "client"})
    assert answer.status_code == 201, answer.text
    return Episode.model_validate_json(answer.content)


async def answered(gateway: httpx.AsyncClient, episode: Episode) -> tuple[str | None, str]:
    """What the model of an episode says, and which version the record says it was."""
    assert (await gateway.post(f"/v1/episodes/{episode.id}/turns", json={"step": 0})).status_code == 200
    answer = await gateway.get(f"/v1/trajectories/{episode.id}")
    trajectory = Trajectory.model_validate_json(answer.content)
    assert trajectory.model == "support"
    return trajectory.messages[-1].content, trajectory.model_calls[0].version


async def test_a_candidate_is_asked_by_its_version_while_the_alias_names_the_other(
    house_of_two: httpx.AsyncClient,
) -> None:
    assert await answered(house_of_two, await begin(house_of_two)) == ("I am one.", "one")
    candidate = await begin(house_of_two, "support@two")
    assert (candidate.model, candidate.version) == ("support", "two")
    assert await answered(house_of_two, candidate) == ("I am two.", "two")
    body = {"model": "support@two", "messages": [{"role": "user", "content": "Who are you?"}]}
    said = (await house_of_two.post("/v1/chat/completions", json=body)).json()
    assert said["choices"][0]["message"]["content"] == "I am two."
    assert (await house_of_two.get("/v1/models/support@two")).json()["target"] == "openai/two"
    missing = await house_of_two.post("/v1/episodes", json={"task": "x", "model": "support@three", "driver": "client"})
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")


async def test_a_better_candidate_is_promoted_and_a_running_episode_keeps_its_version(
    house_of_two: httpx.AsyncClient,
) -> None:
    running = await begin(house_of_two)

    done = await promoted(house_of_two, evaluation=report("two", BETTER), against=report("one", BEFORE))

    assert (done.change, done.from_version, done.to_version, done.by) == (Change.PROMOTED, "one", "two", "admin")
    found = done.comparison
    assert found is not None
    # By hand: 20 of 40 tasks improved by 1. Bonett and Price add one task of each kind, so the mean is 20/42, the mean
    # square 22/42, and half the width 1.95996 * sqrt((22/42 - (20/42)**2) / 42) = 0.16483: from 0.3114 to 0.6410.
    assert (found.n, found.improved, found.worsened, found.difference) == (40, 20, 0, 0.5)
    assert (found.baseline_success, found.candidate_success) == (0.5, 1.0)
    assert found.low <= 0.3114 <= found.low + 0.03
    assert found.high >= 0.6410 >= found.high - 0.03
    assert (found.baseline, found.candidate, found.better) == ("of-one", "of-two", True)
    assert await answered(house_of_two, running) == ("I am one.", "one")
    assert await answered(house_of_two, await begin(house_of_two)) == ("I am two.", "two")


async def test_promoted_again_it_is_the_same_promotion(house_of_two: httpx.AsyncClient) -> None:
    evidence: dict[str, Any] = {"evaluation": report("two", BETTER), "against": report("one", BEFORE)}
    assert await promoted(house_of_two, **evidence) == await promoted(house_of_two, **evidence)


@pytest.mark.parametrize(
    ("rewards", "numbers"),
    [(WORSE, ("-25.0 points", "0 improved, 10 worsened")), (BARELY, ("+7.5 points", "3 improved, 0 worsened"))],
)
async def test_a_worse_candidate_is_not_promoted_nor_one_not_shown_to_be_better(
    house_of_two: httpx.AsyncClient, rewards: list[list[float]], numbers: tuple[str, ...]
) -> None:
    refused = await promote(house_of_two, evaluation=report("two", rewards), against=report("one", BEFORE))

    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    for number in (*numbers, "n=40"):
        assert number in refused.json()["detail"]
    assert "override" in refused.json()["mend"]
    assert await current(house_of_two) == "one"
    history = (await house_of_two.get("/v1/models/support/promotions")).json()
    assert [change["change"] for change in history] == ["registered"]


async def test_an_override_needs_a_reason_and_is_recorded_with_what_it_overrode(
    house_of_two: httpx.AsyncClient,
) -> None:
    evidence: dict[str, Any] = {"evaluation": report("two", WORSE), "against": report("one", BEFORE)}
    for blank in ("", "  "):
        assert (await promote(house_of_two, override=blank, **evidence)).status_code == 422
    done = await promoted(house_of_two, override="It is ten times cheaper.", **evidence)
    assert done.override == "It is ten times cheaper."
    assert done.comparison is not None
    assert not done.comparison.better
    await rolled_back(house_of_two)
    unproven = await promoted(house_of_two, override="No time to evaluate.")
    assert (unproven.comparison, unproven.override) == (None, "No time to evaluate.")
    listed = (await house_of_two.get("/v1/models/support/promotions")).json()
    assert [Promotion.model_validate(each).override for each in listed] == [
        "No time to evaluate.",
        None,
        "It is ten times cheaper.",
        None,
    ]
    assert Promotion.model_validate(listed[2]) == done


BASE = report("one", BEFORE)
GOOD = report("two", BETTER)


@pytest.mark.parametrize(
    ("evaluation", "against", "said"),
    [
        (None, None, "two reports"),
        (GOOD, None, "two reports"),
        (report("three", BETTER), BASE, "candidate's report is of 'three'"),
        (report("two", BETTER, model="other"), BASE, "behind 'other'"),
        (GOOD, report("zero", BEFORE), "baseline's report is of 'zero'"),
        ({**GOOD, "split": "train"}, {**BASE, "split": "train"}, "splits 'train' and 'train'"),
        ({**GOOD, "split": "train"}, BASE, "splits 'held_out' and 'train'"),
        (report("two", BETTER, suite_digest="e" * 64), BASE, "suite_digest"),
        (report("two", BETTER[:30]), BASE, "other tasks: 40 of the baseline, 30 of the candidate"),
        (report("two", BETTER, limits=Limits(steps=99)), BASE, "other limits"),
        (report("two", BETTER, sampling=Sampling(temperature=0)), BASE, "other sampling"),
        (report("two", [[None]] * 40), BASE, "no scored task"),
    ],
)
async def test_evidence_must_be_of_these_versions_on_the_same_held_out_tasks(
    house_of_two: httpx.AsyncClient, evaluation: dict[str, Any] | None, against: dict[str, Any] | None, said: str
) -> None:
    refused = await promote(house_of_two, evaluation=evaluation, against=against)
    assert (refused.status_code, refused.json()["code"]) == (422, "request")
    assert said in refused.json()["detail"]
    assert refused.json()["mend"]
    assert await current(house_of_two) == "one"


async def test_a_summary_that_does_not_fit_its_results_convinces_nobody(house_of_two: httpx.AsyncClient) -> None:
    boast = EvaluationReport.model_validate(report("two", WORSE)).model_copy(
        update={"success": report_of(BETTER).success}
    )
    refused = await promote(house_of_two, evaluation=boast.model_dump(mode="json"), against=BASE)
    assert refused.status_code == 409


async def test_a_rollback_takes_effect_on_the_next_episode(house_of_two: httpx.AsyncClient) -> None:
    await promoted(house_of_two, override="Let us see.")
    running = await begin(house_of_two)

    back = await rolled_back(house_of_two)

    assert (back.change, back.from_version, back.to_version) == (Change.ROLLED_BACK, "two", "one")
    assert await answered(house_of_two, running) == ("I am two.", "two")
    assert await answered(house_of_two, await begin(house_of_two)) == ("I am one.", "one")
    refused = await house_of_two.post("/v1/models/support/rollback")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")


async def test_rollbacks_go_back_one_by_one(
    house_of_two: httpx.AsyncClient, models: tuple[ScriptedModelServer, ScriptedModelServer]
) -> None:
    await promoted(house_of_two, override="Let us see.")
    assert (await house_of_two.post("/v1/models", json=spec_of(models[0], "three"))).status_code == 201
    assert await current(house_of_two) == "three"
    assert (await rolled_back(house_of_two)).to_version == "two"
    assert (await rolled_back(house_of_two)).to_version == "one"
    await promoted(house_of_two, "three", override="Once more.")
    assert (await rolled_back(house_of_two)).to_version == "one"


async def test_an_agent_of_its_own_keeps_its_episodes_version_too(house_of_two: httpx.AsyncClient) -> None:
    episode = await begin(house_of_two)
    key = (await house_of_two.post(f"/v1/episodes/{episode.id}/keys")).json()["key"]
    await promoted(house_of_two, override="Let us see.")
    headers = {"Authorization": f"Bearer {key}"}

    async def ask(model: str) -> httpx.Response:
        body = {"model": model, "messages": [{"role": "user", "content": "Who are you?"}]}
        return await house_of_two.post("/v1/chat/completions", json=body, headers=headers)

    for model in ("support", "support@one"):
        said = (await ask(model)).json()
        assert said["choices"][0]["message"]["content"] == "I am one."
    assert (await ask("support@two")).status_code == 403


async def test_a_version_whose_template_changed_since_is_neither_promoted_nor_gone_back_to(
    gateway: httpx.AsyncClient, house: House
) -> None:
    def trained(version: str) -> dict[str, Any]:
        return TRAINED.model_copy(update={"version": version, "target": version}).model_dump(mode="json")

    for path, version in (("/v1/models", "one"), ("/v1/models/support/versions", "two")):
        assert (await gateway.post(path, json=trained(version))).status_code == 201
    await forge_template(house.store, "support", "two")
    refused = await promote(gateway, override="Please.")
    assert (refused.status_code, "another template" in refused.json()["detail"]) == (409, True)
    assert (await gateway.post("/v1/models", json=trained("three"))).status_code == 201
    await forge_template(house.store, "support", "one")
    assert (await gateway.post("/v1/models/support/rollback")).status_code == 409
    assert await current(gateway) == "three"


async def test_who_may(house_of_two: httpx.AsyncClient, key_of: KeyOf) -> None:
    body = {"principal": "app", "role": "developer"}
    developer = {"Authorization": f"Bearer {(await house_of_two.post('/v1/keys', json=body)).json()['key']}"}
    for path in ("versions", "promotions"):
        assert (await house_of_two.get(f"/v1/models/support/{path}", headers=developer)).status_code == 200
        assert (await house_of_two.get(f"/v1/models/support/{path}", headers=key_of("worker"))).status_code == 403
        assert (await house_of_two.get(f"/v1/models/nobody/{path}")).status_code == 404
    for path, sent in (
        ("promote", {"version": "two", "override": "I like it."}),
        ("rollback", None),
        ("versions", {"alias": "support", "provider": "litellm", "target": "openai/x"}),
    ):
        refused = await house_of_two.post(f"/v1/models/support/{path}", json=sent, headers=developer)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    elsewhere = {"alias": "other", "provider": "litellm", "target": "openai/x"}
    assert (await house_of_two.post("/v1/models/support/versions", json=elsewhere)).status_code == 422


async def test_what_was_promoted_is_known_after_the_alias_is_forgotten(house_of_two: httpx.AsyncClient) -> None:
    await promoted(house_of_two, override="Let us see.")
    assert (await house_of_two.delete("/v1/models/support")).status_code == 204
    assert (await house_of_two.post("/v1/models/support/rollback")).status_code == 404
    assert (await promote(house_of_two)).status_code == 404
    listed = (await house_of_two.get("/v1/models/support/promotions")).json()
    assert [(each["change"], each["from_version"], each["to_version"]) for each in listed] == [
        ("removed", "two", None),
        ("promoted", "one", "two"),
        ("registered", None, "one"),
    ]
