"""mmapqueue.compat.FifoDiskQueue: the behaviours of queuelib's queues, but for those of their files."""

import os
from pathlib import Path

import pytest

import mmapqueue
from conftest import SMALL, Script, fill
from mmapqueue.compat import FifoDiskQueue


def popped(requests: FifoDiskQueue) -> list[bytes]:
    found = []
    while (data := requests.pop()) is not None:
        found.append(data)
    return found


def test_an_empty_queue(tmp_path: Path) -> None:
    with FifoDiskQueue(tmp_path / "requests") as requests:
        assert (requests.pop(), requests.peek(), len(requests)) == (None, None, 0)
        requests.clear()
        assert len(requests) == 0


def test_first_in_first_out(tmp_path: Path) -> None:
    with FifoDiskQueue(tmp_path / "requests") as requests:
        items = [b"a", b"", bytes(range(256)), b"\r\n"]
        for item in items[:3]:
            requests.push(item)
        assert requests.pop() == items[0]
        requests.push(items[3])
        assert len(requests) == 3
        assert popped(requests) == items[1:]


def test_peek_moves_nothing(tmp_path: Path) -> None:
    with FifoDiskQueue(tmp_path / "requests") as requests:
        requests.push(b"a")
        requests.push(b"b")
        assert [requests.peek(), requests.peek(), requests.pop()] == [b"a", b"a", b"a"]
        assert [requests.peek(), requests.pop(), requests.peek()] == [b"b", b"b", None]


def test_a_pop_that_is_interrupted_when_it_lets_the_lock_go_removes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupting:
        left = 1

        def __enter__(self) -> None:
            pass

        def __exit__(self, *error: object) -> None:
            if self.left:
                self.left -= 1
                raise KeyboardInterrupt

    with FifoDiskQueue(tmp_path / "requests") as requests:
        for item in (b"a", b"b", b"c"):
            requests.push(item)
        assert requests.pop() == b"a"
        with monkeypatch.context() as patch:
            patch.setattr(requests, "_lock", Interrupting())
            with pytest.raises(KeyboardInterrupt):
                requests.pop()
    with FifoDiskQueue(tmp_path / "requests") as requests:
        assert popped(requests) == [b"b", b"c"]


def test_a_signal_handler_may_pop_within_a_pop(script: Script, tmp_path: Path) -> None:
    """At any call of the pop; whether the handler raises or not, each record is returned once."""
    script.run(
        """
        import signal, sys
        from mmapqueue.compat import FifoDiskQueue

        signal.alarm(100)  # Ends a program that waits for itself.
        requests = FifoDiskQueue(sys.argv[1])
        consumer, lock = requests._consumer, requests._lock
        got, raises, left = [], False, 0

        class Handled(Exception):
            pass

        def handle(number, frame):
            got.append(requests.pop())
            if raises:
                raise Handled

        def step():
            global left
            left -= 1
            if left == 0:
                signal.raise_signal(signal.SIGUSR1)

        def stepped(call):
            def made(*arguments, **options):
                step()
                return call(*arguments, **options)
            return made

        class SteppedLock:
            def __enter__(self):
                lock.acquire()

            def __exit__(self, *error):
                lock.release()
                step()

        signal.signal(signal.SIGUSR1, handle)
        consumer.ack_many, consumer.pop = stepped(consumer.ack_many), stepped(consumer.pop)
        requests._lock = SteppedLock()
        for raises in (False, True):
            for at in range(1, 4):
                for item in (b"1", b"2", b"3", b"4"):
                    requests.push(item)
                left = 0
                got = [requests.pop()]
                left = at
                try:
                    got.append(requests.pop())
                except Handled:
                    pass
                assert left <= 0, left
                left = 0
                while (data := requests.pop()) is not None:
                    got.append(data)
                assert sorted(got) == [b"1", b"2", b"3", b"4"], (raises, at, got)
                assert consumer.lag() == 0, (raises, at)
        requests.close()
        """,
        tmp_path / "requests",
    )


def test_only_bytes_are_pushed(tmp_path: Path) -> None:
    with FifoDiskQueue(tmp_path / "requests") as requests:
        for wrong in (0, "", None, popped):
            with pytest.raises(TypeError):
                requests.push(wrong)  # type: ignore[arg-type]


def test_clear_removes_everything(tmp_path: Path) -> None:
    with FifoDiskQueue(tmp_path / "requests") as requests:
        requests.push(b"a")
        requests.push(b"b")
        requests.pop()
        requests.clear()
        assert (len(requests), requests.peek(), requests.pop()) == (0, None, None)
        requests.push(b"c")
        assert requests.pop() == b"c"


def test_a_close_keeps_what_is_left(tmp_path: Path) -> None:
    requests = FifoDiskQueue(tmp_path / "requests")
    for item in (b"a", b"b", b"c"):
        requests.push(item)
    requests.pop()
    requests.close()
    requests.close()
    with pytest.raises(mmapqueue.Closed):
        requests.pop()
    with FifoDiskQueue(tmp_path / "requests") as requests:
        assert requests.path == os.fspath(tmp_path / "requests")
        assert popped(requests) == [b"b", b"c"]


def test_a_kill_redelivers_the_last_one_alone(script: Script, tmp_path: Path) -> None:
    process = script.start(
        """
        import sys, os, signal
        from mmapqueue.compat import FifoDiskQueue
        requests = FifoDiskQueue(sys.argv[1])
        for item in (b"a", b"b", b"c"):
            requests.push(item)
        requests.pop(), requests.pop()
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        tmp_path / "requests",
    )
    process.communicate(timeout=120)
    with FifoDiskQueue(tmp_path / "requests") as requests:
        assert popped(requests) == [b"b", b"c"]


def test_a_full_queue_raises_at_once(tmp_path: Path) -> None:
    with FifoDiskQueue(tmp_path / "requests", **SMALL) as requests:
        assert fill(requests._queue) > 0
        with pytest.raises(mmapqueue.Full):
            requests.push(b"x" * 500)
        popped(requests)
        requests.push(b"x")


def test_the_size_is_that_of_queuelib(tmp_path: Path) -> None:
    with FifoDiskQueue(tmp_path / "requests") as requests:
        requests.push(b"a")
        requests.push(b"b")
        assert (requests.size, len(requests)) == (2, 2)
        requests.pop()
        assert (requests.size, len(requests)) == (1, 1)
