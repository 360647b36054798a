"""`configure(builder, quiet=True)`: streaming queries log no lines of level info, all else does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mmapqueue

pyspark = pytest.importorskip("pyspark")

from pyspark.sql import SparkSession  # noqa: E402

SPARK_SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"

PROGRAM = """\
import sys
import mmapqueue
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder.config("spark.log.level", sys.argv[2]).config("spark.driver.host", "127.0.0.1")
builder.config("spark.driver.bindAddress", "127.0.0.1")
quiet = {"quiet": True} if sys.argv[1] == "quiet" else {}
spark = mmapqueue.configure(builder, **quiet).getOrCreate()
with mmapqueue.Queue("events", spark=spark) as queue:
    queue.push(b"one")
frame = mmapqueue.read_stream("events", spark=spark)
frame.writeStream.format("noop").trigger(availableNow=True).start().awaitTermination()
spark.stop()
"""


def levels(cwd: Path, quiet: bool, level: str, *command: str) -> set[tuple[bool, str]]:
    """Of the lines of Spark's log: whether a class of streaming queries has logged it, and its level."""
    (cwd / "program.py").write_text(PROGRAM)
    words = [*(command or [sys.executable]), "program.py", "quiet" if quiet else "loud", level]
    ran = subprocess.run(
        words,
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    lines = [line.split(maxsplit=4) for line in ran.stderr.splitlines() if line[:2].isdigit()]
    return {
        (words[3].rstrip(":") in ("MicroBatchExecution", "MicroBatchExecutionContext", "ProgressReporter"), words[2])
        for words in lines
        if len(words) > 3
    }


@pytest.mark.slow
def test_streams_log_no_info_and_all_else_does(tmp_path: Path) -> None:
    # Where a Python program has started the JVM, Spark's own default is level warn.
    command = [str(SPARK_SUBMIT), "--jars", str(mmapqueue.jar_path())]
    for directory in ("quiet", "loud"):
        (tmp_path / directory).mkdir()
    quiet = levels(tmp_path / "quiet", True, "INFO", *command)
    assert (False, "INFO") in quiet
    assert (True, "INFO") not in quiet
    assert {(True, "INFO"), (False, "INFO")} <= levels(tmp_path / "loud", False, "INFO", *command)


@pytest.mark.slow
def test_a_lower_level_stays(tmp_path: Path) -> None:
    assert not {level for _, level in levels(tmp_path, True, "ERROR")} & {"INFO"}


def test_it_is_refused_where_it_has_no_effect(monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    assert spark.sparkContext.applicationId
    with pytest.raises(ValueError, match="quiet = True has no effect while a session runs"):
        mmapqueue.configure(SparkSession.builder, quiet=True)
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost")
    with pytest.raises(ValueError, match="quiet = True has no effect over Spark Connect"):
        mmapqueue.configure(SparkSession.builder, quiet=True)
    with pytest.raises(TypeError, match="quiet = 1 is invalid"):
        mmapqueue.configure(SparkSession.builder, quiet=1)  # type: ignore[arg-type]


class Builder:
    """A builder that keeps its options."""

    def __init__(self, **options: str) -> None:
        self._options = options

    def config(self, key: str, value: str) -> object:
        self._options[key] = value
        return self


def test_listeners_of_the_builder_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark.SparkContext, "_active_spark_context", None)
    key = "spark.sql.streaming.streamingQueryListeners"
    builder = mmapqueue.configure(mmapqueue.configure(Builder(**{key: "a.B, a.C"}), quiet=True), quiet=True)
    assert builder._options[key] == "a.B,a.C,org.mmapqueue.spark.QuietStreams"
    assert key not in mmapqueue.configure(Builder())._options
