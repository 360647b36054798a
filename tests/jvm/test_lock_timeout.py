"""Opening a queue or consumer while the process that holds its lock is ending."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

import mmapqueue
from conftest import Open, Script, children, eventually, is_running

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


def let_end(jvm: int) -> threading.Timer:
    timer = threading.Timer(0.7, os.kill, (jvm, signal.SIGCONT))
    timer.start()
    return timer


def test_opening_waits_for_the_jvm_of_a_python_that_was_killed(orphan: int, open_queue: Open) -> None:
    timer = let_end(orphan)
    queue = open_queue(lock_timeout=60)
    timer.join()
    assert [message.data for message in queue] == [b"one"]


def test_so_does_a_consumer(script: Script, open_queue: Open) -> None:
    queue = open_queue(lock_timeout=60)
    queue.create_consumer("reader")
    jvm = killed(script.start(HOLDER, queue.path, "read_only"))
    timer = let_end(jvm)
    assert queue.consumer("reader").lag() == 0
    timer.join()


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
        time.sleep(0.5)
        return pid
    setattr(module, name, start)
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


def test_opening_waits_for_the_driver_of_a_python_that_was_killed(script: Script, open_queue: Open) -> None:
    jvm = killed(script.start(DRIVER, script.directory / "queue"))
    timer = let_end(jvm)
    queue = open_queue(lock_timeout=60)
    timer.join()
    assert [message.data for message in queue] == [b"one"]
