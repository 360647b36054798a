"""Ctrl-C, and other signals with handlers that raise, at any moment."""

import os
import signal
import subprocess

import pytest

from conftest import Script

CONSUMER = """
    import random, signal, sys, threading, time, os
    import mmapqueue

    directory, way, number, total = sys.argv[1], sys.argv[2], getattr(signal, sys.argv[3]), int(sys.argv[4])

    class Interrupt(BaseException):
        pass

    interrupt = KeyboardInterrupt if number == signal.SIGINT else Interrupt
    armed = False

    def handler(number, frame):
        # Once for each round: this test's own bookkeeping is not what is tested.
        global armed
        if armed:
            armed = False
            raise interrupt

    signal.signal(number, handler)

    queue = mmapqueue.Queue(directory)
    done = threading.Event()
    got, hit = [], 0
    one = None
    iterator = None

    def produce():
        for i in range(total):
            # Signals are sent in between, however slow their thread is.
            while hit < i * 25 // total:
                time.sleep(0.001)
            queue.push(b"%d" % i)
            # The load: pops wait now and then.
            if random.random() < 0.1:
                time.sleep(0.002)

    def send():
        while not done.wait(random.random() * 0.004):
            os.kill(os.getpid(), number)

    threads = [threading.Thread(target=task, daemon=True) for task in (produce, send)]
    for thread in threads:
        thread.start()
    while len(got) < total:
        # The window that is the caller's own: it came back, and the signal struck before it was kept.
        last = one[-1] if isinstance(one, list) and one else one or None
        if last is not None and (not got or got[-1].offset < last.offset):
            got += one if isinstance(one, list) else [one]
        if iterator is not None:
            iterator.close()
        try:
            armed = True
            while len(got) < total:
                if way == "pop":
                    one = queue.pop(timeout=60)
                    got.append(one)
                elif way == "pop_many":
                    one = queue.pop_many(20, timeout=60)
                    got += one
                else:
                    iterator = queue.consume(max_records=20)
                    for one in iterator:
                        got.append(one)
                        if len(got) == total:
                            break
            armed = False
        except interrupt:
            hit += 1
    done.set()
    threads[1].join()
    offsets = [message.offset for message in got]
    assert offsets == list(range(total)), [
        (a, b) for a, b in zip(offsets, offsets[1:]) if b != a + 1]
    assert [int(message.data) for message in got] == offsets
    queue.ack_up_to(got[-1])
    assert queue.lag() == 0
    queue.close()
    print(hit)
"""


@pytest.mark.parametrize("way", ["pop", "pop_many", "consume"])
@pytest.mark.parametrize("number", ["SIGINT", "SIGALRM", "SIGWINCH", "SIGRTMIN"])
def test_no_record_is_lost_or_comes_twice(script: Script, way: str, number: str) -> None:
    hits = int(script.run(CONSUMER, script.directory / "queue", way, number, 2000))
    assert hits > 20


def wait_for_line(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == line + "\n"


@pytest.mark.parametrize(
    "call",
    [
        "queue.pop()",
        "queue.pop_many(timeout=None)",
        "next(queue.consume())",
        "full.push(b'x' * 500)",
        "full.push_many([b'x' * 500] * 10)",
        "full.push_many([b'x' * 500], atomic=True)",
    ],
)
def test_a_call_that_waits_ends_at_once(script: Script, call: str) -> None:
    process = script.start(
        f"""
        import itertools, os, signal, sys
        import mmapqueue
        from mmapqueue._queue.deadline import Deadline
        queue = mmapqueue.Queue(sys.argv[1])
        full = mmapqueue.Queue(sys.argv[1] + "-full", segment_size="4k", capacity="16k", max_event_size="1k")
        try:
            full.push_many((b"x" * 500 for _ in range(1000)), block=False)
        except mmapqueue.Full:
            pass
        # A byte for each signal, written as soon as the signal arrives.
        arrived, sent = os.pipe()
        os.set_blocking(arrived, False)
        os.set_blocking(sent, False)
        begun = []
        slices = itertools.count(1)
        millis = Deadline.call_millis
        def counted(deadline):
            # The call has waited for a whole slice.
            if next(slices) == 2:
                print("waiting", flush=True)
            if begun:
                begun[0] += 1
            else:
                try:
                    os.read(arrived, 1)
                    begun.append(1)
                except BlockingIOError:
                    pass
            return millis(deadline)
        Deadline.call_millis = counted
        try:
            signal.set_wakeup_fd(sent)
            {call}
        except KeyboardInterrupt:
            signal.set_wakeup_fd(-1)
            print("interrupted", *begun, flush=True)
        Deadline.call_millis = millis
        assert queue.push(b"works") == 0
        assert queue.pop().data == b"works"
        queue.close()
        full.close()
        """,
        script.directory / "queue",
    )
    wait_for_line(process, "waiting")
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    # It waits for the end of a slice that has begun; one more may be about to begin.
    assert out in ("interrupted\n", "interrupted 1\n")


def test_the_handlers_are_as_they_were(script: Script) -> None:
    script.run(
        """
        import signal, sys
        import mmapqueue
        heard = []
        signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        before = [signal.getsignal(n) for n in signal.valid_signals()]
        with mmapqueue.Queue(sys.argv[1]) as queue:
            queue.push(b"x")
            queue.pop()
            signal.raise_signal(signal.SIGTERM)
        assert [signal.getsignal(n) for n in signal.valid_signals()] == before
        assert heard == [signal.SIGTERM]
        """,
        script.directory / "queue",
    )


def test_a_ctrl_c_in_the_terminal_does_not_end_the_jvm(script: Script) -> None:
    """The terminal signals the whole foreground group: the JVM must not be of it."""
    process = script.start(
        """
        import os, sys, time
        import mmapqueue
        from mmapqueue._jvm import standalone
        os.setpgid(0, 0)
        queue = mmapqueue.Queue(sys.argv[1])
        queue.push(b"before")
        try:
            print("ready", flush=True)
            time.sleep(600)
        except KeyboardInterrupt:
            pass
        # A signal to the group reaches all its processes before the call that sends it returns.
        assert os.getpgid(standalone._running.process.pid) != os.getpgid(0)
        assert queue.pop().data == b"before"
        queue.close()
        print("works")
        """,
        script.directory / "queue",
    )
    wait_for_line(process, "ready")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err, out) == (0, "", "works\n")


