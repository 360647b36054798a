"""The jars that this package carries."""

from pathlib import Path

from mmapqueue._values.errors import JarNotFound
from mmapqueue._values.version import __version__

_JARS = Path(__file__).parents[1] / "jars"


def jar_path() -> Path:
    """The jar for Spark's class path, which has all dependencies of the jar.

    Raises:
        JarNotFound: This installation carries no jar, such as a source tree that was never built.
    """
    jar = _JARS / f"mmapqueue-{__version__}.jar"
    if not jar.is_file():
        raise JarNotFound(f"{jar} is missing: this installation of mmapqueue carries no jar; install a wheel of it")
    return jar


def standalone_class_path() -> list[Path]:
    """All jars for a JVM without Spark, except py4j's."""
    return [jar_path(), *sorted(_JARS.glob("slf4j-*.jar"))]


def how_to_add() -> str:
    """Advice for a class path without the jar."""
    return (
        "add it when the JVM starts: mmapqueue.configure(SparkSession.builder) before the first getOrCreate() in a "
        "plain Python program, `spark-submit --jars $(mmapqueue jar) …` with spark-submit, "
        "or spark.jars in spark-defaults.conf; a running JVM cannot load it"
    )
