"""What `import mmapqueue` gives: every public name. Imported with the first one that a program uses."""

from mmapqueue._jvm.jars import jar_path
from mmapqueue._queue.batching.handles import PushHandle
from mmapqueue._queue.batching.producer import BatchingProducer
from mmapqueue._queue.consumer import Consumer
from mmapqueue._queue.maintenance import DamagedRange
from mmapqueue._queue.metrics import MetricsCollector
from mmapqueue._queue.opening import aopen, open  # noqa: A004
from mmapqueue._queue.queue import Queue
from mmapqueue._queue.shipping import ShipStats, adopt, change_archive
from mmapqueue._queue.stats import ConsumerStats, ProducerStats, Stats
from mmapqueue._spark.frames import Offsets, read, read_stream, real_time, real_time_sink, write, write_stream
from mmapqueue._spark.session import configure
from mmapqueue._spark.work import process_stream
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
    "adopt",
    "aopen",
    "change_archive",
    "configure",
    "copy",
    "jar_path",
    "open",
    "process_stream",
    "read",
    "read_stream",
    "real_time",
    "real_time_sink",
    "repair",
    "resize",
    "verify",
    "write",
    "write_stream",
]
