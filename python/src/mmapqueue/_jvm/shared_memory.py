"""Memory that this process and the JVM both map.

First choice: a file without a name, which the JVM opens through this process's descriptors. After a kill nothing of it
remains. Second choice, such as for a JVM in another container: a file in /dev/shm, or in the queue's directory where
/dev/shm is too small; it is deleted as soon as both sides have mapped it. Only this user can read either. Blocks are
reserved: a store into a page without a block would kill the process.
"""

import contextlib
import ctypes
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
from mmapqueue._jvm.calls import Call, Lifetime

_SHARED = Path("/dev/shm")
#: The part of /dev/shm that stays free: containers have 64 MB by default, for all their programs together.
_LEAST_SHARED = 256 << 20
_LEAST_FREE = 64 << 20
_PREFIX = ".mmapqueue-buffer-"
#: The age in seconds from which a named file was left by a killed process: names exist for milliseconds.
_LEFT_SECONDS = 600
_NONCE_BYTES = 16
#: The maximum number of bytes of one answer. py4j stalls for 40 ms on an answer of 8 KB, which these bytes in base 64
#: stay below.
_PIECE = 4096


class Memory(Protocol):
    """The memory of a shared buffer, as this process accesses it."""

    def store(self, at: int, data: bytes | bytearray | memoryview) -> None:
        """Writes bytes at a position."""

    def load(self, end: int) -> "bytes | mmap.mmap":
        """An object with the first `end` bytes, to be sliced."""

    def close(self) -> None:
        """Frees the memory. The caller must not use it any more."""


class MappedMemory:
    """A mapped file."""

    __slots__ = ("_map",)

    def __init__(self, mapped: mmap.mmap) -> None:
        self._map = mapped

    def store(self, at: int, data: bytes | bytearray | memoryview) -> None:
        """Writes bytes at a position."""
        self._map[at : at + len(data)] = data

    def load(self, end: int) -> mmap.mmap:  # noqa: ARG002 - the mapping has all bytes
        """The whole mapping."""
        return self._map

    def address(self) -> int:
        """The address of the memory in this process."""
        return ctypes.addressof(ctypes.c_char.from_buffer(self._map))

    def close(self) -> None:
        """Frees the memory. The JVM's mapping lasts until Java collects it, but holds no memory by then."""
        if self._map.closed:
            return
        if hasattr(mmap, "MADV_REMOVE"):
            # File systems without this call free the memory with the last mapping.
            with contextlib.suppress(OSError):
                self._map.madvise(mmap.MADV_REMOVE)
        self._map.close()


class HeapMemory:
    """Memory in the JVM's heap, read and written through py4j: the fallback when both sides can map no file."""

    __slots__ = ("_read", "_write")

    def __init__(self, buffer: JavaObject, lifetime: Lifetime) -> None:
        self._read = Call(buffer, "read", names.SHARED_BUFFER_CALLS["read"], lifetime)
        self._write = Call(buffer, "write", names.SHARED_BUFFER_CALLS["write"], lifetime)

    def store(self, at: int, data: bytes | bytearray | memoryview) -> None:
        """Writes bytes at a position."""
        self._write(at, bytes(data))

    def load(self, end: int) -> bytes:
        """The first `end` bytes."""
        return b"".join(self._read(at, min(_PIECE, end - at)) for at in range(0, end, _PIECE))

    def close(self) -> None:
        """Does nothing: the heap belongs to the JVM."""


class Allocator:
    """Makes shared buffers in the JVM. Safe for any number of threads."""

    def __init__(self, handle: JavaObject, directory: Path, lifetime: Lifetime) -> None:
        self._lifetime = lifetime
        self._mapped_buffer = Call(handle, "mappedBuffer", names.HANDLE_CALLS["mappedBuffer"], lifetime)
        self._heap_buffer = Call(handle, "heapBuffer", names.HANDLE_CALLS["heapBuffer"], lifetime)
        self._directories = [_SHARED, directory] if _has_room(_SHARED) else [directory]
        self._warned = False

    def shared(self, size: int) -> tuple[JavaObject, Memory] | None:
        """A buffer of a size in bytes and its memory; None when no memory can be shared."""
        found = self._map_anonymous(size)
        if found is not None:
            return found
        for directory in self._directories:
            found = self._map_in(directory, size)
            if found is not None:
                return found
        return None

    def in_heap(self, size: int) -> tuple[JavaObject, Memory]:
        """A buffer in the JVM's heap; warns the first time."""
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"no memory can be shared with the JVM, neither in {_SHARED} nor in {self._directories[-1]}: records "
                "go through py4j, many times slower",
                RuntimeWarning,
                stacklevel=2,
            )
        buffer = self._heap_buffer(size)
        return buffer, HeapMemory(buffer, self._lifetime)

    def _map_anonymous(self, size: int) -> tuple[JavaObject, Memory] | None:
        try:
            descriptor = os.memfd_create(_PREFIX)
        except (AttributeError, OSError):
            return None
        try:
            return self._map(descriptor, f"/proc/{os.getpid()}/fd/{descriptor}", size)
        finally:
            os.close(descriptor)

    def _map_in(self, directory: Path, size: int) -> tuple[JavaObject, Memory] | None:
        try:
            _sweep(directory)
            descriptor, path = tempfile.mkstemp(prefix=_PREFIX, dir=directory)
        except OSError:
            return None
        try:
            return self._map(descriptor, path, size)
        finally:
            Path(path).unlink(missing_ok=True)
            os.close(descriptor)

    def _map(self, descriptor: int, path: str, size: int) -> tuple[JavaObject, Memory] | None:
        """Maps a new file on both sides; None when one of them cannot."""
        try:
            _reserve(descriptor, size)
            mapped = mmap.mmap(descriptor, size)
            # The path may name another file for the JVM, in another container or with a remote driver.
            nonce = secrets.token_bytes(_NONCE_BYTES)
            mapped[:_NONCE_BYTES] = nonce
            buffer = self._mapped_buffer(path, size, nonce.hex())
            return None if buffer is None else (buffer, MappedMemory(mapped))
        except OSError:
            return None


def _sweep(directory: Path) -> None:
    """Deletes the files that killed processes have left in a directory."""
    for file in directory.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - file.stat().st_mtime > _LEFT_SECONDS:
                file.unlink()


def _has_room(directory: Path) -> bool:
    try:
        found = os.statvfs(directory)
    except OSError:
        return False
    return found.f_blocks * found.f_frsize >= _LEAST_SHARED and found.f_bavail * found.f_frsize >= _LEAST_FREE


def _reserve(descriptor: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.write(descriptor, bytes(size))
