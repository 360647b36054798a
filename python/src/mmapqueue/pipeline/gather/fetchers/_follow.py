"""Follows the files of a fetcher: finds them, reads and stores new lines, and closes files that were removed."""

import asyncio
import re
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import mmapqueue
from mmapqueue.pipeline.gather.fetchers._discovery import directories, matches, renamed
from mmapqueue.pipeline.gather.fetchers._notice import Notice
from mmapqueue.pipeline.gather.fetchers._tail import Batch, Key, Tail, generations, producer
from mmapqueue.pipeline.gather.fetchers._text import Encoding
from mmapqueue.pipeline.plugins import Host

#: Approximate bytes of lines, and of events besides their lines, in one batch.
BATCH_BYTES = 1 << 20
#: Batches of one file before it is the next file's turn.
_TURN = 16

_R = TypeVar("_R")


class _Refused(Exception):
    """One file cannot be followed. The message has the reason."""


class Following(Protocol):
    """What to follow: the options of `FileFetcher`, whose docstring describes them."""

    @property
    def name(self) -> str: ...
    @property
    def exclude(self) -> tuple[str, ...]: ...
    @property
    def start(self) -> Literal["beginning", "end"]: ...
    @property
    def poll(self) -> timedelta: ...
    @property
    def idle(self) -> timedelta: ...
    @property
    def close_after(self) -> timedelta: ...
    @property
    def forget_after(self) -> timedelta: ...
    @property
    def encoding(self) -> Encoding: ...
    @property
    def start_pattern(self) -> re.Pattern[bytes] | None: ...

    def absolute(self) -> list[str]:
        """The paths, absolute."""


