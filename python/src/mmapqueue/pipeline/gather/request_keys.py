"""The memory of idempotency keys: the requests with a key that a pipe's queue has got, in files beside the queue.

An entry with the keys of some requests is written before they are pushed as one batch of an idempotent producer, and a
mark with the producer's last sequence after it. So whether an entry without a mark counts is known by the queue, which
stores a batch and its sequence together.

A loss of power may leave less of the files than of the queue, and the other way round. No sequence is used twice, and
an entry counts only if its own sequence is the last one. So what is left has no key of a request that is lost.
"""

import fcntl
import logging
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

import mmapqueue

_LOG = logging.getLogger("mmapqueue.pipeline")
#: Name of the producer whose sequences the entries have.
PRODUCER = "request-keys"
_NEW, _OLD, _LOCK = "new", "old", "lock"
_MAGIC = b"mmqkeys1"
#: CRC-32 of what follows; number of keys, 0 for a mark; partition; sequence. The keys follow.
_HEADER = struct.Struct("<IIBq")
_KEY_BYTES = 16
#: Bits of a remembered value below the sequence: the partition.
_PARTITION_BITS = 8


class RequestKeys:
    """Remembers the keys of stored requests: at least the last `most`, and at most twice as many.

    Belongs to one thread. The processes of a pipeline share the directory: each reads what the others have written
    whenever it takes the lock. Errors of files are `mmapqueue.MmapQueueError`.

    Example:
        with keys.locked(durable=False):
            if not keys.has(key):
                keys.store([key], lambda sequence: queue.push_once(PRODUCER, sequence, records), durable=False)

    Attributes:
        most: The number of keys to remember.
    """

    def __init__(self, directory: Path, queue: mmapqueue.Queue, *, partition: int = 0, most: int = 100_000) -> None:
        """Opens no file.

        Args:
            directory: Of the files.
            queue: The queue that gets the requests.
            partition: Number of the queue, among those whose processes share the directory.
            most: The number of keys to remember.
        """
        self.most = most
        self._directory = directory
        self._queue = queue
        self._partition = partition
        self._lock: int | None = None
        self._file: int | None = None
        #: The position up to which the file was read or written.
        self._at = 0
        #: Sequence and partition by key: those of the present file, and of the one before.
        self._new: dict[bytes, int] = {}
        self._old: dict[bytes, int] = {}
        #: The last sequence of each partition that has a mark.
        self._last: dict[int, int] = {}
        #: The highest sequence of each partition in the files.
        self._highest: dict[int, int] = {}
        #: The entry of each partition that has no mark yet.
        self._open: dict[int, tuple[int, list[bytes]]] = {}
        #: Whether the last entry of this partition has a mark.
        self._settled = False

    @contextmanager
    def locked(self, *, durable: bool) -> Iterator[None]:
        """Holds the lock of the directory, and knows what all processes have stored.

        Args:
            durable: Whether what is stored must survive a loss of power.
        """
        try:
            if self._lock is None:
                self._directory.mkdir(parents=True, exist_ok=True)
                self._lock = os.open(self._directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        except OSError as error:
            raise self._failed(error) from error
        try:
            try:
                self._follow()
                if not self._settled:
                    if durable:
                        self._queue.flush()
                    last = self._queue.last_sequence(PRODUCER)
                    # What it forgets must stay forgotten, whatever the queue gets next.
                    self._append(self._partition, -1 if last is None else last, [], durable=True)
                    self._settled = True
            except OSError as error:
                raise self._failed(error) from error
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def has(self, key: bytes) -> bool:
        """Whether a request with a key was stored. Only with the lock.

        Raises:
            mmapqueue.MmapQueueError: Another process ended while it stored the request. It knows more when it runs.
        """
        name = _digest(key)
        if name in self._new or name in self._old:
            return True
        for partition, (_, names) in self._open.items():
            if name in names:
                raise mmapqueue.MmapQueueError(
                    f"gather process {partition}, which ended, may have stored the request; it is known when it runs"
                )
        return False

    def store(self, keys: Sequence[bytes], push: Callable[[int], int | None], *, durable: bool) -> None:
        """Stores requests together with their keys: all of them or none. Only with the lock.

        Args:
            keys: The keys, none of which was stored.
            push: Pushes the requests as one batch of `PRODUCER` with that sequence, and returns None for a duplicate.
            durable: As for `locked`.

        Raises:
            Exception: That of `push`.
        """
        names = [_digest(each) for each in keys]
        try:
            if len(self._new) >= self.most:
                self._rotate()
            last = self._last[self._partition]
            # Also after what was not stored: if its mark is lost, a later request would make it count.
            sequence = self._highest[self._partition] + 1
            self._settled = False
            self._append(self._partition, sequence, names, durable=durable)
        except OSError as error:
            raise self._failed(error) from error
        try:
            is_new = push(sequence) is not None
        except (mmapqueue.Full, mmapqueue.TooLarge):
            # Nothing was stored. After any other error, the queue is asked before the next entry.
            self._mark(last)
            raise
        if not is_new:
            self._mark(last)
            self._settled = False
            raise mmapqueue.MmapQueueError(f"the queue has sequence {sequence} of {PRODUCER} already, from elsewhere")
        self._mark(sequence)

    def settle(self, *, durable: bool) -> None:
        """Finds out what this process stored before it ended the last time, which other processes wait for."""
        if self._directory.exists():
            with self.locked(durable=durable):
                pass

    def close(self) -> None:
        """Closes the files."""
        for each in (self._file, self._lock):
            if each is not None:
                os.close(each)
        self._file = self._lock = None

    # ---- with the lock

    def _failed(self, error: OSError) -> mmapqueue.MmapQueueError:
        return mmapqueue.MmapQueueError(f"the idempotency keys in {self._directory} cannot be read or written: {error}")

    def _follow(self) -> None:
        """Reads what other processes have written, and what was there at the start."""
        file = self._file
        if file is not None and not self._is(_NEW, file):
            if self._is(_OLD, file):
                self._read(file)
                self._new, self._old = {}, self._new
            else:
                # Others have begun more than one file since.
                self._new, self._old, self._last, self._open = {}, {}, {}, {}
                self._settled = False
            os.close(file)
            file = self._file = None
        if file is None:
            self._open_files(load_old=not self._old)
        assert self._file is not None
        rest = self._read(self._file)
        if rest:
            # No process is writing. One has ended within a write, or the power was lost.
            _LOG.warning("%s: %d bytes after byte %d are no entry; they are cut off", self._path(_NEW), rest, self._at)
            os.ftruncate(self._file, self._at)
            os.fdatasync(self._file)

    def _open_files(self, *, load_old: bool) -> None:
        if load_old:
            with suppress(FileNotFoundError):
                old = os.open(self._path(_OLD), os.O_RDONLY | os.O_CLOEXEC)
                try:
                    self._at = 0
                    self._read(old)
                finally:
                    os.close(old)
                self._new, self._old = {}, self._new
        self._file = os.open(self._path(_NEW), os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._at = 0
        self._sync_directory()

    def _path(self, name: str) -> Path:
        return self._directory / name

    def _is(self, name: str, file: int) -> bool:
        try:
            return os.path.samestat(self._path(name).stat(), os.fstat(file))
        except FileNotFoundError:
            return False

    def _sync_directory(self) -> None:
        directory = os.open(self._directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def _read(self, file: int) -> int:
        """Takes the entries from the present position on. Returns the number of bytes that are no entry."""
        data = _bytes_of(file, self._at)
        at = 0
        if self._at == 0 and data:
            if not data.startswith(_MAGIC):
                return len(data)
            at = len(_MAGIC)
        while at + _HEADER.size <= len(data):
            check, number, partition, sequence = _HEADER.unpack_from(data, at)
            end = at + _HEADER.size + number * _KEY_BYTES
            if end > len(data) or zlib.crc32(data[at + 4 : end]) != check:
                break
            first = at + _HEADER.size
            names = [data[each : each + _KEY_BYTES] for each in range(first, end, _KEY_BYTES)]
            self._take(partition, sequence, names)
            at = end
        self._at += at
        return len(data) - at

    def _append(self, partition: int, sequence: int, names: list[bytes], *, durable: bool) -> None:
        assert self._file is not None
        fields = _HEADER.pack(0, len(names), partition, sequence)[4:] + b"".join(names)
        entry = struct.pack("<I", zlib.crc32(fields)) + fields
        data = _MAGIC + entry if self._at == 0 else entry
        written = os.write(self._file, data)
        if written < len(data):
            # Otherwise the file ends within an entry, which the next reader cuts off.
            os.ftruncate(self._file, self._at)
            raise OSError(f"{self._path(_NEW)}: {written} of {len(data)} bytes could be written")
        self._at += written
        if durable:
            os.fdatasync(self._file)
        self._take(partition, sequence, names)

    def _take(self, partition: int, sequence: int, names: list[bytes]) -> None:
        """Takes an entry, or a mark, which has no names."""
        self._highest[partition] = max(sequence, self._highest.get(partition, -1))
        if names:
            self._open[partition] = sequence, names
            return
        opened = self._open.pop(partition, None)
        if opened is not None and opened[0] == sequence:
            value = sequence << _PARTITION_BITS | partition
            self._new.update(dict.fromkeys(opened[1], value))
        elif sequence < self._last.get(partition, -1):
            # The queue is older than the keys, for instance after it was restored: what it lost may come again.
            self._new, self._old = (_until(each, partition, sequence) for each in (self._new, self._old))
        self._last[partition] = sequence

    def _mark(self, last: int) -> None:
        """Marks what the queue has. A failure leaves that to the next lock."""
        try:
            self._append(self._partition, last, [], durable=False)
        except OSError as error:
            _LOG.warning("%s", self._failed(error))
        else:
            self._settled = True

    def _rotate(self) -> None:
        """Begins a new file, and forgets what only the one before the present one has."""
        assert self._file is not None
        # Its last mark, too: the next entry, in the new file, is durable before it otherwise.
        os.fdatasync(self._file)
        self._path(_NEW).replace(self._path(_OLD))
        os.close(self._file)
        self._file = None
        self._new, self._old = {}, self._new
        self._open_files(load_old=False)


def _digest(key: bytes) -> bytes:
    return blake2b(key, digest_size=_KEY_BYTES).digest()


def _until(names: dict[bytes, int], partition: int, sequence: int) -> dict[bytes, int]:
    mask = (1 << _PARTITION_BITS) - 1
    return {
        name: value
        for name, value in names.items()
        if value & mask != partition or value >> _PARTITION_BITS <= sequence
    }


def _bytes_of(file: int, at: int) -> bytes:
    """The bytes of a file from a position on."""
    size = os.fstat(file).st_size
    parts = []
    while at < size:
        part = os.pread(file, size - at, at)
        if not part:
            break
        parts.append(part)
        at += len(part)
    return b"".join(parts)
