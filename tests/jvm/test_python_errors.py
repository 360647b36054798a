"""Errors are also those that Python itself raises for the same fault."""

import errno
import os
import pickle
import queue as standard
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JJavaError

import mmapqueue
import mmapqueue.compat
from conftest import Open
from mmapqueue._jvm import standalone
from mmapqueue._jvm.calls import translated
from mmapqueue._values import errors


def test_a_file_instead_of_the_directory(open_queue: Open, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "file", tmp_path / "file" / "queue", tmp_path / "file" / "a" / "b"):
        for read_only in (False, True):
            with pytest.raises(NotADirectoryError, match=str(tmp_path / "file")) as caught:
                open_queue(path, read_only=read_only)
            error = caught.value
            assert isinstance(error, mmapqueue.ConfigError)
            assert isinstance(error, mmapqueue.NotADirectory)
            assert (error.key, error.value, error.errno) == ("queue_dir", str(path), errno.ENOTDIR)
            assert "directory" in error.allowed


def test_no_queue_to_read(open_queue: Open, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    (tmp_path / "empty").mkdir()
    calls: list[Callable[[], object]] = [
        lambda: open_queue(missing, read_only=True),
        lambda: open_queue(tmp_path / "empty", read_only=True),
        lambda: mmapqueue.verify(missing),
        lambda: mmapqueue.verify(tmp_path / "empty"),
        lambda: mmapqueue.repair(missing, to=tmp_path / "copy"),
    ]
    for call in calls:
        with pytest.raises(FileNotFoundError, match=r"missing|empty") as caught:
            call()
        assert isinstance(caught.value, mmapqueue.NotFound)
        assert caught.value.errno == errno.ENOENT
    assert not missing.exists()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a file system that makes no directories")
def test_a_directory_that_no_one_can_make_is_not_corrupt(open_queue: Open) -> None:
    with pytest.raises(FileNotFoundError, match="/proc/mmapqueue-test") as caught:
        open_queue("/proc/mmapqueue-test")
    assert isinstance(caught.value, mmapqueue.NotFound)
    assert not isinstance(caught.value, mmapqueue.Corrupt)


def test_no_permission(open_queue: Open, tmp_path: Path) -> None:
    open_queue(tmp_path / "first").close()
    io = standalone.jvm().java.nio.file
    for cause in (
        io.AccessDeniedException("/some/where"),
        io.FileSystemException("/some/where", None, "Operation not permitted"),
    ):
        thrown = standalone.jvm().org.mmapqueue.errors.MmapQueueException("it could not be opened", cause)
        error = translated(Py4JJavaError("calling", thrown))
        assert isinstance(error, mmapqueue.NotPermitted)
        assert isinstance(error, PermissionError)
        assert (str(error), error.errno, error.filename) == ("it could not be opened", errno.EACCES, "/some/where")


def test_a_directory_that_not_even_root_may_write(open_queue: Open) -> None:
    if not os.path.ismount("/sys"):
        pytest.skip("nothing is mounted on /sys")
    # As Python's own mkdir.
    with pytest.raises(OSError, match="/sys/mmapqueue-test") as caught:
        os.mkdir("/sys/mmapqueue-test")  # noqa: PTH102
    if not isinstance(caught.value, PermissionError):
        pytest.skip("/sys is not as usual here")
    with pytest.raises(PermissionError, match="/sys/mmapqueue-test") as refused:
        open_queue("/sys/mmapqueue-test")
    assert isinstance(refused.value, mmapqueue.NotPermitted)


def test_what_else_they_are() -> None:
    assert issubclass(mmapqueue.ConfigError, ValueError)
    assert issubclass(mmapqueue.OutOfRange, IndexError)
    assert issubclass(mmapqueue.Closed, getattr(standard, "ShutDown", mmapqueue.MmapQueueError))
    for kind in (mmapqueue.NotFound, mmapqueue.NotPermitted, mmapqueue.NotADirectory):
        assert issubclass(kind, mmapqueue.MmapQueueError)
        assert str(kind("said")) == "said"
        assert str(pickle.loads(pickle.dumps(kind("said")))) == "said"


def test_closed_is_shutdown() -> None:
    assert issubclass(mmapqueue.Closed, errors.ShutDown)
    assert getattr(standard, "ShutDown", errors.ShutDown) is errors.ShutDown


def test_standard_names_are_enough(open_queue: Open) -> None:
    queue = open_queue()
    with pytest.raises(IndexError):
        queue.read_at(5)
    with pytest.raises(ValueError, match="segment_size"):
        open_queue("other", segment_size=1)
    queue.close()
    with pytest.raises(getattr(standard, "ShutDown", mmapqueue.Closed)):
        queue.pop()


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("sement_size", "segment_size"),
        ("capactiy", "capacity"),
        ("max_unack", "max_unacked"),
        ("lock_timout", "lock_timeout"),
        ("consumr", "consumer"),
        ("retain_milliseconds", "retain_ms"),
        ("timestamp", "timestamps"),
    ],
)
def test_a_key_that_is_nearly_right(open_queue: Open, tmp_path: Path, wrong: str, right: str) -> None:
    with pytest.raises(TypeError) as caught:
        open_queue(**{wrong: "4k"})
    assert str(caught.value) == f"Queue() got an unexpected keyword argument {wrong!r}; did you mean {right}?"
    assert not (tmp_path / "queue").exists()


def test_a_key_that_is_like_none(open_queue: Open) -> None:
    with pytest.raises(TypeError) as caught:
        open_queue(xyzzy=1)
    assert str(caught.value) == (
        "Queue() got an unexpected keyword argument 'xyzzy'; docs/reference/configuration.md lists the keys"
    )
    # The directory has a place of its own.
    with pytest.raises(TypeError, match="queue_dir"):
        open_queue(queue_dir="elsewhere")


def test_a_key_that_other_calls_do_not_know(tmp_path: Path) -> None:
    frame: Any = None
    module: Any = mmapqueue
    calls: dict[str, Callable[[], object]] = {
        "Queue.*'maxsiz'; did you mean maxsize": lambda: module.compat.Queue(maxsiz=1, path=tmp_path / "q"),
        "Queue.*'capacty'; did you mean capacity": lambda: module.open(tmp_path / "q", capacty="1m"),
        "write.*'partition'; did you mean partitions": lambda: module.write(frame, tmp_path / "q", partition=1),
        "write_stream.*'segmentsize'; did you mean segment_size": lambda: module.write_stream(
            frame, tmp_path / "q", checkpoint=tmp_path / "c", segmentsize=1
        ),
        "read.*'consumr'": lambda: module.read(tmp_path / "q", spark=frame, consumr="c"),
    }
    for text, call in calls.items():
        with pytest.raises(TypeError, match=text):
            call()
    assert not any(tmp_path.iterdir())


def test_keys_are_those_of_the_jvm(open_queue: Open) -> None:
    open_queue()
    there = set(standalone.jvm().org.mmapqueue.QueueConfig.defaults())
    assert set(mmapqueue.Configuration.__annotations__) == there


def test_an_error_within_py4j_says_what_has_failed() -> None:
    text = "An error occurred while calling o12.get. Trace:\npy4j.Py4JException: Target Object ID does not exist\nat"
    error = translated(Py4JError(text))
    assert isinstance(error, mmapqueue.MmapQueueError)
    assert str(error) == (
        "the JVM that has the queue does not answer: An error occurred while calling o12.get. Trace: "
        "py4j.Py4JException: Target Object ID does not exist"
    )
