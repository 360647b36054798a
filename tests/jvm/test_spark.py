"""With Spark: the class path, the session, spark-submit, and Spark's own ways with errors and signals."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
import sessions
from conftest import SMALL, Open, Script, data
from mmapqueue._jvm.calls import translated

pyspark = pytest.importorskip("pyspark")

from pyspark.errors.exceptions.captured import CapturedException  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

SPARK_SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    session = mmapqueue.configure(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def queue(spark: SparkSession, tmp_path: Path) -> Iterator[mmapqueue.Queue]:
    with mmapqueue.Queue(tmp_path / "queue", spark=spark, **SMALL) as opened:
        yield opened


def test_a_queue_in_the_driver(queue: mmapqueue.Queue) -> None:
    assert queue.push(b"one") == 0
    assert queue.push_many([b"two", b"three"]) == 2
    assert queue.push_many([b"%d" % i for i in range(100)], atomic=True) == 100
    assert queue.pop().data == b"one"
    assert data(queue) == [b"two", b"three", *(b"%d" % i for i in range(100))]
    queue.ack_up_to(102)
    assert queue.lag() == 0
    queue.flush()


def test_a_context_will_do(spark: SparkSession, tmp_path: Path) -> None:
    with mmapqueue.Queue(tmp_path, spark=spark.sparkContext) as queue:
        queue.push(b"one")
        assert queue.pop().data == b"one"


def test_threads_push_and_pop(queue: mmapqueue.Queue) -> None:
    got: list[bytes] = []

    def work(number: int) -> None:
        queue.push_many([b"%d:%d" % (number, i) for i in range(20)])
        for _ in range(20):
            got.append(queue.pop(timeout=60).data)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(got) == sorted(b"%d:%d" % (n, i) for n in range(4) for i in range(20))


def test_errors_are_ours_whatever_spark_makes_of_them(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(mmapqueue.ConfigError) as caught:
        mmapqueue.Queue(tmp_path, spark=spark, segment_size=1)
    assert caught.value.key == "segment_size"
    with mmapqueue.Queue(tmp_path, spark=spark, **SMALL) as queue:
        with pytest.raises(mmapqueue.OutOfRange):
            queue.ack_up_to(3)
        with pytest.raises(mmapqueue.TooLarge) as too_large:
            queue.push_many([b"x" * 7999, b"x" * 8001])
        assert too_large.value.pushed == 1
        assert len(queue.pop().data) == 7999
        with pytest.raises(mmapqueue.Empty):
            queue.pop(block=False)
    with pytest.raises(CapturedException) as spark_made:
        sessions.jvm(spark).java.lang.Integer.parseInt("seven")
    error = translated(spark_made.value)
    assert type(error) is mmapqueue.MmapQueueError
    assert error.java_class == "java.lang.NumberFormatException"
    assert "seven" in str(error)


def test_the_driver_and_another_jvm_keep_apart(queue: mmapqueue.Queue, spark: SparkSession, open_queue: Open) -> None:
    with pytest.raises(mmapqueue.Locked) as caught:
        open_queue(queue.path)
    assert caught.value.pid == sessions.jvm(spark).java.lang.ProcessHandle.current().pid()


ALONE = """
import os, signal, sys
import mmapqueue
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
spark = mmapqueue.configure(builder).getOrCreate()
queue = mmapqueue.Queue(sys.argv[1], spark=spark)
for way in (lambda: queue.pop(), lambda: next(queue.consume())):
    try:
        when_waiting(lambda: os.kill(os.getpid(), signal.SIGINT))
        way()
    except KeyboardInterrupt:
        print("interrupted")
    assert spark.range(10).count() == 10
    queue.push(b"x")
    assert queue.pop().data == b"x"
spark.stop()
queue.push(b"after")
assert queue.pop().data == b"after"
print("end")
# Not closed: the end of the program sees to it.
"""


@pytest.mark.slow
def test_neither_ctrl_c_nor_the_end_of_the_session_does_harm(script: Script) -> None:
    process = script.start(ALONE, script.directory / "queue")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert out.split() == ["interrupted", "interrupted", "end"]
    with mmapqueue.Queue(script.directory / "queue") as queue:
        assert (queue.stats().epoch, queue.stats().end_offset) == (1, 3)


SUBMITTED = """
import sys
import mmapqueue
from pyspark.sql import SparkSession
spark = mmapqueue.configure(SparkSession.builder).getOrCreate()
try:
    with mmapqueue.Queue(sys.argv[1], spark=spark) as queue:
        queue.push(b"submitted")
        print("popped", queue.pop().data)
