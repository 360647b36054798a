"""The checks of `doctor`: Java, the jar, Spark, locale, disk, limits of the system."""

import codecs
import locale
import os
import re
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from mmapqueue._jvm import bridge, class_archive, jars, names, standalone
from mmapqueue._values.errors import JarNotFound, MmapQueueError
from mmapqueue._values.texts import size_text
from mmapqueue._values.version import __version__

_PROC = Path("/proc")
_SHARED = Path("/dev/shm")

_TESTED_SPARK = ((3, 5), (4, 3))
_LOCAL_DISKS = frozenset(("ext2", "ext3", "ext4", "xfs"))
_NETWORK_DISKS = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "lustre", "afs", "gpfs", "beegfs")
)
_MEMORY_DISKS = frozenset(("tmpfs", "ramfs"))
#: Free bytes below which not even a small queue has room, and below which the default ring has none.
_LEAST_FREE, _DEFAULT_RING = 64 << 20, 512 << 20
#: The kernel's default.
_MAP_COUNT = 65_530
_OPEN_FILES = 1024
_LEAST_SPACE, _USUAL_SPACE = 2 << 30, 8 << 30
_LARGEST_SEGMENT = 64 << 20
_SET_CACHE = "set XDG_CACHE_HOME: commands start in less time then"
#: The minimum size of /dev/shm that is used.
_SHARED_BYTES = 256 << 20


class Status(str, Enum):
    """The result of a check."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class Check(NamedTuple):
    """One line of the report.

    Attributes:
        status: The result.
        check: The name of the check.
        found: The finding.
        advice: Advice for the user; empty if none is needed.
    """

    status: Status
    check: str
    found: str
    advice: str = ""


def checks(directory: str) -> Iterator[Check]:
    """All checks, one after the other.

    Args:
        directory: A directory of the disk that queues are to be on.
    """
    yield _jar()
    yield _java()
    yield _archive()
    yield _package("pyspark", "Spark", spark)
    yield _package("pyarrow", "Arrow", lambda found: Check(Status.OK, "Arrow", f"pyarrow {found}"))
    yield _locale()
    yield disk(directory)
    yield space(directory)
    yield maps()
    yield from limits()
    yield _shared_memory()


def _jar() -> Check:
    try:
        return Check(Status.OK, "jar", str(jars.jar_path()))
    except JarNotFound as error:
        return Check(Status.ERROR, "jar", str(error), "pip install mmapqueue")


def _java() -> Check:
    """Starts a JVM, since only that shows whether it starts, and with which Java."""
    standalone.start_quickly()
    begin = perf_counter()
    try:
        bridge.class_of(None, names.BRIDGE)
        properties = standalone.jvm().java.lang.System.getProperty
        found = f"{properties('java.version')} in {properties('java.home')}, started in {perf_counter() - begin:.1f} s"
        return Check(Status.OK, "Java", found)
    except JarNotFound as error:
        return Check(Status.ERROR, "Java", str(error), f"reinstall mmapqueue {__version__}")
    except MmapQueueError as error:
        advice = "install a JDK or JRE 17 or newer, such as openjdk-17-jre-headless, or set JAVA_HOME"
        return Check(Status.ERROR, "Java", str(error), advice)


def _archive() -> Check:
    name = "class archive"
    try:
        directory = class_archive.cache_directory()
    except RuntimeError:
        return Check(
            Status.WARNING, name, "there is no home directory", "set XDG_CACHE_HOME; commands start in less time"
        )
    made: list[Path] = []
    with suppress(PermissionError):
        made = sorted(directory.glob("*.jsa"))
    if made:
        size = sum(file.stat().st_size for file in made)
        return Check(Status.OK, name, f"{size_text(size)} in {directory}")
    above = next(each for each in (directory, *directory.parents) if not _is_missing(each))
    if os.access(above, os.W_OK) and above.is_dir():
        return Check(Status.OK, name, f"none yet in {directory}: the first command makes it")
    return Check(Status.WARNING, name, f"{above} is not writable", _SET_CACHE)


def _is_missing(path: Path) -> bool:
    try:
        path.stat()
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    return False


def _package(package: str, name: str, check: Callable[[str], Check]) -> Check:
    try:
        return check(version(package))
    except PackageNotFoundError:
        return Check(Status.OK, name, f"{package} is not installed, and only {name} needs it")


def spark(found: str) -> Check:
    """Whether this version of pyspark is one of those that are tested."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", found)[:2])
    oldest, newest = _TESTED_SPARK
    if oldest <= numbers <= newest:
        return Check(Status.OK, "Spark", f"pyspark {found}")
    tested = " to ".join(".".join(map(str, each)) for each in _TESTED_SPARK)
    return Check(Status.WARNING, "Spark", f"pyspark {found} is not tested", f"tested are {tested}")


