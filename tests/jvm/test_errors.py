"""Errors: their classes, attributes and messages."""

import queue as standard
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError

import mmapqueue
from conftest import SMALL, Open, Script
from mmapqueue._jvm import names, standalone
from mmapqueue._jvm.calls import translated


def test_the_tree() -> None:
    kinds = [getattr(mmapqueue, name) for name in mmapqueue.__all__]
    errors = {kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Exception)}
    assert {kind.__name__ for kind in errors} == {
        "MmapQueueError", "Full", "Empty", "Closed", "TooLarge", "Locked", "Corrupt", "ConfigError", "Poisoned",
        "OutOfRange", "JarNotFound", "Dropped", "UnackedLimit", "FileError", "NotFound", "NotPermitted",
        "NotADirectory", "Foreign", "ReadOnly", "Undecodable", "ArchiveError",
    }  # fmt: skip
    assert all(issubclass(kind, mmapqueue.MmapQueueError) for kind in errors)
    assert issubclass(mmapqueue.Full, standard.Full)
    assert issubclass(mmapqueue.Empty, standard.Empty)


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "LockedException": ("said", 4711),
    "CorruptException": ("a/file", 123, "said"),
    "ConfigException": ("some_key", "some value", "other values"),
    "PoisonedException": ("said", None),
    "ArchiveUnavailableException": ("said", None),
    "OutOfRangeException": ("said", 7, 2, 5),
    "DroppedException": ("some consumer", 3, 9),
}
ATTRIBUTES: dict[str, dict[str, object]] = {
    "LockedException": {"pid": 4711},
    "CorruptException": {"file": "a/file", "position": 123},
    "ConfigException": {"key": "some_key", "value": "some value", "allowed": "other values"},
    "OutOfRangeException": {"requested": 7, "first": 2, "last": 5},
    "DroppedException": {"first": 3, "last": 9},
}


@pytest.mark.parametrize("name", names.ERRORS)
def test_every_java_exception_has_its_error(open_queue: Open, name: str) -> None:
    open_queue()
    simple = name.rsplit(".", 1)[1]
    jvm = standalone.jvm()
    thrown = getattr(jvm.org.mmapqueue.errors, simple)(*ARGUMENTS.get(simple, ("said",)))
    error = translated(Py4JJavaError("calling", thrown))
    assert type(error) is names.ERRORS[name][0]
    assert str(error) == thrown.getMessage()
    assert error.java_class == name
    for attribute, value in ATTRIBUTES.get(simple, {}).items():
        assert getattr(error, attribute) == value


def test_any_other_java_exception_is_named(open_queue: Open) -> None:
    open_queue()
    thrown = standalone.jvm().java.io.IOException("disk on fire")
    error = translated(Py4JJavaError("calling", thrown))
    assert type(error) is mmapqueue.MmapQueueError
    assert str(error) == "java.io.IOException: disk on fire"
    assert error.java_class == "java.io.IOException"


def test_a_heap_that_is_too_small(open_queue: Open) -> None:
    open_queue()
    thrown = standalone.jvm().java.lang.OutOfMemoryError("Java heap space")
    error = translated(Py4JJavaError("calling", thrown))
    assert str(error).startswith("java.lang.OutOfMemoryError: Java heap space; a JVM that Queue(…) starts has room")


def test_a_jvm_that_goes_away_before_it_has_said_what_was_wrong() -> None:
    class Gone(SimpleNamespace):
        def __getattr__(self, name: str) -> Any:
            raise Py4JNetworkError("Gateway is not connected.")

    error = translated(Py4JJavaError("calling", Gone(_target_id="o1", _gateway_client=None)))
    assert isinstance(error, mmapqueue.MmapQueueError)
    assert str(error) == "the JVM failed, and then did not say how: Gateway is not connected."


