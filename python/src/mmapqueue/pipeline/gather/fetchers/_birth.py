"""The creation time of a file, which distinguishes files that have had the same inode one after the other."""

import ctypes
import struct
from collections.abc import Callable
from functools import cache

_AT_EMPTY_PATH = 0x1000
_STATX_BTIME = 0x800
_SIZE = 256
#: stx_mask, and stx_btime: seconds and nanoseconds.
_MASK = struct.Struct("=I")
_BTIME = struct.Struct("=qI")
_BTIME_AT = 80


@cache
def _statx() -> Callable[..., int] | None:
    function = getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
    if function is None:
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_char_p]
    function.restype = ctypes.c_int
    return function  # type: ignore[no-any-return]


def birth_time(fd: int) -> int:
    """The creation time of an open file in ns since 1970; 0 where the system or the file system has none.

    Truncating and renaming a file do not change it. Safe for any number of threads.
    """
    statx = _statx()
    buffer = ctypes.create_string_buffer(_SIZE)
    if statx is None or statx(fd, b"", _AT_EMPTY_PATH, _STATX_BTIME, buffer) != 0:
        return 0
    if not _MASK.unpack_from(buffer)[0] & _STATX_BTIME:
        return 0
    seconds, nanoseconds = _BTIME.unpack_from(buffer, _BTIME_AT)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)