except mmapqueue.JarNotFound as error:
    print("missing", error)
print("jars", spark.conf.get("spark.jars", "none"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("with_jar", [True, False])
def test_spark_submit(tmp_path: Path, with_jar: bool) -> None:
    file = tmp_path / "job.py"
    file.write_text(SUBMITTED)
    # As in a shell: --jars $(mmapqueue jar)
    command = Path(sys.executable).with_name("mmapqueue")
    jar = subprocess.run([command, "jar"], capture_output=True, text=True, check=True).stdout.strip()
    found = subprocess.run(
        [SPARK_SUBMIT, "--master", "local[1]", "--conf", "spark.ui.enabled=false", *(["--jars", jar] * with_jar), file,
         tmp_path / "queue"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        timeout=120,
    )  # fmt: skip
    lines = found.stdout.splitlines()
    assert found.returncode == 0, found.stderr
    if with_jar:
        assert lines[0] == "popped b'submitted'"
        assert jar in lines[1]
    else:
        assert lines[0].startswith("missing the JVM does not have the jar")
        assert "spark-submit --jars $(mmapqueue jar)" in lines[0]
        assert lines[1] == "jars none"


class Builder:
    """As much of a session's builder as `configure` uses."""

    def __init__(self, **options: str) -> None:
        self._options: dict[str, Any] = {key.replace("_", "."): value for key, value in options.items()}

    def config(self, key: str, value: str) -> "Builder":
        self._options[key] = value
        return self


def configured(builder: Builder) -> str:
    assert mmapqueue.configure(builder) is builder
    jars: str = builder._options["spark.jars"]
    return jars


@pytest.fixture
def no_spark_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path


def test_configure_adds_the_jar(no_spark_environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = str(mmapqueue.jar_path())
    assert configured(Builder()) == jar
    assert configured(Builder(spark_jars="a.jar, b.jar")) == f"a.jar,b.jar,{jar}"
    twice = Builder(spark_jars="a.jar")
    mmapqueue.configure(twice)
    assert configured(twice) == f"a.jar,{jar}"
    defaults = no_spark_environment / "spark-defaults.conf"
    defaults.write_text("# spark.jars no.jar\nspark.jarsy no.jar\nspark.jars   c.jar,d.jar  \nspark.master local\n")
    assert configured(Builder()) == f"c.jar,d.jar,{jar}"
    # What the builder says goes before the file.
    assert configured(Builder(spark_jars="a.jar")) == f"a.jar,{jar}"
    defaults.write_text("spark.jars=e.jar\n")
    assert configured(Builder()) == f"e.jar,{jar}"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars x.jar pyspark-shell")
    with pytest.warns(UserWarning, match="replaces spark.jars"):
        mmapqueue.configure(Builder())


@pytest.mark.usefixtures("no_spark_environment")
def test_configure_leaves_the_builder_alone_where_the_jvm_runs_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert mmapqueue.configure(Builder(spark_jars="a.jar"))._options == {"spark.jars": "a.jar"}


def test_wait_in_the_driver_is_short(queue: mmapqueue.Queue) -> None:
    start = time.monotonic()
    with pytest.raises(mmapqueue.Empty):
        queue.pop(timeout=0.5)
    assert 0.5 <= time.monotonic() - start < 60


@pytest.mark.slow
def test_data_frames_without_the_jar(script: Script) -> None:
    process = script.start(
        """
        import sys
        import mmapqueue
        from pyspark.sql import SparkSession
        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
        frame = spark.createDataFrame([(b"x",)], "value binary")
        for call in (
            lambda: mmapqueue.read(sys.argv[1], spark=spark),
            lambda: mmapqueue.read_stream(sys.argv[1], spark=spark),
            lambda: mmapqueue.write(frame, sys.argv[1]),
        ):
            try:
                call()
            except mmapqueue.JarNotFound as error:
                print("mmapqueue.configure(SparkSession.builder)" in str(error))
        spark.stop()
        """,
        script.directory / "queue",
    )
    out, err = process.communicate(timeout=120)
    assert out.split() == ["True", "True", "True"], err