def test_errors_come_without_the_stack_of_py4j(open_queue: Open) -> None:
    with pytest.raises(mmapqueue.OutOfRange) as caught:
        open_queue().consumer("default").ack_up_to(5)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"segment_size": 100}, "segment_size"),
        ({"segment_size": "many"}, "segment_size"),
        ({"queue_capacity_segments": 1}, "queue_capacity_segments"),
        ({"max_event_size": 0}, "max_event_size"),
        ({"flush_period": -5}, "flush_period"),
        ({"flush_ceiling_num": "x"}, "flush_ceiling_num"),
        ({"timestamps": "perhaps"}, "timestamps"),
        ({"format_version": 3}, "format_version"),
        ({"v1_recover": "all"}, "v1_recover"),
        ({"max_unacked": 0}, "max_unacked"),
        ({"visibility_timeout": -1}, "visibility_timeout"),
        ({"max_attempts": 3}, "dead_letter_dir"),
        ({"max_attempts": 10_001, "dead_letter_dir": "dead"}, "max_attempts"),
        ({"max_consumer_lag": "far"}, "max_consumer_lag"),
        ({"retain_ms": -1}, "retain_ms"),
        ({"retain_bytes": -1}, "retain_bytes"),
        ({"gc_on_idle": "never"}, "gc_on_idle"),
        ({"wait_strategy": "sleep"}, "wait_strategy"),
        ({"v1_recover": "a\0b"}, "v1_recover"),
        ({"capacity": "lots"}, "capacity"),
        ({"capacity": 0}, "capacity"),
        ({"capacity": -1}, "capacity"),
        ({"capacity": 1.5}, "capacity"),
        ({"capacity": True}, "capacity"),
        ({"capacity": "128k", "segment_size": "128k"}, "capacity"),
        ({"capacity": 2**62}, "capacity"),
        ({"capacity": "64m", "queue_capacity_segments": 512, "segment_size": "64k"}, "capacity"),
    ],
)
def test_a_bad_configuration_raises_config_error(
    open_queue: Open, tmp_path: Path, options: dict[str, Any], key: str
) -> None:
    with pytest.raises(mmapqueue.ConfigError) as caught:
        open_queue(**options)
    assert caught.value.key == key
    in_bytes = {"128k": "131072", "64m": "67108864"}
    assert caught.value.value == in_bytes.get(str(options.get(key, "")), str(options.get(key, "")))
    assert caught.value.allowed
    assert caught.value.allowed in str(caught.value)
    assert not (tmp_path / "queue").exists()


@pytest.mark.parametrize(
    ("options", "segments"),
    [
        ({"capacity": "1m"}, 8),
        ({"capacity": 1 << 20}, 8),
        ({"capacity": (1 << 20) + 1}, 8),
        ({"capacity": (1 << 20) + 1, "segment_size": "128k"}, 9),
        ({"capacity": "1 MiB", "segment_size": "256k"}, 4),
        ({"capacity": 8192, "segment_size": 4096, "max_event_size": 1000}, 2),
        ({"capacity": 8193, "segment_size": 4999, "max_event_size": 1000}, 3),
        ({"capacity": "2m", "queue_capacity_segments": 16}, 16),
        ({"capacity": "64m", "format_version": 1}, 512),
        ({}, 64),
        ({"format_version": 1}, 4000),
    ],
)
def test_capacity_is_rounded_up_to_whole_segments(open_queue: Open, options: dict[str, Any], segments: int) -> None:
    queue = open_queue(**options)
    assert queue.config["queue_capacity_segments"] == segments
    queue.close()
    # The same again, and with nothing said.
    open_queue(**options).close()
    assert open_queue().stats().capacity_segments == segments


def test_capacity_is_measured_in_the_segments_that_there_are(open_queue: Open) -> None:
    open_queue(segment_size="64k", queue_capacity_segments=64).close()
    assert open_queue(capacity="4m").config["segment_size"] == 65536
    open_queue().close()
    for other in ("2m", "8m"):
        with pytest.raises(mmapqueue.ConfigError) as caught:
            open_queue(capacity=other)
        assert caught.value.key == "capacity"
        assert "4194304" in caught.value.allowed


def test_another_process_has_it(script: Script, open_queue: Open) -> None:
    path = script.directory / "queue"
    process = script.start(
        """
        import sys
        import mmapqueue
        from mmapqueue._jvm import standalone
        queue = mmapqueue.Queue(sys.argv[1])
        print(standalone._running.process.pid, flush=True)
        sys.stdin.readline()
        """,
        path,
    )
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    with pytest.raises(mmapqueue.Locked, match=str(pid)) as caught:
        open_queue(path)
    assert caught.value.pid == pid
    process.communicate(timeout=30)
    open_queue(path)