def test_the_exception_of_any_handler_is_the_callers(script: Script) -> None:
    numbers = script.run(
        """
        import os, signal, sys, threading
        import mmapqueue
        from mmapqueue._queue.deadline import Deadline

        class Handled(Exception):
            pass

        def handle(number, frame):
            raise Handled(number)

        queue = mmapqueue.Queue(sys.argv[1])
        # Within a call into the JVM: the time of its wait is asked for right before.
        call_millis = Deadline.call_millis
        sent = threading.Semaphore(0)

        def arriving(deadline):
            sent.release()
            return call_millis(deadline)

        Deadline.call_millis = arriving
        done = []
        for number in sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}):
            signal.signal(number, handle)

            def send():
                sent.acquire()
                os.kill(os.getpid(), number)

            sender = threading.Thread(target=send)
            sender.start()
            try:
                queue.pop(timeout=60)
            except Handled as error:
                assert error.args == (number,)
                done.append(number)
            sender.join()
            while sent.acquire(blocking=False):
                pass
            assert signal.getsignal(number) is handle
            # The end of the JVM is a signal, too.
            signal.signal(number, signal.SIG_DFL)
        queue.push(b"x")
        assert queue.pop(timeout=60).data == b"x"
        print(len(done), len(signal.valid_signals()) - 2)
        """,
        script.directory / "queue",
    )
    handled, all_of_them = numbers.split()
    assert handled == all_of_them


def test_handlers_are_restored_when_one_raises_while_others_are_replaced(script: Script) -> None:
    script.run(
        """
        import signal, sys
        from mmapqueue._jvm import signals

        class Handled(Exception):
            pass

        def handle(number, frame):
            raise Handled(number)

        numbers = (signal.SIGHUP, signal.SIGUSR1, signal.SIGWINCH)
        for number in numbers:
            signal.signal(number, handle)
        real = signals._signal_set
        for raised in numbers:
            for at in range(2 * len(numbers) + 2):
                left = [at]

                def count(number, handler):
                    real(number, handler)
                    left[0] -= 1
                    if left[0] == 0:
                        signal.raise_signal(raised)

                signals._signal_set = count
                try:
                    with signals.Shield():
                        pass
                except Handled:
                    pass
                else:
                    assert left[0] != 0 or at == 0, (raised, at)
                signals._signal_set = real
                assert [signal.getsignal(number) for number in numbers] == [handle] * 3, (raised, at)
                assert not signals._is_up
        """
    )


def test_a_child_that_another_thread_forks_handles_signals(script: Script) -> None:
    """At any moment of a Shield of the main thread, which does not exist in the child."""
    script.run(
        """
        import os, signal, threading, warnings
        from mmapqueue._jvm import signals

        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads, from Python 3.12 on
        numbers = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
        for number in numbers:
            signal.signal(number, lambda number, _: handled.append(number))
        handlers = list(map(signal.getsignal, numbers))
        handled, statuses = [], []

        def fork():
            child = os.fork()
            if child == 0:
                try:
                    # With the handlers of the program, and Shields that defer them.
                    assert list(map(signal.getsignal, numbers)) == handlers
                    with signals.Shield():
                        signal.raise_signal(signal.SIGTERM)
                        assert not handled
                    assert handled == [signal.SIGTERM]
                except BaseException:
                    os._exit(1)
                os._exit(0)
            statuses.append(os.waitpid(child, 0)[1])

        def in_thread():
            thread = threading.Thread(target=fork)
            thread.start()
            thread.join()

        real, parent = signals._signal_set, os.getpid()

        def forking(number, handler):
            real(number, handler)
            if os.getpid() == parent:
                in_thread()

        signals._signal_set = forking
        with signals.Shield():
            in_thread()
        signals._signal_set = real
        assert statuses == [0] * (2 * len(numbers) + 1), statuses
        assert list(map(signal.getsignal, numbers)) == handlers
        """
    )
