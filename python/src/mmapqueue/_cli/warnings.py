"""Warnings of the log, on stderr, each on a line of its own."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

_PACKAGE = "mmapqueue"
_LOGGER = "mmapqueue.jvm"
#: Loggers of this package; Hadoop's own messages are not shown.
_OWN = "org.mmapqueue."


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        if record.name == _LOGGER:
            text = text.partition(": ")[2]  # without the class
        return f"mmapqueue: {record.levelname.lower()}: {text}"


@contextmanager
def shown_waits() -> Iterator[None]:
    """Prints in the block that a queue has had no room for long: for commands that push."""
    handler = logging.StreamHandler()
    handler.addFilter(lambda record: record.name == _PACKAGE)
    handler.setFormatter(_Lines())
    logger = logging.getLogger(_PACKAGE)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def show_warnings() -> None:
    """Prints warnings of the JVM, too, and the message that follows when a warning's cause has ended.

    For commands that run until they are stopped.
    """
    handler = logging.StreamHandler()
    handler.addFilter(lambda record: record.name != _LOGGER or record.getMessage().startswith(_OWN))
    handler.setFormatter(_Lines())
    logger = logging.getLogger(_PACKAGE)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
