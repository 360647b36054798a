"""Fetcher of files' lines."""

import os
import re
from datetime import timedelta
from functools import cached_property
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from mmapqueue.pipeline.gather.fetchers._follow import Follower
from mmapqueue.pipeline.plugins import Duration, Fetcher, Host, Options


def _compiled(start: str) -> re.Pattern[bytes]:
    return re.compile(b"^(?:" + start.encode() + b")", re.MULTILINE)


def _checked(start: str) -> str:
    try:
        _compiled(start)
    except re.error as error:
        raise ValueError(f"{start!r} is no regular expression: {error}") from None
    return start


class Multiline(Options):
    """Which lines belong together.

    Attributes:
        start: Regular expression that the first line of an event matches at its beginning. Other lines belong to the
            event before them.
    """

    start: Annotated[str, AfterValidator(_checked)]


class FileFetcher(Fetcher):
    r"""Follows files as they grow: each line is one event, stored exactly once.

    An event's data is the line without its newline, its type LOGGING, its content type text/plain, its source the
    path that the file had when it was opened. `meta` has `inode` and `position`, the byte position at which the line
    begins.

    **Position.** There is no state file. The batches of a file are pushed with `push_once`, by a producer that is named
    after device, inode and generation: a batch and the position after it are stored in one step, and a kill at any
    moment leaves both or neither. The sequence of a batch is `position << 20 | checksum`. The checksum is of the file's
    first 1 KiB, of the 1 KiB before the position, and of the time at which the file was made, where the file system
    stores it. Reading continues after `Queue.last_sequence`.

    **Truncation and reused inodes.** A file is read on only where it still has what was read: each read covers the
    1 KiB before the position, too, and the first read after a restart compares the checksum. When it differs, or the
    file is shorter than the position, this is another file, or the same one truncated: the next generation begins with
    the file's first byte, under a new producer. Nothing tells a truncated file that has the same bytes again.

    **Rotation.** A file that is renamed stays the same: it is read to its end, and until it has not grown for
    `close_after`, whatever its new name is. After a restart it is found by its inode in the directories of `paths`. A
    file that is truncated after it was copied (copytruncate) begins a generation; what was not read before the
    truncation is in the copy alone, and a copy that `paths` name is read as a new file: exclude it.

    **Long and unfinished lines.** A line that is too long for max_event_size becomes several events; a last line
    without newline becomes one when the file has not grown for `idle`. `meta` then has incomplete = "true" (no newline
    ends it), and the events that follow have continuation = "true" (the byte before is no newline).

    Example:
        FileFetcher(paths=["/var/log/*.log"], exclude=["*/debug.log"], multiline={"start": r"\d{4}-"})

    Attributes:
        name: Distinguishes several such fetchers in one pipe. Positions are stored under it.
        paths: Files to follow: paths with `*`, `?`, `[…]` and `**`.
        exclude: Patterns of paths, or of file names, to leave out.
        start: Where files begin that are there when the fetcher runs for the first time with these paths: with their
            first byte, or with what comes next. Files that appear later are read from their beginning.
        poll: Longest time between two looks at the files, for changes that the system does not report.
        idle: Time after which a last line without newline is taken.
        close_after: Time without growth after which a file is closed. Files that `paths` still name are opened again
            when they grow.
        forget_after: Time after which the position of a file that has gone is forgotten.
        multiline: Which lines belong together; every line is an event when None.
    """

    type: Literal["files"] = "files"
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")] = "files"
    paths: Annotated[tuple[str, ...], Field(min_length=1)]
    exclude: tuple[str, ...] = ("*.gz", "*.bz2", "*.xz", "*.zst", "*.zip")
    start: Literal["beginning", "end"] = "beginning"
    poll: Annotated[Duration, Field(ge=timedelta(milliseconds=10))] = timedelta(seconds=1)
    idle: Duration = timedelta(seconds=5)
    close_after: Duration = timedelta(minutes=1)
    forget_after: Duration = timedelta(days=1)
    multiline: Multiline | None = None

    async def run(self, host: Host) -> None:
        """As `Fetcher.run`."""
        await Follower(self, host).run()

    def absolute(self) -> list[str]:
        """The paths, absolute."""
        return [os.path.abspath(path) for path in self.paths]  # noqa: PTH100

    @cached_property
    def start_pattern(self) -> re.Pattern[bytes] | None:
        """What the first line of an event begins with; None when every line is an event."""
        return None if self.multiline is None else _compiled(self.multiline.start)
