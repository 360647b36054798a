"""Finds the JVM, checks its Java and its jar, and returns the Java class that opens queues."""

from typing import Any

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError

from mmapqueue._jvm import jars, names, standalone
from mmapqueue._jvm.calls import Call, translated
from mmapqueue._jvm.signals import Shield
from mmapqueue._values.errors import JarNotFound, MmapQueueError
from mmapqueue._values.version import __version__

_JAVA_NEEDED = 17


def opener(spark: object) -> Call:
    """The call that opens queues in a JVM, which is started if it does not run. Must not be called within a Shield.

    Args:
        spark: A SparkSession or SparkContext, to use its JVM; None to use a JVM that this process starts.

    Returns:
        A call that takes the configuration (see Bridge.java), and returns the handle of the queue.

    Raises:
        JarNotFound: The JVM does not have the jar, or has another version of it.
        MmapQueueError: No JVM is available.
    """
    jvm = standalone.jvm() if spark is None else _jvm_of(spark)
    with Shield():
        return _call(_bridge_in(jvm), "open")


def is_open(spark: object, path: str) -> bool:
    """Whether a queue is open in the JVM of a session. Arguments and errors are those of `opener`.

    Args:
        spark: A SparkSession or SparkContext.
        path: The queue's directory, as it was opened.
    """
    with Shield():
        return bool(_call(_bridge_in(_jvm_of(spark)), "isOpen")(path))


def class_of(spark: object, name: str) -> JavaClass:
    """A class of the jar. Arguments and errors are those of `opener`."""
    jvm = standalone.jvm() if spark is None else _jvm_of(spark)
    with Shield():
        _bridge_in(jvm)
        return _found(jvm, name)


def _call(bridge: JavaClass, name: str) -> Call:
    return Call(bridge, name, names.BRIDGE_CALLS[name])


def _jvm_of(spark: object) -> Any:
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise MmapQueueError(
            "a Spark Connect session has no JVM in reach: a Queue needs a classic session, with its driver in this "
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
        _check_java(jvm)
    except Py4JError as error:
        raise translated(error) from None
    found = _found(jvm, names.BRIDGE)
    if not isinstance(found, JavaClass):
        raise JarNotFound(f"the JVM does not have the jar of mmapqueue on its class path; {jars.how_to_add()}")
    version = _call(found, "version")()
    if version != __version__:
        raise JarNotFound(
            f"the JVM has version {version} of the jar of mmapqueue on its class path, and this Python module is "
            f"version {__version__}: give it {jars.jar_path()} in its place"
        )
    return found


def _found(jvm: Any, name: str) -> Any:
    """A class by its full name, or a package if the class path does not have the class."""
    found = jvm
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except Py4JError as error:
        raise translated(error) from None
    return found


def _check_java(jvm: Any) -> None:
    """Raises for an old Java. Runs before the first look-up of a class: an old Java cannot load it, and disconnects."""
    version = str(jvm.java.lang.System.getProperty("java.specification.version"))
    if version.startswith("1.") or int(version) < _JAVA_NEEDED:
        raise MmapQueueError(f"Java {_JAVA_NEEDED} or newer is needed, and this JVM has Java {version}")
