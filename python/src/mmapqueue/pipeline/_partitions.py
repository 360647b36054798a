"""Where the queues of a pipe are: one, or a partition for each process of gather."""

from __future__ import annotations

from pathlib import Path

META = "meta.dat"


def is_queue(directory: Path) -> bool:
    """Whether a directory is a queue, as one process of gather has it, and not a directory of partitions."""
    return (directory / META).is_file()


def partitions(directory: Path) -> dict[int, Path]:
    """Directories of a queue's partitions, by number; empty when the queue does not exist yet."""
    if is_queue(directory):
        return {0: directory}
    found = {}
    for each in directory.glob("p=*"):
        number = each.name[2:]
        if number.isdigit() and is_queue(each):
            found[int(number)] = each
    return dict(sorted(found.items()))


def own_partition(directory: Path, partition: int, processes: int) -> Path:
    """The directory of the queue that a process of gather owns, in the layout of the Spark source.

    One process alone writes the first partition of several: the others were those of more processes.

    Args:
        directory: The directory of the pipe's queue.
        partition: The number of the process, from 0.
        processes: The number of processes.
    """
    first = directory / f"p={partition}"
    return directory if processes == 1 and (is_queue(directory) or not is_queue(first)) else first
