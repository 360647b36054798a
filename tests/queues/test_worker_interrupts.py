"""Ctrl-C while a handler runs in threads."""

import os
import signal

from conftest import Script, interrupt_twice

CTRL_C = """
    import signal, sys, threading, time
    import mmapqueue
    queue = mmapqueue.Queue(sys.argv[1])
    queue.push_many([b"%d" % i for i in range(500)])
    begun, handled = [], []

    def handle(message):
        begun.append(message.offset)
        if message.offset == 99:
            print("working", flush=True)
        # The load: handlers are slow, and Ctrl-C finds four of them running.
        time.sleep(0.3 if len(begun) > 100 else 0.001)
        handled.append(message.offset)

    try:
        queue.process(handle, workers=4)
    except KeyboardInterrupt:
        # Running handlers were waited for; their records are acked.
        assert sorted(begun) == sorted(handled)
        assert not any(t.name.startswith("mmapqueue-worker") for t in threading.enumerate())
        print("interrupted", flush=True)
    assert queue.unacked() == 0, queue.unacked()
    rest = list(queue)
    assert {m.attempts for m in rest} == {1}
    assert sorted(handled + [m.offset for m in rest]) == list(range(500))
    queue.ack_many(rest)
    assert queue.lag() == 0
    try:
        when_waiting(lambda: print("idle", flush=True))
        queue.process(handle, workers=4)
    except KeyboardInterrupt:
        print("interrupted")
    queue.push(b"works")
    assert queue.pop().data == b"works"
    queue.close()
"""


def test_ctrl_c(script: Script) -> None:
    process = script.start(CTRL_C, script.directory / "queue")
    interrupt_twice(process, "working")


def test_a_second_ctrl_c_does_not_wait(script: Script) -> None:
    process = script.start(
        """
        import itertools, sys, threading, time
        import mmapqueue
        from mmapqueue._queue.workers import Workers
        queue = mmapqueue.Queue(sys.argv[1])
        queue.push_many([b"0", b"1", b"2"])
        release = threading.Event()
        release_waiting = Workers._release_waiting

        def stopping(workers):
            # Within a Shield, right before the wait for running handlers.
            release_waiting(workers)
            join, joins = threading.Thread.join, itertools.count(1)

            def counted(thread, timeout=None):
                # The wait for the handler continues after two slices.
                if next(joins) == 3:
                    print("stopping", flush=True)
                join(thread, timeout)

            threading.Thread.join = counted

        Workers._release_waiting = stopping

        def handle(message):
            print("working", flush=True)
            release.wait(600)

        try:
            queue.process(handle, workers=1)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        assert queue.unacked() == 1
        release.set()
        deadline = time.monotonic() + 60
        # Its worker acks it itself.
        while queue.lag() != 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert queue.lag() == 2
        assert [m.offset for m in queue] == [1, 2]
        queue.close()
        """,
        script.directory / "queue",
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    os.kill(process.pid, signal.SIGINT)
    assert process.stdout.readline() == "stopping\n"
    os.kill(process.pid, signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err, out) == (0, "", "")
