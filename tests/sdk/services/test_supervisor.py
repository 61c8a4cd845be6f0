"""The supervisor, over real processes."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from practicum.cli.services.probes import HttpProbe, LogProbe
from practicum.cli.services.process import ProcessIdentity, identify, is_alive
from practicum.cli.services.state import StateDirectory
from practicum.cli.services.supervisor import Ending, Supervisor
from practicum.errors import ConfigurationError
from tests.sdk.services.dummies import Dummies, free_port


def test_services_start_in_order_and_end_in_reverse(
    supervisor: Supervisor, dummies: Dummies, state: StateDirectory
) -> None:
    launch = supervisor.up([[dummies.server("one")], [dummies.server("two")], [dummies.server("three")]])

    assert launch.started == ("one", "two", "three")
    assert [service.name for service in state.services()] == ["one", "two", "three"]
    assert all(is_alive(service.process) for service in launch.services)

    assert supervisor.down() == (Ending("three", True), Ending("two", True), Ending("one", True))
    assert dummies.lines() == ["start one", "start two", "start three", "end three", "end two", "end one"]
    assert not any(is_alive(service.process) for service in launch.services)
    assert state.services() == ()


def test_an_early_death_names_the_service_shows_its_last_words_and_ends_the_others(
    supervisor: Supervisor, dummies: Dummies, state: StateDirectory
) -> None:
    dying = dummies.script("broken", "import sys; print('no such table: orders'); sys.exit(7)")

    with pytest.raises(ConfigurationError) as caught:
        supervisor.up([[dummies.server("one")], [dying], [dummies.server("never")]])

    message = str(caught.value)
    assert "'broken' ended (code 7)" in message
    assert "no such table: orders" in message
    assert str(state.log("broken")) in message
    assert dummies.lines() == ["start one", "end one"]
    assert state.services() == ()


def test_a_service_that_never_gets_ready_is_given_up_and_ended(
    supervisor: Supervisor, dummies: Dummies, tmp_path: Path, state: StateDirectory
) -> None:
    marker = tmp_path / "pid.txt"
    code = f"import os, time; open({str(marker)!r}, 'w').write(str(os.getpid())); print('thinking'); time.sleep(60)"

    with pytest.raises(ConfigurationError, match=r"'slow' was not ready within 0\.7 s(?s:.)*thinking"):
        supervisor.up([[dummies.script("slow", code, timeout=0.7)]])

    assert identify(int(marker.read_text(encoding="utf-8"))) is None
    assert state.services() == ()


def test_a_program_that_does_not_exist_is_one_clear_error(
    supervisor: Supervisor, dummies: Dummies, state: StateDirectory
) -> None:
    missing = replace(dummies.server("gone"), command=("/nonexistent/program",))

    with pytest.raises(ConfigurationError, match="'gone' cannot be started: No such file"):
        supervisor.up([[dummies.server("one"), missing]])

    assert state.services() == ()
    assert dummies.lines()[-1:] != ["start one"]


def test_a_second_up_keeps_what_runs_and_starts_what_is_missing(
    supervisor: Supervisor, dummies: Dummies, state: StateDirectory
) -> None:
    one, two = dummies.server("one"), dummies.server("two")
    first = supervisor.up([[one], [two]])
    again = Supervisor(state)

    assert again.up([[one], [two]]).started == ()

    os.kill(first.services[1].process.pid, signal.SIGKILL)
    _gone(first.services[1].process)
    mended = again.up([[one], [two]])

    assert mended.started == ("two",)
    assert mended.services[0] == first.services[0]
    assert mended.services[1].process != first.services[1].process
    again.down()


def test_a_failing_second_up_leaves_what_ran_before_alone(supervisor: Supervisor, dummies: Dummies) -> None:
    first = supervisor.up([[dummies.server("one")]])

    with pytest.raises(ConfigurationError, match="'broken' ended"):
        supervisor.up([[dummies.script("broken", "raise SystemExit(1)")]])

    assert supervisor.running() == first.services


def test_a_service_started_anew_keeps_its_port_and_its_place(
    supervisor: Supervisor, dummies: Dummies, state: StateDirectory
) -> None:
    one, two = dummies.server("one"), dummies.server("two")
    before = supervisor.up([[one], [two]]).services
    changed = replace(one, environment={**one.environment, "ANSWER": "anew"})

    started = supervisor.restart(changed)

    assert started.ports == before[0].ports
    assert started.process != before[0].process
    assert not is_alive(before[0].process)
    assert httpx.get(started.urls["one"]).text == "anew"
    assert state.services() == (started, before[1])
    assert [ending.name for ending in supervisor.down()] == ["two", "one"]


def test_a_service_that_does_not_come_up_anew_leaves_the_others_alone(
    supervisor: Supervisor, dummies: Dummies, state: StateDirectory
) -> None:
    one, two = dummies.server("one"), dummies.server("two")
    before = supervisor.up([[one], [two]]).services

    with pytest.raises(ConfigurationError, match="'one' ended"):
        supervisor.restart(dummies.script("one", "raise SystemExit(1)"))

    assert state.services() == (before[1],)
    assert is_alive(before[1].process)
    assert [service.name for service in (supervisor.restart(one), *state.services())] == ["one", "two", "one"]


def test_a_recycled_process_id_is_never_signalled(
    supervisor: Supervisor, dummies: Dummies, state: StateDirectory
) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    try:
        service = supervisor.up([[dummies.server("one")]]).services[0]
        supervisor.down()
        recycled = ProcessIdentity(pid=stranger.pid, started=f"{service.process.started}0")
        state.write_services((service.model_copy(update={"process": recycled}),))

        assert supervisor.running() == ()
        assert supervisor.down() == (Ending("one", False),)
        assert stranger.poll() is None
        assert state.services() == ()
    finally:
        stranger.kill()
        stranger.wait()


def test_stale_state_of_dead_services_is_recognised_and_replaced(
    supervisor: Supervisor, dummies: Dummies, state: StateDirectory
) -> None:
    one = dummies.server("one")
    dead = supervisor.up([[one]]).services[0]
    os.kill(dead.process.pid, signal.SIGKILL)
    _gone(dead.process)

    assert supervisor.running() == ()
    launch = supervisor.up([[one]])

    assert launch.started == ("one",)
    assert [service.process for service in state.services()] == [launch.services[0].process]


def test_down_ends_the_children_of_a_service_too_even_stubborn_ones(
    supervisor: Supervisor, dummies: Dummies, state: StateDirectory
) -> None:
    log = state.log("stubborn")
    code = (
        "import os, signal, time\n"
        "child = os.fork()\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if child: print(os.getpid(), child, 'ready')\n"
        "time.sleep(60)\n"
    )
    supervisor.up([[dummies.script("stubborn", code, probe=LogProbe(log, "ready"), grace=0.3)]])
    parent, child = (int(pid) for pid in log.read_text(encoding="utf-8").split()[:2])
    both = [identify(parent), identify(child)]

    assert supervisor.down() == (Ending("stubborn", True),)
    assert [each is not None and is_alive(each) for each in both] == [False, False]


def test_an_orphan_of_a_service_that_died_at_its_start_is_ended(
    supervisor: Supervisor, dummies: Dummies, tmp_path: Path
) -> None:
    orphan = tmp_path / "orphan.txt"
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        f"    open({str(orphan)!r}, 'w').write(str(os.getpid()))\n"
        "    time.sleep(60)\n"
        f"while not (os.path.exists({str(orphan)!r}) and os.path.getsize({str(orphan)!r})): time.sleep(0.01)\n"
        "os._exit(3)\n"
    )

    with pytest.raises(ConfigurationError, match="code 3"):
        supervisor.up([[dummies.script("parent", code)]])

    left = identify(int(orphan.read_text(encoding="utf-8")))
    if left is not None:
        _gone(left)


def test_secrets_reach_the_service_and_nothing_else(
    supervisor: Supervisor, dummies: Dummies, state: StateDirectory
) -> None:
    secret = "prk_this-is-a-secret-value"
    holder = replace(dummies.server("holder"), secrets={"ANSWER": secret})
    chatty = dummies.script("chatty", "import os; print('key', os.environ['KEY']); raise SystemExit(1)")

    service = supervisor.up([[holder]]).services[0]
    with pytest.raises(ConfigurationError) as caught:
        supervisor.up([[replace(chatty, secrets={"KEY": secret})]])

    assert HttpProbe(service.ports["http"], "/").ready()
    assert "key ***" in str(caught.value)
    assert secret not in str(caught.value)
    assert secret not in repr(holder)
    assert secret not in (state.path / "services.json").read_text(encoding="utf-8")


def test_the_record_survives_its_writer(supervisor: Supervisor, dummies: Dummies, state: StateDirectory) -> None:
    service = supervisor.up([[dummies.server("one")]]).services[0]
    told = json.loads((state.path / "services.json").read_text(encoding="utf-8"))

    assert told["services"][0]["process"]["pid"] == service.process.pid
    other = Supervisor(StateDirectory(state.path))
    assert other.down() == (Ending("one", True),)


def test_a_stranger_on_the_port_is_not_taken_for_the_service(
    supervisor: Supervisor, dummies: Dummies, state: StateDirectory
) -> None:
    port = free_port()
    late = replace(dummies.server("late", port=port), probe=_SlowLook(port))
    elsewhere = Supervisor(StateDirectory(state.path.with_name("elsewhere")))
    elsewhere.up([[dummies.server("stranger", port=port)]])
    try:
        with pytest.raises(ConfigurationError, match="'late' ended"):
            supervisor.up([[dummies.server("early")], [late]])
        assert HttpProbe(port, "/").ready()
    finally:
        elsewhere.down()


class _SlowLook:
    """Looks only after the service had time to fail at its port."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ready(self) -> bool:
        time.sleep(1.0)
        return HttpProbe(self.port, "/").ready()


def _gone(process: ProcessIdentity) -> None:
    deadline = time.monotonic() + 30
    while is_alive(process):
        assert time.monotonic() < deadline, "it did not die"
        time.sleep(0.02)
