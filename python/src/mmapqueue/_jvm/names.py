"""The interface to Java: names of classes and methods, numbers, the layout of a shared buffer.

Their Java counterparts are in org.mmapqueue.bridge: Status.java, SharedBufferLayout.java.
"""

import struct

from mmapqueue._values import errors as _errors

#: The class that opens queues.
BRIDGE = "org.mmapqueue.bridge.Bridge"

#: The class that verifies and repairs.
JOB = "org.mmapqueue.tool.Job"

#: The class that describes and changes archives.
ARCHIVE_ADMIN = "org.mmapqueue.bridge.ArchiveAdmin"

#: The source of process_stream: its provider, and the class that the handler's side calls.
WORK_SOURCE = "org.mmapqueue.spark.work.WorkProvider"
WORK = "org.mmapqueue.spark.work.WorkStream"

#: The listener of queries that silences Spark's loggers of streams.
QUIET_STREAMS = "org.mmapqueue.spark.QuietStreams"

#: The writer of queries in Spark's real-time mode.
REAL_TIME_SINK = "org.mmapqueue.spark.RealTimeSink"

#: Thrown to a consumer at the end of a call's time: the next call may find the archive again.
ARCHIVE_UNAVAILABLE = "org.mmapqueue.errors.ArchiveUnavailableException"

#: Java exception → exception of this package, and the attributes that are copied.
ERRORS: dict[str, tuple[type[_errors.MmapQueueError], tuple[str, ...]]] = {
    "org.mmapqueue.errors.MmapQueueException": (_errors.MmapQueueError, ()),
    "org.mmapqueue.errors.FullException": (_errors.Full, ()),
    "org.mmapqueue.errors.EmptyException": (_errors.Empty, ()),
    "org.mmapqueue.errors.ClosedException": (_errors.Closed, ()),
    "org.mmapqueue.errors.TooLargeException": (_errors.TooLarge, ()),
    "org.mmapqueue.errors.LockedException": (_errors.Locked, ("pid",)),
    "org.mmapqueue.errors.CorruptException": (_errors.Corrupt, ("file", "position")),
    "org.mmapqueue.errors.ConfigException": (_errors.ConfigError, ("key", "value", "allowed")),
    "org.mmapqueue.errors.ReadOnlyException": (_errors.ReadOnly, ()),
    "org.mmapqueue.errors.PoisonedException": (_errors.Poisoned, ()),
    "org.mmapqueue.errors.OutOfRangeException": (_errors.OutOfRange, ("requested", "first", "last")),
    "org.mmapqueue.errors.DroppedException": (_errors.Dropped, ("first", "last")),
    "org.mmapqueue.errors.UnackedLimitException": (_errors.UnackedLimit, ()),
    "org.mmapqueue.errors.ArchiveException": (_errors.ArchiveError, ()),
    ARCHIVE_UNAVAILABLE: (_errors.ArchiveError, ()),
}

#: Errors by the cause of a Java exception: its class, or the reason of a FileSystemException.
CAUSES: dict[str, type[_errors.FileError]] = {
    "java.nio.file.AccessDeniedException": _errors.NotPermitted,
    "Operation not permitted": _errors.NotPermitted,
    "java.nio.file.NoSuchFileException": _errors.NotFound,
    "java.nio.file.NotDirectoryException": _errors.NotADirectory,
}

#: Package of the causes that have a file and a reason.
FILE_CAUSES = "java.nio.file."

#: Methods of the bridge, with their parameters: i is an int, L a long, s a string, b bytes.
BRIDGE_CALLS = {
    "version": "",
    "open": "s",
    "isOpen": "s",
}

#: Methods of ArchiveAdmin.
ARCHIVE_CALLS = {
    "adopt": "si",
    "changeArchive": "si",
    "describe": "s",
    "deleteConsumer": "ss",
    "takeOver": "ss",
    "markLost": "siLL",
}

#: Methods of QueueHandle.
HANDLE_CALLS = {
    "ack": "iL",
    "ackUpTo": "iL",
    "ackMany": "ib",
    "release": "ib",
    "nack": "iLL",
    "seek": "is",
    "committedOffset": "i",
    "lag": "i",
    "size": "i",
    "unacked": "i",
    "closeConsumer": "i",
    "consumer": "ss",
    "createConsumer": "ss",
    "deleteConsumer": "s",
    "consumers": "",
    "consumerStats": "",
    "ackedRanges": "s",
    "lastSequence": "s",
    "producers": "",
    "producerStats": "",
    "forgetProducer": "s",
    "find": "L",
    "firstOffset": "",
    "endOffset": "",
    "durableOffset": "",
    "awaitShipped": "Li",
    "shipStats": "",
    "flush": "",
    "gc": "",
    "purge": "",
    "destroy": "",
    "damagedRanges": "",
    "stats": "",
    "metrics": "",
    "config": "",
    "close": "",
    "full": "",
    "heldBy": "",
    "noRoom": "L",
    "mappedBuffer": "sis",
    "heapBuffer": "i",
}

#: The default consumer of a queue.
DEFAULT_CONSUMER = "default"

#: Methods of SharedBuffer.
SHARED_BUFFER_CALLS = {
    "push": "iiii",
    "pushMany": "iiiii",
    "pushBatch": "iiiiii",
    "load": "iiii",
    "pushLoaded": "iii",
    "pushLoadedOnce": "iiisL",
    "pop": "iiiii",
    "ackAndPop": "iiLLiii",
    "peek": "i",
    "fetch": "i",
    "get": "Li",
    "ackMany": "ii",
    "write": "ib",
    "read": "ii",
    "payloadLimit": "",
    "recordLimit": "",
}

# Status.java
FULL = -1
EMPTY = -2
CLOSED = -3
DONE = -4

# SharedBufferLayout.java
#: Offset, timestamp in µs (0 = none), number of records, flags, bytes of payload, attempts.
HEADER = struct.Struct("=qqiiii")
PAYLOAD = 64
MISSING_TIMESTAMPS = 1
MIXED_ATTEMPTS = 2

#: Separates keys and values of a configuration; no path contains it.
SEPARATOR = "\0"

#: The largest value of an int parameter.
INT_MAX = 2**31 - 1

#: The largest value of a long parameter.
LONG_MAX = 2**63 - 1


def aligned(position: int) -> int:
    """The position at which the next column of a shared buffer begins."""
    return (position + 7) & -8
