"""transformWithState in real-time mode: from Spark 4.3 on that of Java and Scala runs, that of Python does not."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pyspark = pytest.importorskip("pyspark")

from pyspark.sql import Row, SparkSession  # noqa: E402

from .conftest import Fill  # noqa: E402
from .test_real_time_operators import outcome  # noqa: E402
from .test_stream_real_time import HAS_STATE, needs_real_time  # noqa: E402

STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

SOURCE = Path(__file__).with_name("RowCounts.java")

#: Runs RowCounts three times with one checkpoint; no batch ends. Prints the rows that the queue has in the end.
PROGRAM = """
import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame

from sessions import jvm, spark_session
from spark.conftest import pushing
from spark.test_real_time_sink import Pipeline

classes, directory, store = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
with spark_session(
    3, directory / "warehouse", "OFF",
    spark_sql_shuffle_partitions="1",
    spark_sql_streaming_stateStore_providerClass=store,
    spark_driver_extraClassPath=classes,
) as spark:
    pipeline = Pipeline(spark, directory / "queue", directory)
    fill = pushing(spark, pipeline.source)
    pushed = 0
    for values in ([b"a", b"b", b"a"], [b"b", b"a"], []):
        pushed += len(fill(values))
        rows = pipeline.rows().selectExpr("CAST(value AS STRING) AS value", "partition", "offset")
        query = pipeline.start(DataFrame(jvm(spark).RowCounts.of(rows._jdf), spark))
        try:
            pipeline.await_count(query, pushed)
        finally:
            query.stop()
    print("rows:", json.dumps(pipeline.records()))
"""


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    """The directory of RowCounts, compiled."""
    home = os.environ.get("JAVA_HOME")
    javac = str(Path(home, "bin", "javac")) if home else "javac"
    if shutil.which(javac) is None:
        pytest.skip("no javac: this test needs a JDK")
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    subprocess.run([javac, "-d", tmp_path / "classes", "-cp", str(jars), SOURCE], check=True)
    return tmp_path / "classes"


@pytest.mark.skipif(not HAS_STATE, reason="real-time mode has state from Spark 4.3 on")
def test_a_repeated_batch_of_java_adds_only_what_is_missing(classes: Path, tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, classes, tmp_path, STORE],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    _, found, rows = ended.stdout.partition("rows: ")
    assert found, ended.stderr
    assert json.loads(rows) == ["a 1", "b 1", "a 2", "b 2", "a 3"]


@pytest.fixture
def with_rocks_db(spark: SparkSession) -> Iterator[None]:
    key = "spark.sql.streaming.stateStore.providerClass"
    spark.conf.set(key, STORE)
    yield
    # Real-time mode refuses the default when it is set.
    spark.conf.unset(key)


@needs_real_time
@pytest.mark.usefixtures("with_rocks_db")
@pytest.mark.parametrize("form", ["transformWithState", "transformWithStateInPandas"])
def test_spark_refuses_the_form_for_python(spark: SparkSession, fill: Fill, tmp_path: Path, form: str) -> None:
    pytest.importorskip("pandas", reason="transformWithState needs pandas: make test-frames")
    streaming: Any = pytest.importorskip("pyspark.sql.streaming")

    class Numbered(streaming.StatefulProcessor):  # type: ignore[misc]
        def init(self, handle: Any) -> None: ...

        def handleInputRows(self, _: Any, rows: Iterator[Row], __: Any) -> Iterator[Row]:  # noqa: N802
            yield from rows

        def close(self) -> None: ...

    def transformed(rows: Any, _: Any) -> Any:
        columns = "value string, partition int, offset bigint"
        return getattr(rows.groupBy("value"), form)(Numbered(), columns, "update", "none")

    said = outcome(spark, fill, tmp_path, transformed)
    assert "Failed to read the operator metadata" in said
