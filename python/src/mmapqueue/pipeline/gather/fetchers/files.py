"""Fetcher of files' lines."""

import os
import re
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from mmapqueue.pipeline.gather.fetchers._follow import Follower
from mmapqueue.pipeline.gather.fetchers._text import Encoding
from mmapqueue.pipeline.plugins import Duration, Fetcher, Host, Options

_Pattern = Annotated[str, Field(min_length=1)]


def _compiled(start: str) -> re.Pattern[bytes]:
    # A hole may precede the line.
    return re.compile(rb"^\0*(?:" + start.encode() + b")", re.MULTILINE)


def _checked(start: str) -> str:
    try:
        _compiled(start)
    except re.error as error:
        raise ValueError(f"{start!r} is not a regular expression: {error}") from None
    return start


class Multiline(Options):
    """The lines that belong together.

    Attributes:
        start: Regular expression that matches at the start of the first line of an event. Other lines belong to the
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

    **Truncation and reused inodes.** Reading continues only if the file still has the bytes that were read: each read
    covers the 1 KiB before the position, too, and the first read after a restart compares the checksum. If it differs,
    or the file is shorter than the position, this is another file, or the same file truncated: the next generation
    begins at the file's first byte, under a new producer. A truncated file that gets the same bytes again cannot be
    recognised.

    **Rotation.** A renamed file stays the same file: it is read to its end, and until it has not grown for
    `close_after`, under any new name. After a restart it is found by its inode in the directories of `paths`. A file
    that is truncated after it was copied (copytruncate) begins a new generation; lines that were not read before the
    truncation are in the copy alone, and a copy that `paths` match is read as a new file: exclude it.

    **Holes.** NULs at the start of a line are left out: a writer that does not append leaves such a hole when its file
    is truncated.

    **Long and unfinished lines.** A line that is too long for max_event_size becomes several events; a last line
    without newline becomes one when the file has not grown for `idle`. `meta` then has incomplete = "true" (no newline
    ends it), and the events that follow have continuation = "true" (the byte before is not a newline).

    Example:
        FileFetcher(paths=["/var/log/*.log"], exclude=["*/debug.log"], multiline={"start": r"\d{4}-"})

    Attributes:
        name: The name, unique among such fetchers in one pipe. Positions are stored under it.
        paths: Files to follow: paths with `*`, `?`, `[…]` and `**`.
        exclude: Patterns of paths, or of file names, to leave out.
        start: The start of files that exist when the fetcher runs for the first time with these paths: their first
            byte, or their end. Files that appear later are read from their first byte.
        poll: Longest time between two checks of the files, for changes that the system does not report.
        idle: Time after which a last line without newline is taken.
        close_after: Time without growth after which a file is closed. Files that `paths` still name are opened again
            when they grow.
        forget_after: Time after which the position of a removed file is deleted.
        multiline: The lines that belong together; None if every line is an event.
        encoding: utf-8 for any encoding that has ASCII's newline; utf-16, utf-16-le or utf-16-be, of which the events
            have the lines in UTF-8.
    """

    type: Literal["files"] = "files"
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")] = "files"
    paths: Annotated[tuple[_Pattern, ...], Field(min_length=1)]
    exclude: tuple[_Pattern, ...] = ("*.gz", "*.bz2", "*.xz", "*.zst", "*.zip")
    start: Literal["beginning", "end"] = "beginning"
    poll: Annotated[Duration, Field(ge=timedelta(milliseconds=10))] = timedelta(seconds=1)
    idle: Duration = timedelta(seconds=5)
    close_after: Duration = timedelta(minutes=1)
    forget_after: Duration = timedelta(days=1)
    multiline: Multiline | None = None
    encoding: Encoding = "utf-8"

    @property
    def makes(self) -> tuple[str, ...] | None:
        """As `Source.makes`."""
        return ("text/plain",)

    async def run(self, host: Host) -> None:
        """As `Fetcher.run`."""
        await Follower(self, host).run()

    def resolved(self, base: Path) -> "FileFetcher":
        """As `Plugin.resolved`."""
        return self.model_copy(update={"paths": tuple(str(base / Path(each).expanduser()) for each in self.paths)})

    def absolute(self) -> list[str]:
        """The paths, absolute."""
        return [os.path.abspath(path) for path in self.paths]  # noqa: PTH100

    @cached_property
    def start_pattern(self) -> re.Pattern[bytes] | None:
        """The pattern at the start of an event's first line; None when every line is an event."""
        return None if self.multiline is None else _compiled(self.multiline.start)
