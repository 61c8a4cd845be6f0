"""`practicum run`, `episodes`, `approvals` and `trajectories`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from practicum.codecs.bodies import chat_body, completion_body, sent
from practicum.codecs.chatml import ChatMLCompact
from practicum.contracts.access import Approval, ApprovalStatus
from practicum.contracts.episodes import EpisodeStatus
from practicum.contracts.models import Disagreement, Link, ModelSpec, ModelVersion, Provider
from practicum.contracts.tools import Effect
from practicum.trajectories import uses
from tests.sdk.cli.conftest import KEY, Types
from tests.sdk.stand_in import NOW, Answer, StandIn, episode, event, sse, stream
from tests.sdk.trajectories.conftest import Recorded
from tests.sdk.trajectories.conftest import recorded as recorded  # noqa: PLC0414  # a fixture of theirs, used here too

EVENTS = "/v1/episodes/ep1/events"
MESSAGE = {"content": "I refund\x1b[2J it.", "tool_calls": [{"name": "erp_refund", "arguments": {"order": 1042}}]}
STEPS = (
    event(1, "episode.started", task="Refund order 1042"),
    event(2, "turn.finished", message=MESSAGE),
    event(3, "approval.requested", approval="ap1", tool="erp_refund", arguments={"order": 1042}),
    event(4, "approval.decided", approval="ap1", approve=True, decided_by="grace"),
    event(5, "call.finished", tool="erp_refund", observation={"status": "ok", "content": '{"refunded": true}'}),
    event(6, "turn.failed", error="the server broke down"),
    event(7, "episode.ended"),
)
APPROVAL = Approval(
    id="ap1",
    episode="ep1",
    step=0,
    call=0,
    tool="erp_refund",
    effect=Effect.MONEY,
    arguments={"order": 1042, "note": "\u202ethgir"},
    arguments_hash="abc",
    rule="default",
    requested_by="ada",
    status=ApprovalStatus.PENDING,
    created=NOW,
    expires=NOW,
)
DONE = APPROVAL.model_copy(update={"status": ApprovalStatus.APPROVED, "decided_by": "grace"})


def begin(gateway: StandIn, ended: EpisodeStatus, **more: Any) -> None:
    gateway.on("GET", "/v1/models", {"object": "list", "data": [{"id": "local"}]})
    gateway.on("POST", "/v1/episodes", Answer(201, episode().model_dump_json().encode()))
    gateway.on("GET", "/v1/episodes/ep1", episode(status=ended, **more))
    gateway.on("GET", EVENTS, stream(sse(*STEPS)))


def test_running_a_task(gateway: StandIn, practicum: Types) -> None:
    begin(gateway, EpisodeStatus.COMPLETED)
    options = ("--tools", "crm.*", "--tools", "erp.*", "--steps", "3", "--metadata", "suite=orders", "--key", "once")
    shown = practicum("run", "Refund order 1042", *options)
    sent = next(seen for seen in gateway.seen if seen.method == "POST").json
    assert (sent["task"], sent["model"], sent["tools"]) == ("Refund order 1042", "local", ["crm.*", "erp.*"])
    assert (sent["limits"]["steps"], sent["limits"]["calls_per_step"]) == (3, 8)
    assert (sent["metadata"], sent["idempotency_key"], sent["mode"]) == ({"suite": "orders"}, "once", "live")
    assert shown.status == 0
    assert shown.out.splitlines() == [
        "  1 says  I refund\\u001b[2J it.",
        '  1 calls erp_refund {"order": 1042}',
        '    waits for approval of erp_refund {"order": 1042}',
        "    -> practicum approvals approve ap1",
        "    approved by grace",
        '    ok: {"refunded": true}',
        "  1 model failed: the server broke down",
        "completed (2 steps, 0 tokens, ep1)",
        "Done.",
    ]


def test_running_for_a_program(gateway: StandIn, practicum: Types) -> None:
    begin(gateway, EpisodeStatus.EXHAUSTED, reason="3 steps were taken")
    shown = practicum("run", "Refund order 1042", "--model", "mini", "--training", "--json")
    lines = [json.loads(line) for line in shown.out.splitlines()]
    assert [line["event"]["sequence"] for line in lines[:-1]] == [1, 2, 3, 4, 5, 6, 7]
    assert lines[-1]["episode"]["result"]["reason"] == "3 steps were taken"
    assert gateway.seen[0].json["mode"] == "training"
    assert shown.status == 1
    assert shown.err == ""


def test_an_episode_that_fails(gateway: StandIn, practicum: Types) -> None:
    begin(gateway, EpisodeStatus.FAILED, reason="the model server is gone", answer=None)
    shown = practicum("run", "Refund order 1042", "--model", "local")
    assert shown.status == 1
    assert "failed: the model server is gone" in shown.out


def test_starting_and_leaving(gateway: StandIn, practicum: Types) -> None:
    begin(gateway, EpisodeStatus.COMPLETED)
    assert practicum("run", "Refund", "--model", "local", "--detach").out == "ep1\n"
    assert practicum("run", "Refund", "--model", "local", "--detach", "--json").json["id"] == "ep1"
    assert all(seen.target != EVENTS for seen in gateway.seen)


def test_the_model_must_be_clear(gateway: StandIn, practicum: Types) -> None:
    gateway.on("GET", "/v1/models", {"data": [{"id": "a"}, {"id": "b"}]}, {"data": []})
    assert "There are: a, b." in practicum("run", "Refund").err
    shown = practicum("run", "Refund")
    assert shown.status == 2
    assert "practicum models add" in shown.err
    assert practicum("run", "Refund", "--metadata", "nonsense").status == 2


def test_leaving_a_running_episode_with_ctrl_c(gateway: StandIn) -> None:
    begin(gateway, EpisodeStatus.RUNNING)
    gateway.on("GET", EVENTS, stream(sse(STEPS[0], STEPS[1]), 30.0))
    # What a shell runs in the background inherits that SIGINT is ignored; somebody at a terminal does not.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from practicum.cli.main import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "run", "Refund", "--model", "local"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    assert "says" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "practicum episodes cancel ep1" in told
    assert "Traceback" not in told


def test_looking_at_episodes(gateway: StandIn, practicum: Types) -> None:
    begin(gateway, EpisodeStatus.COMPLETED)
    gateway.on("GET", "/v1/episodes", [episode()])
    os.environ["COLUMNS"] = "40"  # a narrow window breaks no line of what is not shown in it
    listed = practicum("episodes", "list", "--status", "running").out.splitlines()
    assert [line.split()[0] for line in listed] == ["episode", "ep1"]
    assert listed[1].rstrip().endswith("Refund order 1042")
    assert gateway.seen[-1].query == [("status", "running"), ("limit", "20")]
    assert practicum("episodes", "list", "--json").json[0]["id"] == "ep1"
    shown = practicum("episodes", "show", "ep1")
    assert 'calls erp_refund {"order": 1042}' in shown.out
    assert shown.out.endswith("Done.\n")
    assert practicum("episodes", "show", "ep1", "--json").json["status"] == "completed"
    followed = practicum("episodes", "show", "ep1", "--follow", "--json").out.splitlines()
    assert len(followed) == len(STEPS) + 1
    past = [
        json.loads(line)["sequence"] for line in practicum("episodes", "events", "ep1", "--after", "5").out.splitlines()
    ]
    assert past == [6, 7]


def test_a_running_episode_is_shown_without_waiting(gateway: StandIn, practicum: Types) -> None:
    begin(gateway, EpisodeStatus.WAITING)
    began = time.monotonic()
    assert "--follow" in practicum("episodes", "show", "ep1").out
    assert time.monotonic() - began < 5


def test_cancelling(gateway: StandIn, practicum: Types) -> None:
    gateway.on("POST", "/v1/episodes/ep1/cancel", episode(status=EpisodeStatus.CANCELLED))
    assert practicum("episodes", "cancel", "ep1").out == "Episode ep1 is cancelled.\n"
    assert practicum("episodes", "cancel", "ep1", "--json").json["status"] == "cancelled"


def test_approving_exactly_what_was_shown(gateway: StandIn, practicum: Types) -> None:
    gateway.on("GET", "/v1/approvals", [APPROVAL])
    gateway.on("GET", "/v1/approvals/ap1", APPROVAL)
    gateway.on("POST", "/v1/approvals/ap1", DONE)
    listed = practicum("approvals", "list")
    assert gateway.seen[-1].query == [("status", "pending")]
    assert "erp_refund" in listed.out
    practicum("approvals", "list", "--all")
    assert gateway.seen[-1].query == []
    assert "\\u202ethgir" in practicum("approvals", "show", "ap1").out
    assert practicum("approvals", "approve", "ap1", "--yes", "--reason", "fine").out.startswith("Approved: erp_refund")
    assert gateway.seen[-1].json == {"approve": True, "arguments_hash": "abc", "reason": "fine"}
    assert practicum("approvals", "deny", "ap1", "--yes", "--json").json["id"] == "ap1"
    assert gateway.seen[-1].json["approve"] is False


def test_nobody_approves_unseen(gateway: StandIn, practicum: Types) -> None:
    gateway.on("GET", "/v1/approvals/ap1", APPROVAL)
    shown = practicum("approvals", "approve", "ap1")
    assert shown.status == 2
    assert "--yes" in shown.err
    assert all(seen.method == "GET" for seen in gateway.seen)


def test_approving_what_an_episode_waits_for(gateway: StandIn, practicum: Types) -> None:
    other = APPROVAL.model_copy(update={"id": "ap2"})
    gateway.on("GET", "/v1/approvals", [APPROVAL], [APPROVAL, other], [APPROVAL, other], [])
    gateway.on("GET", "/v1/approvals/ap1", APPROVAL)
    gateway.on("GET", "/v1/approvals/ap2", other)
    gateway.on("POST", "/v1/approvals/ap1", DONE)
    gateway.on("POST", "/v1/approvals/ap2", DONE)
    assert practicum("episodes", "approve", "ep1", "--yes").status == 0
    assert gateway.seen[0].query == [("status", "pending"), ("episode", "ep1")]
    several = practicum("episodes", "deny", "ep1", "--yes")
    assert several.status == 2
    assert "ap1, ap2" in several.err
    assert practicum("episodes", "deny", "ep1", "--approval", "ap2", "--yes").status == 0
    assert gateway.seen[-1].target == "/v1/approvals/ap2"
    assert practicum("episodes", "approve", "ep1", "--yes").status == 5


def test_the_local_approver_answers(gateway: StandIn, practicum: Types, tmp_path: Path) -> None:
    """Nobody may approve what they asked for: the person at this machine answers with the other local key."""
    del os.environ["PRACTICUM_URL"], os.environ["PRACTICUM_API_KEY"]
    state = tmp_path / "state"
    state.mkdir()
    (state / "client.json").write_text(json.dumps({"url": gateway.url, "api_key": KEY}))
    (state / "secrets.json").write_text(json.dumps({"admin": KEY, "worker": "prk_worker", "approver": "prk_approver"}))
    gateway.on("GET", "/v1/approvals/ap1", APPROVAL)
    gateway.on("POST", "/v1/approvals/ap1", DONE)
    assert practicum("approvals", "approve", "ap1", "--yes").status == 0
    assert gateway.seen[-1].headers["authorization"] == "Bearer prk_approver"


@pytest.fixture
def trajectories(gateway: StandIn, recorded: Recorded) -> None:
    whole = recorded(metadata={"suite": "orders"})
    whole = whole.model_copy(update={"uses": uses(whole)})
    light = whole.model_copy(update={"messages": (), "model_calls": ()})
    gateway.on("GET", "/v1/trajectories", [light])
    gateway.on("GET", "/v1/trajectories/ep1", whole)


@pytest.mark.usefixtures("trajectories")
def test_looking_at_trajectories(practicum: Types) -> None:
    assert "sft preference pivot rl" in practicum("trajectories", "list").out
    shown = practicum("trajectories", "show", "ep1").out
    assert "1.0 from verifier" in shown
    assert "assistant: calls erp_refund" in shown
    assert practicum("trajectories", "show", "ep1", "--json").json["format"] == "practicum-trajectory/1"


@pytest.mark.usefixtures("trajectories")
def test_explaining_a_trajectory(gateway: StandIn, recorded: Recorded, practicum: Types) -> None:
    assert practicum("trajectories", "explain", "ep1").out.splitlines()[:4] == [
        "sft: yes",
        "preference: yes",
        "pivot: yes",
        "rl: yes",
    ]
    first, second = recorded().model_calls
    unsure = second.model_copy(update={"candidates": ("m0", "m9")})
    again = first.model_copy(update={"id": "m2", "parent": "m0", "by": Link.MESSAGES, "constrained": True, "step": 2})
    anew = again.model_copy(update={"id": "m3", "disagreement": Disagreement(call="m2", shared=2, of=5)})
    gateway.on("GET", "/v1/trajectories/ep1", recorded(model_calls=(first, unsure, again, anew)))
    shown = practicum("trajectories", "explain", "ep1")
    assert shown.status == 0
    told = shown.out.splitlines()
    assert "  a call could continue several others equally well (m1)" in told
    assert "  a grammar held the decoding (m2, m3)" in told
    assert "m0  step 0  smol@1  0 tokens shared, 3 new, 2 drawn  accepted" in told
    assert "  m2  step 2  by messages  smol@1  3 tokens shared, 0 new, 2 drawn  accepted" in told
    assert "m1  step 1  smol@1  0 tokens shared, 7 new, 1 drawn  accepted  quarantined" in told
    assert "    could continue any of m0, m9" in told
    assert any("2 of its 5 tokens are shared" in line for line in told)
    as_json = practicum("trajectories", "explain", "ep1", "--json").json
    assert [use["eligible"] for use in as_json["uses"]] == [True, True, True, False]
    assert [call["call"] for call in as_json["calls"] if call["quarantined"]] == ["m1"]


def test_asking_a_recorded_episode_again(gateway: StandIn, recorded: Recorded, practicum: Types) -> None:
    call, older = recorded().model_calls
    spec = ModelSpec(alias="local", provider=Provider.LITELLM, target="openai/gpt")
    same = call.model_copy(update={"sent": sent(spec, chat_body(spec.target, call.messages, (), call.sampling))})
    gateway.on("GET", "/v1/trajectories/ep1", recorded(model_calls=(same,)))
    shown = practicum("trajectories", "replay", "ep1")
    assert (shown.status, shown.out.splitlines()) == (
        0,
        ["m0  step 0  the same: request", "1 of 1 model calls compared, 0 would be asked otherwise now."],
    )
    gateway.on("GET", "/v1/trajectories/ep1", recorded(model_calls=(same.model_copy(update={"messages": ()}), older)))
    shown = practicum("trajectories", "replay", "ep1")
    assert shown.status == 1
    assert "differs: request: 'messages' is another than was sent" in shown.out
    assert practicum("trajectories", "replay", "ep1", "--json").json["same"] is False


def test_the_server_of_a_recorded_model_is_found_by_its_version(
    gateway: StandIn, recorded: Recorded, practicum: Types
) -> None:
    call = recorded().model_calls[0]
    spec = ModelSpec(alias="local", provider=Provider.LLAMA_CPP, target="smol")
    body = completion_body((1, 2, 3), call.sampling, {}, None)
    asked = call.model_copy(update={"sent": sent(spec, body), "template_hash": ChatMLCompact().template_hash})
    gateway.on("GET", "/v1/trajectories/ep1", recorded(model_calls=(asked,)))
    kept = {"alias": "local", "provider": "llama_cpp", "target": "smol", "created_by": "ann", "current": True}
    version = {**kept, "version": "smol@1", "base_url": "http://127.0.0.1:9", "created": "2026-01-01T00:00:00Z"}
    gateway.on("GET", "/v1/models/local/versions", [ModelVersion.model_validate(version)])
    for options in ((), ("--server", "http://127.0.0.1:9")):
        shown = practicum("trajectories", "replay", "ep1", *options)
        assert shown.status == 0
        assert "the same: template, request" in shown.out
        assert "not compared: tokens: The model server at http://127.0.0.1:9 did not tokenise" in shown.out


@pytest.mark.usefixtures("trajectories")
def test_exporting_trajectories(gateway: StandIn, practicum: Types, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = (str(out), "--form", "chat", "--form", "tokens", "--metadata", "suite=orders", "--limit", "5")
    shown = practicum("trajectories", "export", *arguments)
    assert shown.status == 0
    assert "tokens.jsonl: 1 rows of 1 episodes, 3 of 8 tokens trainable" in shown.out
    assert ("metadata", "suite:orders") in gateway.seen[0].query
    assert len((out / "chat.jsonl").read_text().splitlines()) == 1
    assert practicum("trajectories", "export", *arguments).status == 5
    again = practicum("trajectories", "export", *arguments, "--overwrite", "--json")
    assert again.json["query"]["metadata"] == {"suite": "orders"}
    assert practicum("trajectories", "export", str(out), "--use", "rl").status == 5
