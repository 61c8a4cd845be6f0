import asyncio

import httpx
import pytest

from examples.systems.company import seed_states
from tests.examples.loopback import Clock

STATE = seed_states(1)["cicd"]
SERVICE = min(STATE["services"])
LATEST = max(int(number) for number, build in STATE["builds"].items() if build["service"] == SERVICE)


def effects(cicd: httpx.Client) -> int:
    return cicd.get("/_practice/effects").raise_for_status().json()["count"]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"}])
def test_without_the_token_nothing_is_told(cicd: httpx.Client, headers: dict[str, str]) -> None:
    refused = httpx.get(f"{cicd.base_url}/services/{SERVICE}/builds/latest", headers=headers)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthorized")
    assert httpx.post(f"{cicd.base_url}/_practice/reset", headers=headers).status_code == 401


def test_the_latest_build_is_the_newest_of_its_service(cicd: httpx.Client) -> None:
    latest = cicd.get(f"/services/{SERVICE}/builds/latest").json()
    assert latest == {"id": LATEST, "service": SERVICE, "status": STATE["builds"][str(LATEST)]["status"]}
    assert cicd.get(f"/builds/{LATEST}").json() == latest


def test_a_deployment_is_accepted_and_succeeds_later(cicd: httpx.Client, clock: Clock) -> None:
    accepted = cicd.post("/deployments", json={"build_id": LATEST})
    body = {"id": 1, "service": SERVICE, "build_id": LATEST, "status": "running"}
    assert (accepted.status_code, accepted.json(), accepted.headers["location"]) == (202, body, "/deployments/1")
    assert cicd.get("/deployments/1").json()["status"] == "running"
    clock.now += 2
    assert cicd.get("/deployments/1").json()["status"] == "succeeded"


def test_the_state_is_told_as_it_comes_to_rest_and_asking_hurries_nothing(cicd: httpx.Client) -> None:
    live = STATE["services"][SERVICE]["live_build"]
    cicd.post("/deployments", json={"build_id": LATEST}).raise_for_status()
    state = cicd.get("/_practice/state").json()
    assert state["services"][SERVICE] == {"live_build": LATEST, "previous_build": live}
    assert state["deployments"] == {
        "1": {"service": SERVICE, "build_id": LATEST, "kind": "release", "status": "succeeded"}
    }
    assert cicd.get("/deployments/1").json()["status"] == "running"


def test_a_rollback_brings_the_previous_build_back(cicd: httpx.Client) -> None:
    before = STATE["services"][SERVICE]
    accepted = cicd.post(f"/services/{SERVICE}/rollback")
    assert (accepted.status_code, accepted.json()["build_id"]) == (202, before["previous_build"])
    after = cicd.get("/_practice/state").json()["services"][SERVICE]
    assert after == {"live_build": before["previous_build"], "previous_build": before["live_build"]}


def test_without_a_previous_build_there_is_no_rollback(cicd: httpx.Client) -> None:
    state = {"services": {"search": {"live_build": None, "previous_build": None}}}
    cicd.put("/_practice/state", json=state).raise_for_status()
    refused = cicd.post("/services/search/rollback")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")


def test_a_retry_is_a_new_build_that_passes_later(cicd: httpx.Client, clock: Clock) -> None:
    accepted = cicd.post(f"/builds/{LATEST}/retry")
    new = accepted.json()
    assert (accepted.status_code, new["retry_of"], new["status"]) == (202, LATEST, "running")
    assert cicd.get(accepted.headers["location"]).json() == new
    for refused in (
        cicd.post(f"/builds/{new['id']}/retry"),
        cicd.post("/deployments", json={"build_id": new["id"]}),
    ):
        assert refused.status_code == 409
    assert "running" in cicd.get(f"/builds/{new['id']}/log").text
    clock.now += 2
    assert cicd.get(f"/builds/{new['id']}").json()["status"] == "passed"
    assert cicd.get(f"/services/{SERVICE}/builds/latest").json()["id"] == new["id"]


def test_a_log_is_text_and_names_the_failed_test(cicd: httpx.Client) -> None:
    number, build = next((key, build) for key, build in STATE["builds"].items() if build["failed_test"])
    log = cicd.get(f"/builds/{number}/log")
    assert log.headers["content-type"].startswith("text/plain")
    assert f"FAILED {build['failed_test']}\n" in log.text
    green = next(key for key, build in STATE["builds"].items() if build["status"] == "passed")
    assert "FAILED" not in cicd.get(f"/builds/{green}/log").text


def test_nothing_is_idempotent_here(cicd: httpx.Client) -> None:
    for _ in range(2):
        cicd.post("/deployments", json={"build_id": LATEST}, headers={"Idempotency-Key": "same"}).raise_for_status()
    assert effects(cicd) == 2


def test_errors_have_the_systems_own_shape(cicd: httpx.Client) -> None:
    missing = cicd.get("/builds/1")
    assert (missing.status_code, missing.json()) == (404, {"error": {"code": "not_found", "message": "no build 1"}})
    for path in ("/services/nothing/builds/latest", "/deployments/9", "/builds/1/log"):
        assert cicd.get(path).status_code == 404
    for path in ("/services/nothing/rollback", "/builds/1/retry"):
        assert cicd.post(path).status_code == 404
    assert cicd.post("/deployments", json={"build_id": 1}).status_code == 404
    wrong = cicd.post("/deployments", json={"build": LATEST})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "invalid")
    assert effects(cicd) == 0


async def test_requests_at_the_same_time_do_not_disturb_each_other(cicd: httpx.Client) -> None:
    async with httpx.AsyncClient(base_url=cicd.base_url, headers=cicd.headers, timeout=60) as client:
        starts = [client.post("/deployments", json={"build_id": LATEST}) for _ in range(15)]
        reads = [client.get(f"/services/{SERVICE}/builds/latest") for _ in range(15)]
        states = [client.get("/_practice/state") for _ in range(5)]
        answers = await asyncio.gather(*starts, *reads, *states)
    assert {answer.status_code for answer in answers} == {200, 202}
    assert effects(cicd) == 15
