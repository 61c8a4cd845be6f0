"""Knowing a process by more than its number."""

import os
import subprocess
import sys

from practicum.cli.services.process import ProcessIdentity, end_group, identify, is_alive, process_table_from_ps


def test_this_process_is_itself() -> None:
    me = identify(os.getpid())

    assert me is not None
    assert is_alive(me)
    assert identify(os.getpid()) == me
    assert not is_alive(ProcessIdentity(pid=me.pid, started="earlier"))


def test_a_zombie_is_not_alive() -> None:
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.read()  # until it ended
    child.stdout.close()
    dead = identify(child.pid)
    while dead is not None and is_alive(dead):
        pass

    assert dead is not None
    assert not end_group(dead, grace=1)
    child.wait()
    assert identify(child.pid) is None


def test_the_portable_table_agrees_with_proc() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"], start_new_session=True)
    try:
        listed = {entry.pid: entry for entry in process_table_from_ps()}

        assert listed[child.pid].group == child.pid
        assert listed[os.getpid()].group == os.getpgid(0)
        assert not listed[child.pid].zombie
        assert len(listed[child.pid].started.split()) == 5
    finally:
        child.kill()
        child.wait()
