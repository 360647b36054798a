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

import logging

from mmapqueue._jvm.jars import jar_path
from mmapqueue._queue.batching.handles import PushHandle
from mmapqueue._queue.batching.producer import BatchingProducer
from mmapqueue._queue.consumer import Consumer
from mmapqueue._queue.maintenance import DamagedRange
from mmapqueue._queue.metrics import MetricsCollector
from mmapqueue._queue.opening import aopen, open  # noqa: A004
from mmapqueue._queue.queue import Queue
from mmapqueue._queue.shipping import ShipStats
from mmapqueue._queue.stats import ConsumerStats, ProducerStats, Stats
from mmapqueue._spark.frames import Offsets, read, read_stream, real_time, write, write_stream
from mmapqueue._spark.session import configure
from mmapqueue._tools.copies import copy, resize
from mmapqueue._tools.jobs import repair, verify
from mmapqueue._tools.reports import ConsumerState, CopyReport, Finding, FindingKind, RepairReport, VerifyReport
from mmapqueue._values.arguments import Size
from mmapqueue._values.configuration import Configuration, EffectiveConfiguration
from mmapqueue._values.durations import Duration, Period
from mmapqueue._values.errors import (
    ArchiveError,
    Closed,
    ConfigError,
    Corrupt,
    Dropped,
    Empty,
    FileError,
    Foreign,
    Full,
    JarNotFound,
    Locked,
    MmapQueueError,
    NotADirectory,
    NotFound,
    NotPermitted,
    OutOfRange,
    Poisoned,
    ReadOnly,
    TooLarge,
    UnackedLimit,
    Undecodable,
)
from mmapqueue._values.interpreter import check_gil
from mmapqueue._values.message import Message
from mmapqueue._values.origin import Origin
from mmapqueue._values.serializers import Serializer
from mmapqueue._values.version import __version__

__all__ = [
    "ArchiveError",
    "BatchingProducer",
    "Closed",
    "ConfigError",
    "Configuration",
    "Consumer",
    "ConsumerState",
    "ConsumerStats",
    "CopyReport",
    "Corrupt",
    "DamagedRange",
    "Dropped",
    "Duration",
    "EffectiveConfiguration",
    "Empty",
    "FileError",
    "Finding",
    "FindingKind",
    "Foreign",
    "Full",
    "JarNotFound",
    "Locked",
    "Message",
    "MetricsCollector",
    "MmapQueueError",
    "NotADirectory",
    "NotFound",
    "NotPermitted",
    "Offsets",
    "Origin",
    "OutOfRange",
    "Period",
    "Poisoned",
    "ProducerStats",
    "PushHandle",
    "Queue",
    "ReadOnly",
    "RepairReport",
    "Serializer",
    "ShipStats",
    "Size",
    "Stats",
    "TooLarge",
    "UnackedLimit",
    "Undecodable",
    "VerifyReport",
    "__version__",
    "aopen",
    "configure",
    "copy",
    "jar_path",
    "open",
    "read",
    "read_stream",
    "real_time",
    "repair",
    "resize",
    "verify",
    "write",
    "write_stream",
]

check_gil()
del check_gil

# Exceptions in threads reach the program by the log alone; the JVM's log is silent unless the program asks for it.
logging.getLogger("mmapqueue.jvm").addHandler(logging.NullHandler())

# Tracebacks and help name the public classes by the module from which users import them.
for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
del _name
