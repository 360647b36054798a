"""The jars that an archive needs: Hadoop's for its file system, zstd's for its compression."""

import contextlib
import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from mmapqueue._jvm import standalone

#: Jars and directories of jars, between colons, for JVMs that this process starts.
VARIABLE = "MMAPQUEUE_CLASSPATH"
#: The jars that are taken from Spark. Its log libraries are left out: they would replace the JVM's log to this process.
_OF_SPARK = (
    *("hadoop-client-api-*.jar", "hadoop-client-runtime-*.jar", "zstd-jni-*.jar"),
    # S3A needs these, too; PySpark has one of the last two.
    *("commons-lang3-*.jar", "commons-logging-*.jar", "jcl-over-slf4j-*.jar"),
)
#: Heap for a run that is collected and one that is compacted, in MiB.
_HEAP = 160
_HEAP_OF_HADOOP = 320
#: In a queue's directory: the archive that has what the ring has given up. docs/reference/format.md describes it.
_OVERFLOW = "overflow.uri"


def add_of_queue(directory: str, location: str | None, codec: str) -> None:
    """Makes the JVM of this process start with the jars that a queue needs for its archive, if it does not run yet.

    Args:
        directory: The queue's directory, which need not exist.
        location: The archive into which this process ships the queue; None if it does not.
        codec: The compression of what it ships.
    """
    if not location:
        # The JVM reports a file that it cannot read. Only the archive's files have their codec.
        with contextlib.suppress(OSError, UnicodeDecodeError):
            location, codec = Path(directory, _OVERFLOW).read_text(encoding="utf-8").strip(), "zstd"
    if location:
        add(location, codec)
    elif os.environ.get(VARIABLE):
        # The queue may overflow later, and so may those that are opened later.
        add("file:", "none")


def add(location: str, codec: str, class_path: str | None = None) -> None:
    """Makes the JVM of this process start with the jars that an archive needs, if it does not run yet.

    Args:
        location: The archive's URI or path.
        codec: The compression of the archive's records.
        class_path: Jars, directories and DIR/* between colons; None for those of the environment variable
            MMAPQUEUE_CLASSPATH, else, as far as the archive needs them, those of an installed PySpark.
    """
    is_local = ":" not in location or location.startswith("file:")
    given = os.environ.get(VARIABLE) if class_path is None else class_path
    if class_path is None and standalone.has_further_jars():
        entries = []
    elif given:
        entries = [each for each in given.split(os.pathsep) if each]
    elif is_local and codec == "none":
        entries = []
    else:
        entries = list(map(str, _of_spark()))
    standalone.start_with(entries, _HEAP if is_local else _HEAP_OF_HADOOP)


def _of_spark() -> Iterable[Path]:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        return []
    jars = Path(spec.origin).parent / "jars"
    return [jar for pattern in _OF_SPARK for jar in sorted(jars.glob(pattern))]