class Follower:
    """The state of a running fetcher. Belongs to one event loop; files are read in one thread of its own.

    Attributes:
        tails: The files that are followed.
    """

    def __init__(self, options: Following, host: Host) -> None:
        self.tails: dict[Key, Tail] = {}
        self._options = options
        self._host = host
        self._inbox = host.inbox
        self._prefix = f"file.{options.name}."
        self._known: dict[Key, list[int]] = {}
        self._missing: dict[Key, float] = {}
        #: The last error of each file that cannot be followed, which is logged once.
        self._refused: dict[Path, str] = {}
        self._limit = BATCH_BYTES
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="tail")

    async def run(self) -> None:
        """Follows until it is cancelled."""
        notice = Notice(self._host.log)
        poll = self._options.poll.total_seconds()
        try:
            await notice.watch(await self.start())
            while True:
                if not await self.turn():
                    await notice.wait(poll)
                if notice.take_rescan(poll):
                    await notice.watch(await self.scan())
        finally:
            await notice.stop()
            await self.close()

    async def close(self) -> None:
        """Closes the files, once the thread has ended its work on them, which may take long."""
        await asyncio.get_running_loop().run_in_executor(None, self._reader.shutdown)
        for tail in self.tails.values():
            tail.close()

    async def _in_thread(self, function: Callable[..., _R], *arguments: object) -> _R:
        return await asyncio.get_running_loop().run_in_executor(self._reader, function, *arguments)

    # ---- finding files

    async def start(self) -> frozenset[Path]:
        """Finds the files for the first time. Returns the directories to watch."""
        producers = await self._inbox.producers()
        self._known = generations(self._prefix, producers)
        for key, numbers in self._known.items():
            for number in numbers[:-1]:
                await self._inbox.forget(producer(self._prefix, key, number))
            del numbers[:-1]
        # Whether paths were followed before, so that "end" skips existing content only once.
        marker = f"{self._prefix}started-{zlib.crc32(chr(0).join(sorted(self._options.absolute())).encode()):08x}"
        positions = await self._scan(skip=self._options.start == "end" and marker not in producers)
        if marker not in producers:
            await self._inbox.put_once(marker, 0, [])
        return positions

    async def scan(self) -> frozenset[Path]:
        """Finds files that were made, renamed or removed. Returns the directories to watch."""
        return await self._scan(skip=False)

    async def _scan(self, *, skip: bool) -> frozenset[Path]:
        paths = self._options.absolute()
        found = await self._in_thread(matches, paths, self._options.exclude)
        positions = await self._in_thread(directories, paths, found.values())
        for key, tail in self.tails.items():
            tail.matched = key in found
            if tail.matched:
                tail.path = found[key]
        lost = {key for key, tail in self.tails.items() if not (tail.matched or tail.is_open)}
        lost |= self._known.keys() - self.tails.keys() - found.keys() - self._missing.keys()
        rotated = await self._in_thread(renamed, lost, positions)
        for key, path in (found | rotated).items():
            if key in self.tails:
                self.tails[key].path = path
            else:
                await self._adopt(key, path, matched=key in found, skip=skip)
        for key in lost - rotated.keys():
            self._drop(key)
        for key in self._missing.keys() & found.keys():
            del self._missing[key]
        await self._forget()
        return positions

    async def _adopt(self, key: Key, path: Path, *, matched: bool, skip: bool) -> None:
        """Begins to follow a file, if it can be read."""
        tail = None
        try:
            options = self._options
            size = self._inbox.max_event_size
            tail = Tail(self._prefix, path, key, size, options.start_pattern, options.encoding)
            await self._in_thread(tail.open)
            numbers = self._known.get(key)
            last = await self._inbox.last_sequence(producer(self._prefix, key, numbers[-1])) if numbers else None
            await self._in_thread(tail.resume, numbers[-1] if numbers else 0, last)
            if numbers and not matched and tail.generation != numbers[-1]:
                # No path names it: the followed file was removed, and another one has got its inode.
                tail.close()
                self._missing.setdefault(key, time.monotonic())
                return
            if skip and not numbers:
                await self._store(tail, await self._in_thread(tail.skip))
        except BaseException as error:
            if tail is not None:
                tail.close()
            self._refuse(path, error)
            return
        tail.matched = matched
        self.tails[key] = tail

    def _refuse(self, path: Path, error: BaseException) -> None:
        """Logs and counts the error of one file, and leaves the others alone. Raises an error that concerns them all.

        The next scan tries the file again. The same error is then neither logged nor counted again.
        """
        if not isinstance(error, Exception) or isinstance(error, mmapqueue.MmapQueueError):
            raise error
        if isinstance(error, FileNotFoundError):
            return  # Renamed or removed: the next scan finds out which.
        text = str(error)
        if self._refused.get(path) != text:
            self._refused[path] = text
            self._host.count("fail", 1)
            known = isinstance(error, OSError | ValueError | _Refused)
            self._host.log.warning("%s cannot be followed: %s", path, text, exc_info=None if known else error)

    def _drop(self, key: Key) -> None:
        tail = self.tails.pop(key, None)
        if tail is not None:
            tail.close()
        if key in self._known:
            self._missing.setdefault(key, time.monotonic())

    async def _forget(self) -> None:
        """Forgets files that were removed long enough ago."""
        before = time.monotonic() - self._options.forget_after.total_seconds()
        for key in [key for key, since in self._missing.items() if since <= before]:
            for number in self._known.pop(key):
                await self._inbox.forget(producer(self._prefix, key, number))
            del self._missing[key]

    # ---- reading them

    async def turn(self) -> bool:
        """Gives each file with new content a turn. Returns whether any file had some."""
        idle = self._options.idle.total_seconds()
        progress = False
        for tail in await self._in_thread(self._due, idle):
            try:
                generation = tail.generation
                await self._in_thread(tail.open)
                if not tail.matched and tail.generation != generation:
                    # As in `_adopt`: another file has got the inode.
                    self._drop(tail.key)
                    continue
                progress |= await self._drain(tail, idle)
                self._refused.pop(tail.path, None)
            except BaseException as error:
                if not isinstance(error, FileNotFoundError):
                    # And not missing: the next scan looks for it, also where no path names it.
                    self.tails.pop(tail.key).close()
                self._refuse(tail.path, error)
        quiet = self._options.close_after.total_seconds()
        for tail in [each for each in self.tails.values() if each.finished(quiet)]:
            tail.close()
            if not tail.matched:
                self._drop(tail.key)
        return progress

    def _due(self, idle: float) -> list[Tail]:
        due = []
        for tail in self.tails.values():
            try:
                if tail.due(idle):
                    due.append(tail)
            except FileNotFoundError:
                continue
            except OSError:
                due.append(tail)  # The read reports the error.
        return due

    async def _drain(self, tail: Tail, idle: float) -> bool:
        """Stores the content of a file for one turn. Returns whether there was any."""
        for turn in range(_TURN):
            batch = await self._in_thread(tail.read, self._limit, idle)
            if batch is None:
                return turn > 0
            try:
                await self._store(tail, batch)
            except mmapqueue.TooLarge as error:
                if len(batch.records) < 2:
                    raise _Refused(str(error)) from error
                self._limit = max(1, self._limit // 2)
        return True

    async def _store(self, tail: Tail, batch: Batch) -> None:
        if not await self._inbox.put_once(batch.producer, batch.sequence, batch.records):
            raise _Refused(
                f"{batch.producer} was at position {batch.end} already: another fetcher named "
                f"{self._options.name!r} follows this file into the same queue"
            )
        tail.commit(batch)
        numbers = self._known.setdefault(tail.key, [])
        if tail.generation not in numbers:
            numbers.append(tail.generation)
            while len(numbers) > 1:
                await self._inbox.forget(producer(self._prefix, tail.key, numbers.pop(0)))
