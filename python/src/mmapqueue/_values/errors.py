"""The exceptions of this package."""

import errno
import queue
import sys

if sys.version_info >= (3, 13):
    from queue import ShutDown
else:

    class ShutDown(Exception):
        """The queue was shut down. From Python 3.13 on it is the standard `queue.ShutDown`."""


class MmapQueueError(Exception):
    """The root of all errors of this package; raised itself for errors without a class of their own.

    Attributes:
        java_class: The name of the Java exception that caused it, or None.
        pushed: From `push_many`: the number of records pushed before the error; 0 for an atomic batch.
    """

    java_class: str | None = None
    pushed: int = 0


class Full(MmapQueueError, queue.Full):
    """The queue has no room: the slowest consumer has not acked enough, or none exists. Subclass of `queue.Full`.

    The message names that consumer.
    """


class Empty(MmapQueueError, queue.Empty):
    """No record is left to pop. Subclass of the standard `queue.Empty`."""


class Closed(MmapQueueError, ShutDown):
    """The queue or the consumer is closed. Subclass of the standard `queue.ShutDown`, from Python 3.13 on."""


class TooLarge(MmapQueueError):
    """A record is larger than max_event_size, or an atomic batch larger than the queue. Nothing was stored."""


class Locked(MmapQueueError):
    """Another process holds the lock of the queue or of the consumer.

    Attributes:
        pid: The holder's process id, or None where it could not be read.
    """

    pid: int | None = None


class Corrupt(MmapQueueError):
    """Stored bytes are damaged. Nothing was changed, and no damaged record was returned.

    Attributes:
        file: Path of the damaged file.
        position: The byte position in the file.
    """

    file: str | None = None
    position: int | None = None


class ConfigError(MmapQueueError, ValueError):
    """A configuration value is invalid. Nothing was created or changed. Subclass of `ValueError`.

    Attributes:
        key: The configuration key.
        value: The value that was given.
        allowed: The allowed values.
    """

    def __init__(self, message: str, key: str = "", value: str = "", allowed: str = "") -> None:
        super().__init__(message)
        self.key = key
        self.value = value
        self.allowed = allowed


class Poisoned(MmapQueueError):
    """An earlier write has failed, so this writer appends nothing more. Close the queue and open it again."""


class ReadOnly(MmapQueueError):
    """The queue was opened with `read_only`, so it cannot write records. Nothing was stored."""


class OutOfRange(MmapQueueError, IndexError):
    """An offset outside the allowed range. Nothing was moved. Subclass of `IndexError`.

    Attributes:
        requested: The requested offset.
        first: The first possible offset.
        last: The last possible offset; below `first` when no offset is possible.
    """

    requested: int = -1
    first: int = 0
    last: int = -1


class FileError(MmapQueueError, OSError):
    """A file or directory cannot be used. Raised as one of its subclasses.

    Attributes:
        errno: The number of the error, as of `OSError`.
        filename: The file or directory, or None where it is not known.
    """

    # OSError would add number and file to the text, which already names the file.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class NotFound(FileError, FileNotFoundError):
    """The queue does not exist, or the directory to create it in. Subclass of `FileNotFoundError`."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.errno = errno.ENOENT


class NotPermitted(FileError, PermissionError):
    """The user of the JVM may not read or write a file or directory. Subclass of `PermissionError`."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.errno = errno.EACCES


class NotADirectory(ConfigError, FileError, NotADirectoryError):
    """The path of a queue, or a parent of it, is a file. Subclass of `NotADirectoryError`."""

    def __init__(self, message: str, key: str = "", value: str = "", allowed: str = "") -> None:
        super().__init__(message, key, value, allowed)
        self.errno = errno.ENOTDIR


class Foreign(MmapQueueError, ValueError):
    """A message of another queue or consumer, or of none, was acked or nacked. Nothing was changed."""


class Undecodable(MmapQueueError, ValueError):
    """A record's data is not UTF-8, not JSON, or not readable by the serializer. Subclass of `ValueError`.

    The record is unchanged: popped and not acked.

    Attributes:
        offset: The record's offset.
    """

    offset: int = -1


class Dropped(MmapQueueError):
    """Records were dropped for a consumer, by max_consumer_lag or max_age. Its next call continues after them.

    Attributes:
        first: The offset of the first dropped record.
        last: The offset of the last dropped record.
    """

    first: int = 0
    last: int = -1


class UnackedLimit(MmapQueueError):
    """A consumer has popped max_unacked records beyond its first unacked one. Acks make pops possible again."""


class ArchiveError(MmapQueueError):
    """An archive is inconsistent: another host ships the queue, or records are missing in between.

    Also raised for a location that no installed library reads, such as hdfs:// without Hadoop, and to a consumer whose
    next record is in an archive that has not answered in time: call again. Nothing was changed.
    """


class JarNotFound(MmapQueueError):
    """The JVM does not have the jar of this package on its class path, or it has one of another version."""
