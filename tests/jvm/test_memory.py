"""The shared memory through which records pass."""

import os
import signal
import stat
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from conftest import SMALL, Open, Script, data, eventually
from mmapqueue._jvm import shared_buffer, shared_memory

RECORDS = [bytes([i % 256]) * (i * 31 % 1000) for i in range(3000)]


def use(queue: mmapqueue.Queue) -> None:
    """All that goes through a shared buffer."""
    large = b"large" * 30_000
    assert queue.push(b"one") == 0
    assert queue.push(large) == 1
    assert queue.push_many(RECORDS) == len(RECORDS)
    assert queue.push_many(RECORDS[:2000], atomic=True) == 2000
    peeked = queue.peek()
    assert peeked is not None
    assert (peeked.data, queue.pop().data, queue.pop().data) == (b"one", b"one", large)
    assert data(queue.pop_many(700)) == RECORDS[:700]
    assert data(queue) == RECORDS[700:] + RECORDS[:2000]


@pytest.fixture
def with_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in another container than the JVM's, where files must have names."""
    monkeypatch.setattr(shared_memory.Allocator, "_map_anonymous", lambda *_: None)


def test_no_file_has_a_name(open_queue: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "mkstemp", lambda **_: pytest.fail("a file with a name"))
    use(open_queue(max_event_size="1m"))


@pytest.mark.parametrize("shared", [True, False])
def test_a_kill_leaves_no_file(script: Script, shared: bool) -> None:
    def left() -> set[Path]:
        return {
            *Path("/dev/shm").glob(".mmapqueue-buffer-*"),
            *script.directory.rglob(".mmapqueue-buffer-*"),
        }

    before = left()
    process = script.start(
        f"""
        import os, signal, sys
        import mmapqueue
        from mmapqueue._jvm import shared_memory
        if not {shared}:
            shared_memory._LEAST_SHARED = 1 << 60
        # Killed after the memory was made and before the JVM maps it.
        shared_memory.secrets.token_bytes = lambda size: os.kill(os.getpid(), signal.SIGKILL)
        with mmapqueue.Queue(sys.argv[1]) as queue:
            queue.push(b"x")
        """,
        script.directory / "queue",
    )
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    # Those of other programs are gone in a moment.
    assert eventually(lambda: left() <= before)


@pytest.mark.usefixtures("with_names")
def test_what_others_have_left_is_swept(open_queue: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_memory, "_LEAST_SHARED", 1 << 60)
    queue = open_queue()
    old, new = (Path(queue.path) / f".mmapqueue-buffer-{name}" for name in ("old", "new"))
    for file in (old, new):
        file.write_bytes(b"left")
    os.utime(old, (1, 1))
    queue.push(b"x")
    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.usefixtures("with_names")
