"""A persistent queue for Spark pipelines, and without Spark.

    import mmapqueue
    from pyspark.sql import SparkSession

    spark = mmapqueue.configure(SparkSession.builder).getOrCreate()
    with mmapqueue.Queue("events", spark=spark, capacity="512m") as q:   # without spark: in a JVM of its own
        q.push(b"one")
        q.push_many([b"two", b"three"])
        for message in q.consume(timeout=1.0):
            print(message.data)
            q.ack(message)

Errors:

    MmapQueueError
    ├── Full          also queue.Full
    ├── Empty         also queue.Empty
    ├── Closed        also queue.ShutDown, from Python 3.13 on
    ├── TooLarge
    ├── Locked        pid
    ├── Corrupt       file, position
    ├── ConfigError   key, value, allowed; also ValueError
    │   └── NotADirectory   also NotADirectoryError
    ├── FileError     errno, filename; also OSError
    │   ├── NotFound        also FileNotFoundError
    │   ├── NotPermitted    also PermissionError
    │   └── NotADirectory
    ├── Poisoned
    ├── ReadOnly
    ├── OutOfRange    requested, first, last; also IndexError
    ├── Foreign       also ValueError
    ├── Dropped       first, last
    ├── UnackedLimit
    ├── Undecodable   offset; also ValueError
    ├── ArchiveError
    └── JarNotFound

Exceptions of handlers of `process`, and pushes that have waited 5 s for room, go to the logger "mmapqueue", and are
seen without any configuration. The log of the JVM that `Queue(…)` starts goes to the logger "mmapqueue.jvm", which is
silent until logging is configured.
"""

from typing import TYPE_CHECKING

from mmapqueue._values.interpreter import check_gil

check_gil()
del check_gil

if TYPE_CHECKING:
    from mmapqueue._library import *  # noqa: F403
    from mmapqueue._library import __all__ as __all__
else:
    # The command line starts the JVM first, and imports the library while that starts.
    def __getattr__(name: str) -> object:
        if name.startswith("_") and name not in ("__all__", "__version__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        _import_library()
        try:
            return globals()[name]
        except KeyError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None

    def __dir__() -> list[str]:
        _import_library()
        return sorted(globals())

    def _import_library() -> None:
        from mmapqueue import _library

        found = {name: getattr(_library, name) for name in _library.__all__}
        for each in found.values():
            # Tracebacks and help name the public classes by the module from which users import them.
            if isinstance(each, type):
                each.__module__ = __name__
        # A name that a program has set stays.
        globals().update({"__all__": _library.__all__, **found} | globals())


del TYPE_CHECKING
