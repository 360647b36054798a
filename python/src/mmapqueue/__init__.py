"""A big, fast, persistent queue for Spark pipelines, and without Spark.

    import mmapqueue
    from pyspark.sql import SparkSession

    spark = mmapqueue.configure(SparkSession.builder).getOrCreate()
    with mmapqueue.Queue(spark, "events", capacity="512m") as q:   # None in place of spark: without Spark
        q.push(b"one")
        q.push_many([b"two", b"three"])
        for message in q.consume(timeout=1.0):
            print(message.data)
            q.ack(message)

Errors:

    MmapQueueError
    ├── Full          also queue.Full
    ├── Empty         also queue.Empty
    ├── Closed
    ├── TooLarge
    ├── Locked        pid
    ├── Corrupt       file, position
    ├── ConfigError   key, value, allowed
    ├── Poisoned
    ├── OutOfRange    requested, first, last
    ├── Dropped       first, last
    ├── UnackedLimit
    └── JarNotFound

The log of the JVM that `Queue(None, …)` starts goes to the logger "mmapqueue.jvm".
"""

import logging

from mmapqueue._configuration import Configuration
from mmapqueue._consumer import Consumer
from mmapqueue._errors import (
    Closed,
    ConfigError,
    Corrupt,
    Dropped,
    Empty,
    Full,
    JarNotFound,
    Locked,
    MmapQueueError,
    OutOfRange,
    Poisoned,
    TooLarge,
    UnackedLimit,
)
from mmapqueue._frames import Offsets, read, read_stream, real_time, write, write_stream
from mmapqueue._jars import configure, jar_path
from mmapqueue._message import Message
from mmapqueue._queue import Queue
from mmapqueue._stats import ConsumerStats, Stats
from mmapqueue._tools import ConsumerState, Finding, FindingKind, RepairReport, VerifyReport, repair, verify
from mmapqueue._version import __version__

__all__ = [
    "Closed",
    "ConfigError",
    "Configuration",
    "Consumer",
    "ConsumerState",
    "ConsumerStats",
    "Corrupt",
    "Dropped",
    "Empty",
    "Finding",
    "FindingKind",
    "Full",
    "JarNotFound",
    "Locked",
    "Message",
    "MmapQueueError",
    "Offsets",
    "OutOfRange",
    "Poisoned",
    "Queue",
    "RepairReport",
    "Stats",
    "TooLarge",
    "UnackedLimit",
    "VerifyReport",
    "__version__",
    "configure",
    "jar_path",
    "read",
    "read_stream",
    "real_time",
    "repair",
    "verify",
    "write",
    "write_stream",
]

# A library's log is silent until the program asks for it.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# What users see, in tracebacks and help, is where they import it from.
for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
del _name
