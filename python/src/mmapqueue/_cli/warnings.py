"""Warnings of the JVM, on stderr: for commands that run until they are stopped."""

import logging

_LOGGER = "mmapqueue.jvm"
#: Loggers of this package; Hadoop's own messages are not shown.
_OWN = "org.mmapqueue."


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        if record.name == _LOGGER:
            text = text.partition(": ")[2]  # without the class
        return f"mmapqueue: {record.levelname.lower()}: {text}"


def show_warnings() -> None:
    """Prints warnings, and the message that follows when a warning's cause has ended, each on a line of its own."""
    handler = logging.StreamHandler()
    handler.addFilter(lambda record: record.name != _LOGGER or record.getMessage().startswith(_OWN))
    handler.setFormatter(_Lines())
    logger = logging.getLogger("mmapqueue")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
