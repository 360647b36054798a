"""Implements the commands `dead-letters list`, `show` and `resend`."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mmapqueue
from mmapqueue._values.errors import ConfigError, MmapQueueError, NotFound
from mmapqueue.pipeline import _control
from mmapqueue.pipeline._partitions import partitions
from mmapqueue.pipeline.config import ConfigFileError, Pipe, load
from mmapqueue.pipeline.process.letters import Group, Letter, Wanted, grouped, unsent
from mmapqueue.pipeline.process.queues import queue_ids
from mmapqueue.pipeline.process.resending import Outcome, Resender

if TYPE_CHECKING:
    from mmapqueue.pipeline.config import Pipeline

__all__ = ["DeadLetterQueues", "Group", "Letter", "Outcome", "Wanted"]

#: Opens a queue's directory, with keys of `mmapqueue.Queue`.
Open = Callable[..., AbstractContextManager[mmapqueue.Queue[bytes]]]
#: Dead letters that are not selected, or refused again, are popped and not acked: the most that a queue allows.
_MOST_UNACKED = 1 << 30


class DeadLetterQueues:
    """The dead-letter queues of a configuration. For one thread.

    Args:
        file: The file of the configuration.
        pipe: The name of the only pipe that is of interest; None for all.
        read: Opens a queue to read, beside the process that writes it.
        write: Opens a queue to write.

    Raises:
        ConfigError: The configuration is invalid, or has no such pipe with a dead-letter queue.
    """

    def __init__(self, file: str, pipe: str | None, *, read: Open, write: Open) -> None:
        self._file = file
        try:
            self._pipeline: Pipeline = load(file)
        except ConfigFileError as error:
            raise ConfigError(str(error), "FILE", file, "a valid configuration: mmapqueue check") from None
        having = [each for each in self._pipeline.pipes if each.dead_letters is not None]
        self._pipes = {each.name: each for each in having if pipe in (None, each.name)}
        if not having:
            raise ConfigError(f"{file}: no pipe has a dead-letter queue", "FILE", file, "a file with such a pipe")
        if not self._pipes:
            allowed = ", ".join(each.name for each in having)
            raise ConfigError(f"--pipe = {pipe!r} is invalid; allowed: {allowed}", "--pipe", str(pipe), allowed)
        self._read = read
        self._write = write

    def letters(self, wanted: Wanted) -> Iterator[Letter]:
        """The selected dead letters that were not sent again, queue by queue."""
        for directory in self._directories():
            with self._read(str(directory)) as queue:
                yield from (each for each in unsent(queue) if each.pipe in self._pipes and wanted.has(each))

    def groups(self, wanted: Wanted) -> list[Group]:
        """Their counts by pipe, sender and reason."""
        return grouped(self.letters(wanted))

    def resend(self, wanted: Wanted) -> Outcome:
        """Sends the selected ones again.

        Raises:
            mmapqueue.Locked: Another command does that, or a process that this one cannot reach writes a pipe's queue.
        """
        outcome = Outcome()
        for directory in self._directories():
            identity = next(iter(queue_ids(directory).values()))
            with self._read(str(directory), max_unacked=_MOST_UNACKED) as queue:
                Resender(queue, identity, self._pipes, self._door, outcome).run(wanted)
        return outcome

    def _directories(self) -> list[Path]:
        """The directories that exist: pipes may share one, and a queue comes with its first dead letter."""
        found = dict.fromkeys(each.dead_letters.dir for each in self._pipes.values() if each.dead_letters is not None)
        return [each for each in found if partitions(each)]

    @contextmanager
    def _door(self, pipe: Pipe, partition: int) -> Iterator[_Remote | _Local]:
        role = "gather" if self._pipeline.gather.processes == 1 else f"gather-{partition}"
        remote = _Remote(role, self._file, pipe.name)
        if remote.is_open:
            yield remote
            return
        found = partitions(pipe.queue.dir)
        if not found:
            raise NotFound(f"pipe {pipe.name}: there is no queue in {pipe.queue.dir}")
        with self._write(str(found.get(partition) or next(iter(found.values())))) as queue:
            yield _Local(queue)


class _Local:
    """The queue itself, which no other process writes."""

    def __init__(self, queue: mmapqueue.Queue[bytes]) -> None:
        self._queue = queue

    def last_sequence(self, producer: str) -> int | None:
        return self._queue.last_sequence(producer)

    def push_once(self, producer: str, sequence: int, record: bytes) -> None:
        self._queue.push_once(producer, sequence, [record], timeout=0, sync=True)


class _Remote:
    """The gather process that writes the queue.

    Attributes:
        is_open: Whether there is one.
    """

    def __init__(self, role: str, file: str, pipe: str) -> None:
        self._role = role
        self._file = file
        self._pipe = pipe
        self.is_open = _control.call(role, file, "partition") is not None

    def last_sequence(self, producer: str) -> int | None:
        found: int | None = self._ask("last_sequence", producer=producer)
        return found

    def push_once(self, producer: str, sequence: int, record: bytes) -> None:
        self._ask("push_once", producer=producer, sequence=sequence, record=base64.b64encode(record).decode())

    def _ask(self, what: str, **request: Any) -> Any:
        answer = _control.call(self._role, self._file, what, pipe=self._pipe, **request)
        if answer is None:
            raise MmapQueueError(f"{self._role} of {self._file} has ended; start the command again")
        if answer.error is not None:
            raise MmapQueueError(f"{self._role} (process {answer.pid}): {answer.error}")
        return answer.value
