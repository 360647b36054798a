"""Ships queues that other processes write, beside those processes."""

import logging
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import mmapqueue
from mmapqueue._cli.queues import existing, queues_in
from mmapqueue._tools.archives import take_over
from mmapqueue._values.annotations import Self
from mmapqueue._values.configuration import Configuration
from mmapqueue._values.errors import MmapQueueError, NotFound

_LOG = logging.getLogger("mmapqueue.ship")
#: Seconds without an answer after which a file system is reported; Hadoop may repeat a call for many minutes.
_SILENT_SECONDS = 10.0
_LOOK_SECONDS = 0.2
_POLL_SECONDS = 0.01


def _is_shipped(queue: "mmapqueue.Queue[bytes]") -> bool:
    durable = queue.durable_offset()
    try:
        return not durable or queue.await_shipped(durable - 1, timeout=0)
    except MmapQueueError:
        return False  # the shipper has not reached the archive yet, or reports the error


class _Silence:
    """The time for which the shipping of a queue has neither advanced nor failed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: object = None
        self._since = 0.0
        self._is_reported = False

    def look(self, stats: mmapqueue.ShipStats | None, *, is_shipped: bool) -> None:
        if is_shipped or stats != self._seen:
            self._seen, self._since = stats, time.monotonic()
            if self._is_reported:
                self._is_reported = False
                _LOG.info("%s: the archive answers again", self._path)
        elif not self._is_reported and not (stats and stats.failure) and self._silent() >= _SILENT_SECONDS:
            self._is_reported = True
            _LOG.warning(
                "%s: durable records are not shipped, and the archive has not answered for %.0f s",
                self._path,
                self._silent(),
            )

    def _silent(self) -> float:
        return time.monotonic() - self._since


class Shippers:
    """The shipping of a queue, or of the partitions of a directory. A context manager; for one thread.

    Args:
        directory: The directory of the queue, or of the partitions.
        options: The shipping options of each queue.
        takes_over: Whether the directory replaces the host, or the other copy of it, that ships the queues.
        changes: Whether the queues may be shipped into another archive than until now.

    Raises:
        NotFound: The directory has no queue.
        Locked: Another process ships a queue.
        MmapQueueError: A queue cannot be read.
    """

    def __init__(
        self, directory: str, options: Configuration, *, takes_over: bool = False, changes: bool = False
    ) -> None:
        self._directory = directory
        self._options = options
        self._takes_over = takes_over
        self._changes = changes
        self._queues: dict[str, mmapqueue.Queue[bytes]] = {}
        self._silences: dict[str, _Silence] = {}
        with ExitStack() as opened:
            opened.callback(self.close)
            self._open_new()
            opened.pop_all()

    @property
    def paths(self) -> list[str]:
        """The directories of the queues."""
        return list(self._queues)

    def _open_new(self) -> None:
        missing: NotFound | None = None
        for path in queues_in(self._directory):
            if path in self._queues:
                continue
            try:
                absolute = existing(path)
            except NotFound as error:
                # A partition that is being created, or whose process was killed then: a later call finds it.
                missing = error
                continue
            if self._changes:
                mmapqueue.change_archive(absolute, take_over=self._takes_over, **self._options)
            elif self._takes_over:
                take_over(str(self._options["archive_uri"]), absolute)
            options: Any = {"read_only": True, **self._options}
            self._queues[path] = mmapqueue.Queue(absolute, **options)
        if missing is not None and not self._queues:
            raise missing

    def check(self) -> None:
        """Ships partitions created since the last call, and reports an archive that does not answer.

        Raises:
            MmapQueueError: The shipping of a queue has ended.
        """
        if (Path(self._directory) / "p=0").exists():
            self._open_new()
        for path, queue in self._queues.items():
            stats = queue.ship_stats()
            if stats is not None and stats.has_ended:
                raise MmapQueueError(f"{path} is not shipped any more: {stats.failure}")
            self._silences.setdefault(path, _Silence(path)).look(stats, is_shipped=_is_shipped(queue))

    def ship_all(self) -> None:
        """Waits until the archive has the records that are durable at the call.

        Raises:
            MmapQueueError: An attempt has failed.
        """
        for path, queue in self._queues.items():
            durable = queue.durable_offset()
            while not self._has_begun(path) or (
                durable and not queue.await_shipped(durable - 1, timeout=_LOOK_SECONDS)
            ):
                time.sleep(_POLL_SECONDS)

    def _has_begun(self, path: str) -> bool:
        stats = self._queues[path].ship_stats()
        if stats is not None and stats.failure is not None:
            raise MmapQueueError(f"{path} could not be shipped: {stats.failure}")
        return stats is not None and stats.has_begun

    def close(self) -> None:
        """Ships durable records, as far as the archive can be reached, and closes the queues.

        Raises:
            MmapQueueError: A queue could not be closed. The others are closed.
        """
        with ExitStack() as queues:
            while self._queues:
                _, queue = self._queues.popitem()
                queues.callback(queue.close)

    def shipped(self) -> dict[str, int]:
        """The numbers of shipped records, of their bytes, and of files."""
        found = [stats for queue in self._queues.values() if (stats := queue.ship_stats()) is not None]
        sums = map(sum, zip(*(each[:3] for each in found), strict=True))
        return dict(zip(("shipped", "bytes", "files"), sums, strict=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self.close()
        except MmapQueueError:
            if error is None:
                raise  # else that error has the reason
