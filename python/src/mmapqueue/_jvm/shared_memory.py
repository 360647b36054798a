"""Memory that this process and the JVM both have mapped.

A file without a name, which a kill at any moment leaves nothing of; the JVM finds it among this process's descriptors.
Where it does not, as in another container, a file in /dev/shm, or in the queue's directory where that is too small;
deleted as soon as both sides have it. Readable by this user alone, its blocks reserved: a store into a page that there
is no room for would kill the process.
"""

import contextlib
import mmap
import os
import secrets
import tempfile
import time
import warnings
from pathlib import Path
from typing import Protocol

from py4j.java_gateway import JavaObject

from mmapqueue._jvm import names
from mmapqueue._jvm.calls import Call

_SHARED = Path("/dev/shm")
#: A smaller one is a container's default of 64 MB, which is all that every program in it has together.
_LEAST_SHARED = 256 << 20
_LEAST_FREE = 64 << 20
_PREFIX = ".mmapqueue-stage-"
#: A file with a name has it for milliseconds: one that is so old was left by a process that was killed.
_LEFT_SECONDS = 600
_NONCE_BYTES = 16
#: py4j stalls for 40 ms on an answer of 8 KB: so many bytes are less than that in base 64.
_PIECE = 4096


class Memory(Protocol):
    """What a stage reads and writes through."""

    def store(self, at: int, data: bytes | bytearray | memoryview) -> None:
        """Writes bytes at a place."""

    def load(self, end: int) -> "bytes | mmap.mmap":
        """Something to slice that has the first `end` bytes."""

    def close(self) -> None:
        """Gives the memory back; nobody uses it any more."""


class Mapped:
    """A mapped file."""

    __slots__ = ("_map",)

    def __init__(self, mapped: mmap.mmap) -> None:
        self._map = mapped

    def store(self, at: int, data: bytes | bytearray | memoryview) -> None:
        """Writes bytes at a place."""
        self._map[at : at + len(data)] = data

    def load(self, end: int) -> mmap.mmap:  # noqa: ARG002 - it is all there
        """The whole mapping."""
        return self._map

    def close(self) -> None:
        """Gives the memory back. The JVM's mapping lasts until it is collected there, but holds no memory."""
        if hasattr(mmap, "MADV_REMOVE"):
            # A file system that can not do this frees the file with the last mapping.
            with contextlib.suppress(OSError):
                self._map.madvise(mmap.MADV_REMOVE)
        self._map.close()


class Unshared:
    """Memory in the JVM's heap, read and written through py4j: for where nothing can be mapped by both sides."""

    __slots__ = ("_read", "_write")

    def __init__(self, stage: JavaObject) -> None:
        self._read = Call(stage, "read", names.STAGE_CALLS["read"])
        self._write = Call(stage, "write", names.STAGE_CALLS["write"])

    def store(self, at: int, data: bytes | bytearray | memoryview) -> None:
        """Writes bytes at a place."""
        self._write(at, bytes(data))

    def load(self, end: int) -> bytes:
        """The first `end` bytes."""
        return b"".join(self._read(at, min(_PIECE, end - at)) for at in range(0, end, _PIECE))

    def close(self) -> None:
        """Does nothing: the heap is the JVM's."""


class Allocator:
    """Makes stages in the JVM, with memory that is shared if at all possible. Safe for any number of threads."""

    def __init__(self, handle: JavaObject, directory: Path) -> None:
        self._mapped_stage = Call(handle, "mappedStage", names.HANDLE_CALLS["mappedStage"])
        self._heap_stage = Call(handle, "heapStage", names.HANDLE_CALLS["heapStage"])
        self._places = [_SHARED, directory] if _is_roomy(_SHARED) else [directory]
        self._warned = False

    def shared(self, size: int) -> tuple[JavaObject, Memory] | None:
        """A stage of a size in bytes and its memory; None when no memory can be shared."""
        found = self._map_anonymous(size)
        if found is not None:
            return found
        for place in self._places:
            found = self._map_in(place, size)
            if found is not None:
                return found
        return None

    def unshared(self, size: int) -> tuple[JavaObject, Memory]:
        """A stage whose memory is the JVM's alone; warns the first time."""
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"no memory can be shared with the JVM, neither in {_SHARED} nor in {self._places[-1]}: records go "
                "through py4j, many times slower",
                RuntimeWarning,
                stacklevel=2,
            )
        stage = self._heap_stage(size)
        return stage, Unshared(stage)

    def _map_anonymous(self, size: int) -> tuple[JavaObject, Memory] | None:
        try:
            descriptor = os.memfd_create(_PREFIX)
        except (AttributeError, OSError):
            return None
        try:
            return self._map(descriptor, f"/proc/{os.getpid()}/fd/{descriptor}", size)
        finally:
            os.close(descriptor)

    def _map_in(self, place: Path, size: int) -> tuple[JavaObject, Memory] | None:
        try:
            _sweep(place)
            descriptor, path = tempfile.mkstemp(prefix=_PREFIX, dir=place)
        except OSError:
            return None
        try:
            return self._map(descriptor, path, size)
        finally:
            Path(path).unlink(missing_ok=True)
            os.close(descriptor)

    def _map(self, descriptor: int, path: str, size: int) -> tuple[JavaObject, Memory] | None:
        """Maps a new file on both sides; None when one of them can not."""
        try:
            _reserve(descriptor, size)
            mapped = mmap.mmap(descriptor, size)
            # The JVM may see another file system under the same name: another container, a remote driver.
            nonce = secrets.token_bytes(_NONCE_BYTES)
            mapped[:_NONCE_BYTES] = nonce
            stage = self._mapped_stage(path, size, nonce.hex())
            return None if stage is None else (stage, Mapped(mapped))
        except OSError:
            return None


def _sweep(place: Path) -> None:
    """Deletes what processes have left in a directory that were killed before they could."""
    for file in place.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - file.stat().st_mtime > _LEFT_SECONDS:
                file.unlink()


def _is_roomy(place: Path) -> bool:
    try:
        found = os.statvfs(place)
    except OSError:
        return False
    return found.f_blocks * found.f_frsize >= _LEAST_SHARED and found.f_bavail * found.f_frsize >= _LEAST_FREE


def _reserve(descriptor: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.write(descriptor, bytes(size))
