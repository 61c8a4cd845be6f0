"""What is done in and to episodes is in the audit log, and an auditor who looks at it drives nothing."""

from typing import Any

from practicum.contracts.audit import Action
from practicum.testing import call, say
from tests.gateway.episodes.conftest import ADMIN
from tests.gateway.episodes.test_life import key_of
from tests.gateway.episodes.world import World


async def told(world: World, **wanted: Any) -> list[tuple[str, str, str]]:
    """Action, actor and outcome of the entries, oldest first."""
    found = (await world.admin.get("/v1/audit", params=wanted)).json()
    return [(entry["action"], entry["actor"], entry["outcome"]) for entry in reversed(found)]


async def test_the_life_of_an_episode_is_told(world: World) -> None:
    world.model.extend(call("shop_get_order", {"id": 8}), say("Delivered."))
    episode = await world.start()
    await world.turn(episode, 0)
    await world.call(episode, 0)
    await world.turn(episode, 1)
    await world.close(episode)
    await world.close(episode)
    verdict = {"reward": 1.0, "source": "tests", "reason": "well done"}
    assert (await world.post(f"/v1/episodes/{episode.id}/reward", verdict)).status_code == 200
    await world.trajectory(episode)
    of_it = {"key": f"{episode.id}/0/0", "episode": episode.id}
    assert (await world.admin.get("/v1/calls", params=of_it)).status_code == 200
    assert await told(world, episode=episode.id) == [
        (Action.EPISODE_STARTED, "admin", "ok"),
        (Action.TOOL_CALLED, "admin", "started"),
        (Action.TOOL_FINISHED, "admin", "ok"),
        (Action.EPISODE_ENDED, "admin", "completed"),
        (Action.EPISODE_REWARDED, "admin", "ok"),
        *[(Action.TRAJECTORY_READ, "admin", "ok")] * 2,
    ]
    (entry,) = (await world.admin.get("/v1/audit", params={"action": Action.TOOL_CALLED})).json()
    assert (entry["role"], entry["key"]) == ("agent", f"episode:{episode.id}")
    await world.admin.get("/v1/trajectories")
    assert (await told(world))[-1] == (Action.TRAJECTORY_EXPORTED, "admin", "ok")
    assert ADMIN not in (await world.admin.get("/v1/audit/export")).text


async def test_a_cancelled_episode_is_told_once(world: World) -> None:
    episode = await world.start()
    for _ in range(2):
        assert (await world.post(f"/v1/episodes/{episode.id}/cancel")).status_code == 200
    assert (await told(world, episode=episode.id))[1:] == [(Action.EPISODE_CANCELLED, "admin", "cancelled")]


async def test_an_auditor_of_the_owners_name_drives_nothing(world: World) -> None:
    """A person may have two keys: what one of them may do, the other may not."""
    episode = await world.start()
    async with world.client(await key_of(world, "admin", "auditor")) as auditor:
        place = f"/v1/episodes/{episode.id}"
        for path in ("", "/events?after=99999"):
            async with auditor.stream("GET", place + path) as seen:
                assert seen.status_code == 200
        for path, body in (
            ("turns", {"step": 0}),
            ("calls", {"step": 0, "call": 0}),
            ("close", {"status": "completed", "cause": "policy"}),
            ("cancel", None),
            ("keys", None),
            ("reward", {"reward": 1.0, "source": "tests"}),
        ):
            answer = await auditor.post(f"{place}/{path}", json=body)
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), path
        assert (await auditor.delete(f"{place}/practice")).status_code == 403
    refused = [each for each in await told(world) if each[0] == Action.ACCESS_REFUSED]
    assert refused
    assert {outcome for _, _, outcome in refused} == {"403"}
