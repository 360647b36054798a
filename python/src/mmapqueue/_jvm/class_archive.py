"""An archive of the classes that a JVM has loaded, from which later ones start in less time (AppCDS).

The first JVM writes it at its end, into the user's cache directory. A cache that cannot be written, or an archive that
the JVM rejects, costs only time.
"""

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

#: Silences warnings about an archive, which costs only time when it cannot be used; errors go to the log.
_LOG = ["-Xlog:disable", "-Xlog:all=error:stderr"]
_SUFFIX = ".jsa"
_UNFINISHED = ".new"
#: The age in seconds from which an unfinished archive was left by a JVM that was killed.
_STALE_SECONDS = 3600.0
#: The archives that are kept, of 7 MB each: those used last.
_MOST = 16


class ClassArchive:
    """The archive of one Java and one class path.

    Args:
        java: The program.
        class_path: The jars.

    Attributes:
        options: The options with which the JVM uses the archive, or makes it.
    """

    def __init__(self, java: str, class_path: Sequence[Path]) -> None:
        self.options: list[str] = []
        self._file = Path()
        self._unfinished: Path | None = None
        with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: there is no home directory.
            self._find(java, class_path)

    def _find(self, java: str, class_path: Sequence[Path]) -> None:
        directory = cache_directory()
        program = Path(java).resolve()
        release = program.parents[1] / "release"
        build = release.read_bytes() if release.is_file() else b""
        # One archive is kept for each Java and each location of the jar.
        family = _digest(str(program), *map(str, class_path))
        states = [(jar.stat().st_size, jar.stat().st_mtime_ns) for jar in class_path]
        self._file = directory / f"{family}-{_digest(build.hex(), repr(states))}{_SUFFIX}"
        if self._file.exists():
            # Private to the user, since the JVM trusts the classes in an archive.
            if self._file.stat().st_uid == os.geteuid():
                crash = f"-XX:ErrorFile={self._file.with_suffix('.log')}"
                self.options = [f"-XX:SharedArchiveFile={self._file}", "-Xshare:auto", crash, *_LOG]
                os.utime(self._file)  # the time of the last use; last, since it fails where the cache cannot be written
            return
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(directory, os.W_OK) and directory.stat().st_uid == os.geteuid():
            self._unfinished = directory / f"{self._file.stem}.{os.getpid()}{_UNFINISHED}"
            self.options = [f"-XX:ArchiveClassesAtExit={self._unfinished}", *_LOG]

    @property
    def is_made(self) -> bool:
        """Whether the JVM makes the archive at its end."""
        return self._unfinished is not None

    def discard(self) -> bool:
        """Deletes the archive after a JVM that did not start; returns whether that JVM used it."""
        if self.is_made or not self.options:
            return False
        self._file.unlink(missing_ok=True)
        return True

    def keep(self) -> None:
        """Renames a new archive to its final name, after the JVM's end; deletes those that it replaces."""
        if self._unfinished is None:
            return
        with contextlib.suppress(OSError):
            self._unfinished.rename(self._file)
            family = self._file.name.partition("-")[0]
            for other in self._file.parent.glob(f"{family}-*{_SUFFIX}"):
                if other != self._file:
                    other.unlink()
            for other in self._file.parent.iterdir():
                if other.suffix != _SUFFIX and _is_stale(other):
                    other.unlink()
            archives = sorted(self._file.parent.glob(f"*{_SUFFIX}"), key=lambda file: file.stat().st_mtime)
            for other in archives[:-_MOST]:
                other.unlink()


def cache_directory() -> Path:
    """The directory of archives: `$XDG_CACHE_HOME/mmapqueue`, or `~/.cache/mmapqueue`.

    Raises:
        RuntimeError: The user has no home directory.
    """
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # A relative path is invalid by the specification of these variables.
    return (Path(cache) if cache.startswith("/") else Path.home() / ".cache") / "mmapqueue"


def _digest(*texts: str) -> str:
    # These suffice: the JVM compares the archive with its build and its jars.
    return f"{crc32(chr(0).join(texts).encode(errors='surrogateescape')):08x}"


def _is_stale(file: Path) -> bool:
    return time.time() - file.stat().st_mtime > _STALE_SECONDS