def test_nothing_is_left_of_the_files(open_queue: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    paths: list[Path] = []
    unlink = Path.unlink

    def look_and_unlink(path: Path, missing_ok: bool = False) -> None:
        found = path.stat()
        paths.append(path)
        seen.append((path.parent, stat.S_IMODE(found.st_mode), found.st_blocks * 512 >= found.st_size))
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", look_and_unlink)
    monkeypatch.setattr(shared_memory, "_has_room", lambda _: True)
    use(open_queue(max_event_size="1m"))
    # Nobody else may read them, and all their blocks are there.
    assert set(seen) == {(Path("/dev/shm"), 0o600, True)}
    # Other processes may have files there.
    assert not [path for path in paths if path.exists()]


@pytest.mark.usefixtures("with_names")
def test_a_small_shared_memory_is_left_to_others(open_queue: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    directories: list[Path] = []
    make = tempfile.mkstemp

    def mkstemp(**at: Any) -> tuple[int, str]:
        directories.append(at["dir"])
        return make(**at)

    monkeypatch.setattr(tempfile, "mkstemp", mkstemp)
    monkeypatch.setattr(shared_memory, "_LEAST_SHARED", 1 << 60)
    queue = open_queue(max_event_size="1m")
    use(queue)
    assert set(directories) == {Path(queue.path)}
    assert not list(Path(queue.path).glob(".mmapqueue*"))


def test_without_any_it_works_all_the_same_and_warns_once(open_queue: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_memory.Allocator, "_map", lambda *_: None)
    queue = open_queue(max_event_size="1m")
    with pytest.warns(RuntimeWarning, match="many times slower") as caught:
        use(queue)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        queue.push(b"x")
        assert queue.pop().data == b"x"


@pytest.mark.parametrize("failing", ["mkstemp", "_reserve"])
@pytest.mark.usefixtures("with_names")
def test_memory_that_cannot_be_shared_is_no_error(
    open_queue: Open, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(tempfile if failing == "mkstemp" else shared_memory, failing, fail)
    with pytest.warns(RuntimeWarning, match="many times slower"):
        use(open_queue(max_event_size="1m"))


def test_when_only_large_buffers_fail_small_ones_do(open_queue: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    reserve = shared_memory._reserve

    def fail(descriptor: int, size: int) -> None:
        if size == shared_buffer.LARGE_BYTES:
            raise OSError("no space left")
        reserve(descriptor, size)

    monkeypatch.setattr(shared_memory, "_reserve", fail)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        use(open_queue(max_event_size="1m"))


def test_another_file_of_the_same_name_is_noticed(open_queue: Open, tmp_path: Path) -> None:
    queue = open_queue(**SMALL)
    map_buffer = queue._handle.pool._allocator._mapped_buffer
    file = tmp_path / "buffer"
    file.write_bytes(bytes(range(256)) * 256)
    assert map_buffer(str(file), 65536, bytes(range(16)).hex()) is not None
    assert map_buffer(str(file), 65536, bytes(16).hex()) is None
    assert map_buffer(str(file), 131072, bytes(range(16)).hex()) is None
    assert map_buffer(str(tmp_path / "missing"), 65536, bytes(16).hex()) is None
    assert file.stat().st_size == 65536


@pytest.mark.usefixtures("with_names")
def test_close_gives_the_memory_back(open_queue: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    files: list[int] = []
    unlink = Path.unlink

    def keep_and_unlink(path: Path, missing_ok: bool = False) -> None:
        files.append(os.open(path, os.O_RDONLY))
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", keep_and_unlink)
    queue = open_queue(max_event_size="1m")
    use(queue)
    held = [os.fstat(file).st_blocks * 512 for file in files]
    assert held.count(shared_buffer.LARGE_BYTES) == 2
    queue.close()
    left = [os.fstat(file).st_blocks for file in files]
    for file in files:
        os.close(file)
    assert set(left) == {0}


def test_large_records_have_room_in_the_heap(script: Script, tmp_path: Path) -> None:
    """The JVM's heap follows the largest record of the first queue: of its key, or of its directory."""
    script.run(
        """
        import sys, mmapqueue
        with mmapqueue.Queue(sys.argv[1], capacity="256m", max_event_size="40m") as queue:
            record = bytes(range(256)) * (40 << 12)
            assert queue.push(record) == 0
            assert queue.push_many([record, b"small"]) == 2
            with queue.producer() as producer:
                assert producer.push(record).result() == 3
            assert queue.pop().data == record
        """,
        tmp_path / "queue",
    )
    script.run(
        """
        import sys, mmapqueue
        with mmapqueue.Queue(sys.argv[1]) as queue:
            record = bytes(range(256)) * (40 << 12)
            assert [message.data for message in queue.pop_many()] == [record, record, b"small", record]
            assert queue.read_at(0).data == record
            assert queue.push(record) == 4
        """,
        tmp_path / "queue",
    )


def test_the_heap_of_what_is_no_queue(script: Script, tmp_path: Path) -> None:
    (tmp_path / "meta.dat").write_bytes(b"\xff" * 4096)
    out = script.run(
        """
        import sys, mmapqueue
        from mmapqueue._jvm import heap, standalone
        for size in (None, "many", 1 << 20, "8m", -1):
            heap.reserve(sys.argv[1], size)
        assert standalone._heap == 64
        heap.reserve(sys.argv[1], 1 << 62)
        print(standalone._heap)
        """,
        tmp_path,
    )
    assert int(out) == 1024


@pytest.mark.parametrize("variable", ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"])
def test_the_environment_may_choose_the_collector(script: Script, variable: str) -> None:
    code = """
        import sys, mmapqueue
        from mmapqueue._jvm import standalone
        with mmapqueue.Queue(sys.argv[1]):
            beans = standalone.jvm().java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()
            print(*sorted(each.getName() for each in beans), sep=", ")
    """
    assert script.run(code, script.directory / "queue") == "Copy, MarkSweepCompact\n"
    out = script.run(code, script.directory / "queue", **{variable: "-ea -XX:+UseParallelGC"})
    assert out == "PS MarkSweep, PS Scavenge\n"
