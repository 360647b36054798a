"""From what the user gave to the one Java class of the bridge, with every way that can fail told clearly."""

from typing import Any

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError

from mmapqueue import _jars, _names, _standalone
from mmapqueue._calls import java_exception, translated
from mmapqueue._errors import JarNotFound, MmapQueueError
from mmapqueue._version import __version__

_JAVA_NEEDED = 17


def bridge_of(spark: object) -> JavaClass:
    """The bridge class in the JVM of a Spark session, or in the JVM of our own for None.

    Raises:
        JarNotFound: The JVM does not have the jar, or has another version of it.
        MmapQueueError: There is no JVM to be had here.
    """
    return _bridge_in(_standalone.jvm() if spark is None else _jvm_of(spark))


def _jvm_of(spark: object) -> Any:
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise MmapQueueError(
            "a Spark Connect session has no JVM in reach: a Queue needs a classic session, whose driver runs in this "
            "process, or None for a JVM of its own; over Connect use spark.readStream.format('mmapqueue')"
        )
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        raise MmapQueueError(
            f"{type(spark).__name__} has no JVM in reach: a Queue needs a SparkSession or SparkContext on the driver, "
            "or None for a JVM of its own; the tasks of a job use spark.read.format('mmapqueue')"
        )
    return jvm


def _bridge_in(jvm: Any) -> JavaClass:
    try:
        found = jvm
        for part in _names.BRIDGE.split("."):
            found = getattr(found, part)
        if not isinstance(found, JavaClass):
            raise JarNotFound(f"the JVM does not have the jar of mmapqueue on its class path; {_jars.how_to_add()}")
        version = found.version()
    except Py4JError as error:
        raise _failed_to_load(jvm, error) from None
    if version != __version__:
        raise JarNotFound(
            f"the JVM has version {version} of the jar of mmapqueue on its class path, and this Python module is "
            f"version {__version__}: give it {_jars.jar_path()} in its place"
        )
    return found


def _failed_to_load(jvm: Any, error: Py4JError) -> BaseException:
    """An old Java finds the class and can not read it: what it says of that helps nobody."""
    if java_exception(error) is None:
        return translated(error)
    version = str(jvm.java.lang.System.getProperty("java.specification.version"))
    if version.startswith("1.") or int(version) < _JAVA_NEEDED:
        return MmapQueueError(f"Java {_JAVA_NEEDED} or newer is needed, and this JVM has Java {version}")
    return translated(error)
