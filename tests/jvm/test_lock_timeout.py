"""Opening a queue or consumer while the process that holds its lock is ending."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

import mmapqueue
from conftest import Open, Script, children, eventually, is_running
from mmapqueue._jvm import lock_holders

HOLDER = """
    import sys, time
    import mmapqueue
    from mmapqueue._jvm import standalone
    queue = mmapqueue.Queue(sys.argv[1], read_only=len(sys.argv) > 2)
    if not queue.config["read_only"]:
        queue.push(b"one")
    else:
        queue.consumer("reader")
    print(standalone._running.process.pid, flush=True)
    time.sleep(600)
"""


def killed(holder: "subprocess.Popen[str]") -> int:
    """Kills a holder, and stops its JVM so that it cannot end; the JVM's process id."""
    assert holder.stdout is not None
    jvm = int(holder.stdout.readline())
    os.kill(jvm, signal.SIGSTOP)
    holder.kill()
    holder.wait()
    return jvm


@pytest.fixture
def orphan(script: Script) -> Iterator[int]:
    """A JVM that holds the queue; its Python process was killed."""
    jvm = killed(script.start(HOLDER, script.directory / "queue"))
    yield jvm
    if is_running(jvm):
        os.kill(jvm, signal.SIGKILL)


class Pauses:
    """The pauses of calls that wait for a lock. In the fifth one the JVM that holds it continues, and so ends."""

    def __init__(self) -> None:
        self.count = 0
        self.jvm = 0

    def pause(self, seconds: float) -> None:
        self.count += 1
        if self.count == 5:
            os.kill(self.jvm, signal.SIGCONT)
        time.sleep(seconds)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Pauses:
    found = Pauses()
    monkeypatch.setattr(lock_holders, "sleep", found.pause)
    return found


def test_opening_waits_for_the_jvm_of_a_python_that_was_killed(orphan: int, open_queue: Open, pauses: Pauses) -> None:
    pauses.jvm = orphan
    queue = open_queue(lock_timeout=60)
    assert pauses.count >= 5
    assert [message.data for message in queue] == [b"one"]


def test_so_does_a_consumer(script: Script, open_queue: Open, pauses: Pauses) -> None:
    queue = open_queue(lock_timeout=60)
    queue.create_consumer("reader")
    pauses.jvm = killed(script.start(HOLDER, queue.path, "read_only"))
    assert queue.consumer("reader").lag() == 0
    assert pauses.count >= 5


def test_it_waits_no_longer_than_it_is_told(orphan: int, open_queue: Open) -> None:
    for seconds in (0, 0.2):
        with pytest.raises(mmapqueue.Locked) as caught:
            open_queue(lock_timeout=seconds)
        assert caught.value.pid == orphan


def test_locked_is_raised_at_once_for_a_holder_that_is_not_ending(script: Script, open_queue: Open) -> None:
    holder = script.start(HOLDER, script.directory / "queue")
    assert holder.stdout is not None
    jvm = int(holder.stdout.readline())
    # An hour would be noticed.
    with pytest.raises(mmapqueue.Locked) as caught:
        open_queue(lock_timeout=3600)
    assert caught.value.pid == jvm
    with pytest.raises(ValueError, match="lock_timeout"):
        open_queue(lock_timeout=-1)


FORKING = """
    import os, subprocess, threading, time, sys
    import mmapqueue
    from mmapqueue._jvm import standalone
    module, name = (subprocess, "_fork_exec") if hasattr(subprocess, "_fork_exec") else (
        subprocess._posixsubprocess, "fork_exec")
    fork_exec, started = getattr(module, name), threading.Event()
    def start(*arguments):
        pid = fork_exec(*arguments)
        started.set()
        # Popen still has the pipe that a child must not inherit.
        forking.wait(60)
        return pid
    setattr(module, name, start)
    # Called first, before a function that waits for the start: the last one registered is.
    forking = threading.Event()
    os.register_at_fork(before=forking.set)
    opened = []
    thread = threading.Thread(target=lambda: opened.append(mmapqueue.Queue(sys.argv[1])))
    thread.start()
    started.wait()
    child = os.fork()
    if child == 0:
        time.sleep(600)
        os._exit(0)
    thread.join()
    print(standalone._running.process.pid, child, flush=True)
    time.sleep(600)
"""


def test_a_fork_while_the_jvm_starts_neither_hangs_nor_keeps_it_alive(script: Script, open_queue: Open) -> None:
    process = script.start(FORKING, script.directory / "queue", PYTHONWARNINGS="ignore")
    assert process.stdout is not None
    jvm, child = map(int, process.stdout.readline().split())
    process.kill()
    process.wait()
    try:
        assert eventually(lambda: not is_running(jvm))
        assert is_running(child)
        open_queue()
    finally:
        for pid in (child, jvm):
            if is_running(pid):
                os.kill(pid, signal.SIGKILL)


def test_children_are_found(in_thread: Any) -> None:
    process = subprocess.Popen(["sleep", "600"])
    try:
        found: Future[list[int]] = in_thread(lambda: children(os.getpid()))
        assert process.pid in found.result(60)
    finally:
        process.kill()
        process.wait()


DRIVER = """
    import sys, time
    import mmapqueue
    from pyspark.sql import SparkSession
    spark = mmapqueue.configure(SparkSession.builder.master("local[1]")).getOrCreate()
    queue = mmapqueue.Queue(sys.argv[1], spark=spark)
    queue.push(b"one")
    print(spark._jvm.java.lang.ProcessHandle.current().pid(), flush=True)
    time.sleep(600)
"""


def test_opening_waits_for_the_driver_of_a_python_that_was_killed(
    script: Script, open_queue: Open, pauses: Pauses
) -> None:
    pauses.jvm = killed(script.start(DRIVER, script.directory / "queue"))
    queue = open_queue(lock_timeout=60)
    assert pauses.count >= 5
    assert [message.data for message in queue] == [b"one"]
