"""The exit status of commands."""

from mmapqueue._values.errors import ConfigError, FileError, MmapQueueError

#: The command succeeded.
DONE = 0
#: The queue is damaged, or the command failed.
FAILED = 1
#: An argument is wrong. Nothing was changed.
USAGE = 2
#: No record was found, or none in time.
EMPTY = 3
#: Ctrl-C ended the command; the status of a process that SIGINT ended.
INTERRUPTED = 130
#: The reader of the output has ended; the status of a process that SIGPIPE ended.
PIPE_CLOSED = 141


def status_of(error: MmapQueueError) -> int:
    """The exit status after an error: 2 when a value is invalid, 1 after any other."""
    return USAGE if isinstance(error, ConfigError) and not isinstance(error, FileError) else FAILED
