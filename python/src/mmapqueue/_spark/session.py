"""The jar on the class path of a Spark session."""

import os
import shlex
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TypeVar

from mmapqueue._jvm.jars import jar_path
from mmapqueue._jvm.lock_holders import SPARK_OWNER

_SPARK_JARS = "spark.jars"


class _Builder(Protocol):
    def config(self, key: str, value: str, /) -> object: ...


_AnyBuilder = TypeVar("_AnyBuilder", bound=_Builder)


def configure(builder: _AnyBuilder) -> _AnyBuilder:
    """Puts the jar on the class path of the session that a builder will make.

    Adds it to `spark.jars`, after the entries of the builder and of spark-defaults.conf, and stores this process's id
    in `spark.mmapqueue.owner`. It must be called before the first `getOrCreate()` of the process. In a script that
    spark-submit runs, the JVM already runs, and nothing in the script can add to its class path: this call then leaves
    the builder unchanged, and the jar belongs on the command line, `spark-submit --jars $(mmapqueue jar) …`.

    Args:
        builder: As `SparkSession.builder`.

    Returns:
        The same builder.

    Raises:
        JarNotFound: This installation carries no jar.
    """
    jar = str(jar_path())
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return builder
    if "--jars" in shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "")):
        warnings.warn(f"--jars in PYSPARK_SUBMIT_ARGS replaces spark.jars: add {jar} to it", stacklevel=2)
    options = getattr(builder, "_options", {})
    present = options.get(_SPARK_JARS)
    if present is None:
        present = _spark_default(_SPARK_JARS)
    jars = [entry.strip() for entry in str(present or "").split(",") if entry.strip()]
    if jar not in jars:
        jars.append(jar)
    builder.config(_SPARK_JARS, ",".join(jars))
    # Other processes read the owner from the JVM's command line, to know whether the JVM is ending.
    builder.config(SPARK_OWNER, str(os.getpid()))
    return builder


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