def _locale() -> Check:
    encoding = locale.nl_langinfo(locale.CODESET)
    with suppress(LookupError):
        if codecs.lookup(encoding).name == "utf-8":
            return Check(Status.OK, "locale", encoding)
    advice = "export LC_ALL=C.UTF-8: a JVM of Spark takes paths in the locale's encoding"
    return Check(Status.WARNING, "locale", encoding, advice)


def disk(directory: str) -> Check:
    """Whether the file system is local and on a disk."""
    point, kind = mount_of(Path(directory).resolve(), (_PROC / "self" / "mountinfo").read_text())
    found = f"{kind} at {point}"
    local = "put queues on a local disk, ext4 or xfs"
    if kind in _NETWORK_DISKS:
        return Check(Status.ERROR, "disk", f"{found}, a network file system", local)
    if kind in _MEMORY_DISKS:
        return Check(Status.WARNING, "disk", f"{found}: memory, lost at a restart", local)
    if kind == "overlay":
        return Check(Status.WARNING, "disk", f"{found}: the container's own, lost with it", "mount a volume for queues")
    if kind in _LOCAL_DISKS:
        return Check(Status.OK, "disk", found)
    return Check(Status.WARNING, "disk", f"{found}: pages may need new blocks at each write, or it is remote", local)


def mount_of(path: Path, mounts: str) -> tuple[str, str]:
    """The mount point and the type of the file system of a path.

    Args:
        path: Absolute, without links.
        mounts: The text of /proc/self/mountinfo.
    """
    found = ("/", "unknown")
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), before.split(" ")[4])
        # Of several mounts at one point, the last one is on top.
        if len(point) >= len(found[0]) and path.is_relative_to(point):
            found = (point, after.split(" ")[0])
    return found


def space(directory: str) -> Check:
    """Whether a ring has room."""
    if not os.access(directory, os.W_OK | os.X_OK):
        return Check(
            Status.ERROR, "disk space", f"{directory} is not writable", "run as its owner, or choose another directory"
        )
    free = shutil.disk_usage(directory).free
    found = f"{size_text(free)} free"
    if free >= _DEFAULT_RING:
        return Check(Status.OK, "disk space", found)
    status = Status.WARNING if free >= _LEAST_FREE else Status.ERROR
    return Check(status, "disk space", found, f"a ring takes {size_text(_DEFAULT_RING)} by default: set capacity")


def maps() -> Check:
    """Whether a process may map enough segments."""
    name = "vm.max_map_count"
    text = (_PROC / "sys" / "vm" / "max_map_count").read_text().strip()
    if int(text) >= _MAP_COUNT:
        return Check(Status.OK, name, text)
    return Check(Status.WARNING, name, text, f"sysctl -w {name}={_MAP_COUNT}: each mapped segment is one")


def limits() -> Iterator[Check]:
    """The limits of this process, which a JVM inherits."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY or files >= _OPEN_FILES:
        yield Check(Status.OK, "open files", _limit_text(files, str))
    else:
        yield Check(Status.WARNING, "open files", str(files), f"ulimit -n {_OPEN_FILES}")
    space = resource.getrlimit(resource.RLIMIT_AS)[0]
    if space == resource.RLIM_INFINITY or space >= _USUAL_SPACE:
        yield Check(Status.OK, "address space", _limit_text(space, size_text))
    else:
        status = Status.WARNING if space >= _LEAST_SPACE else Status.ERROR
        yield Check(status, "address space", size_text(space), "ulimit -v unlimited: a JVM and the segments are mapped")
    size = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if size == resource.RLIM_INFINITY or size >= _LARGEST_SEGMENT:
        yield Check(Status.OK, "file size", _limit_text(size, size_text))
    else:
        yield Check(Status.ERROR, "file size", size_text(size), "ulimit -f unlimited: a segment has up to 64M")


def _limit_text(limit: int, text: Callable[[int], str]) -> str:
    return "unlimited" if limit == resource.RLIM_INFINITY else text(limit)


def _shared_memory() -> Check:
    name = "shared memory"
    with suppress(OSError):
        os.close(os.memfd_create("mmapqueue-doctor"))
        return Check(Status.OK, name, "files without a name (memfd)")
    if _SHARED.is_dir() and (free := shutil.disk_usage(_SHARED).free) >= _SHARED_BYTES:
        return Check(Status.OK, name, f"{_SHARED}, {size_text(free)} free")
    advice = f"give {_SHARED} {size_text(_SHARED_BYTES)} or more; else the queue's directory is used"
    return Check(Status.WARNING, name, f"neither memfd nor room in {_SHARED}", advice)
