"""Starts the JVM of a command before the command's own imports, which take as long as that start."""

from collections.abc import Sequence
from pathlib import Path

from mmapqueue._jvm import archive_jars, heap, standalone

#: The commands that open a queue, and end soon: those that read alone, and the others.
_READING = frozenset(("stats", "tail", "show", "export", "consumers", "producers", "top", "exporter"))
_COMMANDS = _READING | {"push", "pop", "consumer", "gc"}
_HELP = frozenset(("-h", "--help"))


def start_jvm(words: Sequence[str]) -> None:
    """Starts the JVM if the words are those of a command with the directory of a queue.

    Args:
        words: The words after `mmapqueue`.
    """
    if not words or words[0] not in _COMMANDS or not _HELP.isdisjoint(words):
        return
    directory = next((word for word in words[1:] if _is_queue(word)), None)
    if directory is not None:
        standalone.start_quickly()
        heap.reserve(directory)
        archive_jars.add_of_queue(directory, None, "none")
        standalone.start_ahead(directory if words[0] in _READING else None)


def _is_queue(word: str) -> bool:
    try:
        return (Path(word) / "meta.dat").exists()
    except (OSError, ValueError):
        return False
