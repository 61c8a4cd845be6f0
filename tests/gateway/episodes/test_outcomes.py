"""How the sides of a split do, by the rewards of the episodes that drew them."""

from collections import Counter
from typing import Any

from practicum.contracts.episodes import Episode
from practicum.contracts.outcomes import VersionOutcomes
from practicum.contracts.promotion import Promotion
from practicum.evaluation import mean_estimate, split_report
from tests.gateway.episodes.world import World


async def ended(world: World, reward: float | None, **given: Any) -> Episode:
    episode = await world.start(tools=[], **given)
    await world.close(episode)
    verdict = {"reward": reward, "source": "test"}
    assert (await world.post(f"/v1/episodes/{episode.id}/reward", verdict)).is_success
    return episode


async def outcomes(world: World, since: str | None = None) -> list[VersionOutcomes]:
    asked = {} if since is None else {"since": since}
    answer = await world.admin.get("/v1/models/scripted/outcomes", params=asked)
    assert answer.status_code == 200, answer.text
    return [VersionOutcomes.model_validate(each) for each in answer.json()]


async def test_the_sides_of_a_split_are_told_apart_by_their_rewards(world: World) -> None:
    before = await ended(world, 1.0)
    first = str(before.version)
    spec = {"alias": "scripted", "provider": "litellm", "target": "openai/better", "base_url": world.model.base_url}
    assert (await world.post("/v1/models/scripted/versions", {**spec, "version": "better"})).is_success
    split = await world.admin.put("/v1/models/scripted/split", json={"weights": {first: 1, "better": 1}})
    assert split.is_success, split.text
    change = Promotion.model_validate(split.json())

    drawn: Counter[str] = Counter()
    good: Counter[str] = Counter()
    for place in range(24):
        episode = await world.start(tools=[], idempotency_key=f"e{place}")
        version = str(episode.version)
        drawn[version] += 1
        reward = 1.0 if version == "better" or drawn[version] % 3 == 0 else 0.25
        good[version] += reward == 1.0
        await world.close(episode)
        await world.post(f"/v1/episodes/{episode.id}/reward", {"reward": reward, "source": "test"})
    await ended(world, None, idempotency_key="unscored")
    await world.start(tools=[], idempotency_key="running")
    await ended(world, 1.0, model="scripted@better", mode="training")  # says nothing of how it does in earnest

    report = split_report(change, await outcomes(world, change.at.isoformat()))
    assert (report.split, report.since) == ({first: 1, "better": 1}, change.at)
    sides = {side.version: side for side in report.sides}
    assert {version: side.success.n for version, side in sides.items()} == dict(drawn)
    for version, side in sides.items():
        successes = [1.0] * good[version] + [0.0] * (drawn[version] - good[version])
        assert side.success == mean_estimate(successes)
        assert side.reward is not None
    assert sides["better"].success.value == 1
    assert sum(side.unscored for side in report.sides) == 1
    assert sum(side.running for side in report.sides) == 1
    (gap,) = report.gaps
    assert gap.n == 24
    assert gap.low < abs(gap.difference) < 1

    everything = {each.version: each for each in await outcomes(world)}
    assert everything[first].scored == drawn[first] + 1
    assert (await world.admin.get("/v1/models/nobody/outcomes")).status_code == 404


async def test_rewards_beyond_zero_and_one_have_no_such_interval(world: World) -> None:
    await ended(world, -3.0)
    await ended(world, 2.0)
    (found,) = await outcomes(world)
    assert (found.scored, found.successes, found.rewards, found.least, found.most) == (2, 1, -1.0, -3.0, 2.0)
    change = Promotion.model_validate((await world.admin.get("/v1/models/scripted/promotions")).json()[0])
    report = split_report(change, [found])
    assert (report.split, report.since, report.gaps) == ({}, None, ())
    assert report.sides[0].reward is None
    assert report.sides[0].success.n == 2
