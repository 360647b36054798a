"""Batching producers of programs that end, fork or are interrupted."""

import os
import signal

import mmapqueue
from conftest import Script, data


def test_the_end_of_the_program_pushes_what_waits(script: Script) -> None:
    script.run(
        """
        import sys, warnings
        import mmapqueue
        queue = mmapqueue.Queue(sys.argv[1])
        producer = queue.producer(linger=1000)
        for number in range(10):
            producer.push(b"%d" % number)
        warnings.simplefilter("ignore")
        """,
        script.directory / "queue",
    )
    with mmapqueue.Queue(script.directory / "queue") as queue:
        assert data(queue) == [b"%d" % number for number in range(10)]


def test_a_forked_child_cannot_push_and_leaves_the_parents_records(script: Script) -> None:
    out = script.run(
        """
        import os, sys, warnings
        import mmapqueue
        warnings.simplefilter("ignore", DeprecationWarning)
        with mmapqueue.Queue(sys.argv[1]) as queue, queue.producer(linger=1000) as producer:
            handle = producer.push(b"x")
            if os.fork() == 0:
                for call in (lambda: producer.push(b"y"), producer.flush, lambda: handle.result(1)):
                    try:
                        call()
                    except mmapqueue.MmapQueueError as error:
                        print("forked" in str(error), flush=True)
                producer.close()
                os._exit(0)
            os.wait()
        print(handle.result(), flush=True)
        """,
        script.directory / "queue",
    )
    assert out.split() == ["True", "True", "True", "0"]


def test_a_forked_child_waits_for_no_handle(script: Script) -> None:
    """Another thread of the parent has the lock of the handles at the fork, as the thread that pushes has at times."""
    out = script.run(
        """
        import asyncio, os, signal, sys, threading, warnings
        import mmapqueue
        warnings.simplefilter("ignore", DeprecationWarning)
        held, forked = threading.Event(), threading.Event()

        def hold():
            with producer._sender._progress:
                held.set()
                forked.wait()

        async def awaited(handle):
            return await handle

        with mmapqueue.Queue(sys.argv[1]) as queue, queue.producer(linger=1000) as producer:
            done = producer.push(b"x")
            producer.flush()
            waits = producer.push(b"y")
            threading.Thread(target=hold).start()
            held.wait()
            child = os.fork()
            if child == 0:
                signal.alarm(60)  # Ends a child that waits.
                done.add_done_callback(lambda handle: print(handle.result(), done.future().result(), flush=True))
                for call in (
                    lambda: waits.add_done_callback(print), waits.future, waits.result,
                    lambda: asyncio.run(awaited(waits)),
                ):
                    try:
                        call()
                    except mmapqueue.MmapQueueError as error:
                        print("forked" in str(error), flush=True)
                os._exit(0)
            status = os.waitpid(child, 0)[1]
            forked.set()
        print(status, waits.result(), flush=True)
        """,
        script.directory / "queue",
    )
    assert out.split() == ["0", "0", *["True"] * 4, "0", "1"]


INTERRUPTED = """
    import os, random, signal, sys, threading, time
    import mmapqueue

    armed = False

    def handler(number, frame):
        global armed
        if armed:
            armed = False
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handler)
    queue = mmapqueue.Queue(sys.argv[1], capacity="64m")
    done = threading.Event()

    def send():
        while not done.wait(random.random() * 0.003):
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    producer = queue.producer(linger=0.001, buffer_bytes=20_000)
    number, hit, handles = 0, 0, []
    # Until some pushes were interrupted, however slow the thread is that sends signals.
    while number < 60_000 or hit <= 5:
        try:
            armed = True
            while number < 60_000 or hit <= 5:
                if number >= 60_000:
                    # Without a pause the queue would be full before the next signal arrives.
                    time.sleep(0.0001)
                # The number is used once, whatever the interrupted push did.
                number += 1
                handles.append((number, producer.push(b"%d" % number)))
                if number % 5000 == 0:
                    producer.flush()
            armed = False
        except KeyboardInterrupt:
            hit += 1
    done.set()
    thread.join()
    producer.flush()
    found = [int(message.data) for message in queue]
    assert found == sorted(set(found))
    assert all(found[handle.result()] == number for number, handle in handles)
    assert len(handles) <= len(found) <= number
    producer.close()
    queue.close()
    print(hit)
"""


def test_an_interrupted_push_is_in_the_queue_once_or_not(script: Script) -> None:
    assert int(script.run(INTERRUPTED, script.directory / "queue")) > 5


def test_ctrl_c_ends_a_push_that_waits(script: Script) -> None:
    process = script.start(
        """
        import itertools, sys, threading
        import mmapqueue
        from mmapqueue._queue.deadline import Deadline
        queue = mmapqueue.Queue(sys.argv[1], segment_size="4k", capacity="16k", max_event_size="1k")
        producer = queue.producer(linger=0, buffer_bytes=2000)
        slices, seconds = itertools.count(1), Deadline.seconds

        def counted(deadline, most):
            # A push that begins a second slice has waited for a whole one.
            if threading.current_thread() is threading.main_thread() and next(slices) == 2:
                print("waiting", flush=True)
            return seconds(deadline, most)

        Deadline.seconds = counted
        try:
            while True:
                producer.push(b"x" * 500)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        messages = queue.pop_many()
        queue.ack_up_to(messages[-1])
        producer.push(b"works")
        producer.close()
        print(queue.pop_many()[-1].data.decode())
        queue.close()
        """,
        script.directory / "queue",
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err, out.split()) == (0, "", ["interrupted", "works"])
