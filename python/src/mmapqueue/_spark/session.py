"""The jar on the class path of a Spark session."""

import os
import shlex
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TypeVar

from mmapqueue._jvm import names
from mmapqueue._jvm.jars import jar_path
from mmapqueue._jvm.lock_holders import SPARK_OWNER
from mmapqueue._values.arguments import flag

_SPARK_JARS = "spark.jars"
#: Spark makes these listeners in the JVM before the first streaming query; a session cannot change it later.
_LISTENERS = "spark.sql.streaming.streamingQueryListeners"


class _Builder(Protocol):
    def config(self, key: str, value: str, /) -> object: ...


_AnyBuilder = TypeVar("_AnyBuilder", bound=_Builder)


def configure(builder: _AnyBuilder, *, quiet: bool = False) -> _AnyBuilder:
    """Puts the jar on the class path of the session that a builder will make.

    Adds it to `spark.jars`, after the entries of the builder and of spark-defaults.conf, and stores this process's id
    in `spark.mmapqueue.owner`. It must be called before the first `getOrCreate()` of the process. In a script that
    spark-submit runs, the JVM already runs, and nothing in the script can add to its class path: this call then adds no
    jar, and the jar belongs on the command line, `spark-submit --jars $(mmapqueue jar) …`.

    Args:
        builder: As `SparkSession.builder`.
        quiet: Whether Spark's loggers of streaming queries, `org.apache.spark.sql.execution.streaming`, log warnings
            alone: at level info, an idle query logs two lines at each trigger. Other loggers keep their levels. The
            first streaming query of the session sets it.

    Returns:
        The same builder.

    Raises:
        JarNotFound: This installation carries no jar.
        ValueError: With quiet, a session runs already, or the builder is for Spark Connect: it would have no effect.
    """
    jar = str(jar_path())
    if flag("quiet", quiet):
        _quiet(builder)
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return builder
    if "--jars" in shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "")):
        warnings.warn(f"--jars in PYSPARK_SUBMIT_ARGS replaces spark.jars: add {jar} to it", stacklevel=2)
    _append(builder, _SPARK_JARS, jar)
    # Other processes read the owner from the JVM's command line, to know whether the JVM is ending.
    builder.config(SPARK_OWNER, str(os.getpid()))
    return builder


def _quiet(builder: _Builder) -> None:
    where = _without_effect(builder)
    if where is not None:
        raise ValueError(f"quiet = True has no effect {where}; give Spark's JVM a configuration of Log4j 2 instead")
    _append(builder, _LISTENERS, names.QUIET_STREAMS)


def _without_effect(builder: _Builder) -> str | None:
    """Where the configuration of a new JVM, or of a new context, is not that of the builder's session."""
    if "spark.remote" in getattr(builder, "_options", {}) or "SPARK_REMOTE" in os.environ:
        return "over Spark Connect, whose server is configured at its start"
    pyspark = sys.modules.get("pyspark")
    if pyspark is not None and pyspark.SparkContext._active_spark_context is not None:
        return "while a session runs: call configure before the first getOrCreate()"
    return None


def _append(builder: _Builder, key: str, entry: str) -> None:
    """Adds an entry to a list, after those of the builder and of spark-defaults.conf."""
    present = getattr(builder, "_options", {}).get(key)
    if present is None:
        present = _spark_default(key)
    entries = [each.strip() for each in str(present or "").split(",") if each.strip()]
    if entry not in entries:
        entries.append(entry)
    builder.config(key, ",".join(entries))


def _spark_default(key: str) -> str | None:
    """The value of a key in spark-defaults.conf, which a value of the builder replaces."""
    directory = _spark_conf_dir()
    if directory is None:
        return None
    file = directory / "spark-defaults.conf"
    value = None
    if file.is_file():
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            words = line.strip().replace("=", " ", 1).split(maxsplit=1)
            if len(words) == 2 and words[0] == key:
                value = words[1].strip()
    return value


def _spark_conf_dir() -> Path | None:
    if "SPARK_CONF_DIR" in os.environ:
        return Path(os.environ["SPARK_CONF_DIR"])
    if "SPARK_HOME" in os.environ:
        return Path(os.environ["SPARK_HOME"]) / "conf"
    spec = find_spec("pyspark")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "conf"
