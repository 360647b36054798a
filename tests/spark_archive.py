"""Writes an archive of Spark's loaded classes (class data sharing), which halves the start of a test's JVM.

    python spark_archive.py FILE

`conftest.py` gives the archive to each JVM of Spark that a test starts. A JVM with another class path or of another
version ignores it.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

#: Options of a JVM that lives for a minute: compiling with C1 alone is quicker.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
#: Else the JVM says which classes and archives it leaves out.
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
_ROOT = Path(__file__).parents[1]
_ARCHIVE = _ROOT / "build" / "spark.jsa"


def options() -> str:
    """The options of Spark's JVMs in tests."""
    # A JVM that cannot use the archive does without the JDK's own one, too.
    usable = _ARCHIVE.exists() and Path(sys.prefix) == _ROOT / ".venv" and "JAVA_HOME" not in os.environ
    return f"{SHORT_LIVED} -XX:SharedArchiveFile={_ARCHIVE} {_QUIET}" if usable else SHORT_LIVED


def write(archive: Path) -> None:
    """Runs what most tests run, and archives the classes that this has loaded.

    Raises:
        TimeoutError: The JVM does not end.
    """
    unfinished = archive.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    os.environ["SPARK_SUBMIT_OPTS"] = f"{SHORT_LIVED} -XX:ArchiveClassesAtExit={unfinished} {_QUIET}"

    import mmapqueue
    from sessions import spark_session

    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        with spark_session(2, directory / "warehouse", "ERROR") as spark:
            with mmapqueue.Queue(directory / "queue", spark=spark, capacity="1m", segment_size="64k") as queue:
                queue.push_many([b"record"] * 10)
            frame = spark.read.format("mmapqueue").load(str(directory / "queue"))
            frame.groupBy("offset").count().write.parquet(str(directory / "counts"))
            assert spark.read.parquet(str(directory / "counts")).count() == 10
            stream = spark.readStream.format("mmapqueue").load(str(directory / "queue"))
            writer = stream.writeStream.format("parquet").option("path", str(directory / "out"))
            query = writer.option("checkpointLocation", str(directory / "checkpoint")).trigger(availableNow=True)
            query.start().awaitTermination()
            assert spark.read.parquet(str(directory / "out")).count() == 10
            gateway: Any = spark.sparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(300)
    except subprocess.TimeoutExpired:
        raise TimeoutError("the JVM does not end") from None
    unfinished.replace(archive)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