def damage(file: Path, position: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(position)
        byte = opened.read(1)
        opened.seek(position)
        opened.write(bytes([byte[0] ^ 0x40]))


def test_corrupt_has_file_and_position(open_queue: Open, tmp_path: Path) -> None:
    queue = open_queue(**SMALL)
    queue.push_many([b"%03d" % i * 100 for i in range(12)])
    queue.flush()
    damage(Path(queue.path) / "0_segment.dat", 1500)
    got: list[bytes] = []
    with pytest.raises(mmapqueue.Corrupt) as caught:
        got.extend(message.data for message in queue)
    assert got == [b"%03d" % i * 100 for i in range(len(got))]
    assert 0 < len(got) < 12
    assert caught.value.file == str(Path(queue.path) / "0_segment.dat")
    assert caught.value.position is not None
    assert 0 < caught.value.position <= 1500
    for call in (queue.pop, queue.peek, queue.pop_many):
        with pytest.raises(mmapqueue.Corrupt):
            call()
    queue.close()
    shutil.copytree(queue.path, tmp_path / "copy")
    damage(tmp_path / "copy" / "meta.dat", 100)
    with pytest.raises(mmapqueue.Corrupt) as caught:
        open_queue(tmp_path / "copy")
    assert caught.value.file == str(tmp_path / "copy" / "meta.dat")


def test_a_directory_that_can_not_be_made(open_queue: Open, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(mmapqueue.MmapQueueError, match="file"):
        open_queue(tmp_path / "file" / "queue")


def test_reading_only(open_queue: Open, script: Script) -> None:
    path = script.directory / "queue"
    # Made by the process that writes, which then must not hold it.
    open_queue(path, consumer="reader").close()
    queue = open_queue(path)
    queue.push_many([b"one", b"two"])
    script.run(
        """
        import sys
        import mmapqueue
        with mmapqueue.Queue(sys.argv[1], consumer="reader", read_only=True) as queue:
            assert [m.data for m in queue] == [b"one", b"two"]
            queue.ack(0)
            assert (queue.qsize(), queue.lag()) == (0, 1)
            try:
                queue.push(b"three")
            except mmapqueue.ReadOnly as error:
                assert "read_only" in str(error), error
            else:
                sys.exit("pushed")
        """,
        path,
    )
    assert [message.data for message in queue.consumer("reader")] == [b"two"]


def test_another_version_of_the_jar(script: Script) -> None:
    code = """
    import sys, zipfile
    from pathlib import Path
    import mmapqueue
    from mmapqueue._jvm import jars
    if sys.argv[2] == "other":
        other = Path(sys.argv[1] + ".jar")
        with zipfile.ZipFile(mmapqueue.jar_path()) as ours, zipfile.ZipFile(other, "w") as changed:
            for name in ours.namelist():
                version = name == "org/mmapqueue/version.properties"
                changed.writestr(name, b"version=0.0.9" if version else ours.read(name))
        found = [other, *jars.standalone_class_path()[1:]]
    else:
        found = jars.standalone_class_path()[1:]
    jars.standalone_class_path = lambda: found
    for _ in range(2):
        try:
            mmapqueue.Queue(sys.argv[1])
        except mmapqueue.JarNotFound as error:
            print(error)
    """
    path = script.directory / "queue"
    for line in script.run(code, path, "other").splitlines():
        assert "the JVM has version 0.0.9 of the jar" in line
        assert f"this Python module is version {mmapqueue.__version__}" in line
        assert str(mmapqueue.jar_path()) in line
    for line in script.run(code, path, "none").splitlines():
        assert "does not have the jar" in line
        assert "spark-submit --jars $(mmapqueue jar)" in line
        assert "mmapqueue.configure(SparkSession.builder)" in line


def test_an_installation_without_jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("mmapqueue._jvm.jars._JARS", tmp_path)
    with pytest.raises(mmapqueue.JarNotFound, match="carries no jar"):
        mmapqueue.jar_path()


def test_what_has_no_jvm_is_told_so(tmp_path: Path) -> None:
    connect = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(mmapqueue.MmapQueueError, match=r"Spark Connect .* spark\.readStream\.format"):
        mmapqueue.Queue(tmp_path, spark=connect)
    for wrong in (object(), type("SparkSession", (), {"_jvm": None})(), "spark"):
        with pytest.raises(mmapqueue.MmapQueueError, match="no JVM in reach"):
            mmapqueue.Queue(tmp_path, spark=wrong)  # type: ignore[arg-type]
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("version", ["1.8", "11", "16"])
def test_an_old_java_is_told_so(tmp_path: Path, version: str) -> None:
    class Jvm:
        java = SimpleNamespace(lang=SimpleNamespace(System=SimpleNamespace(getProperty=lambda _: version)))

        @property
        def org(self) -> Any:
            raise AssertionError("an old Java cannot load the classes")

    with pytest.raises(mmapqueue.MmapQueueError, match=f"Java 17 or newer is needed, and this JVM has Java {version}"):
        mmapqueue.Queue(tmp_path, spark=SimpleNamespace(_jvm=Jvm()))  # type: ignore[call-overload]
