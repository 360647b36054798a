"""`mmapqueue tail`."""

import re
import select
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from mmapqueue._cli.arguments import AsJson, Directory, seek_target
from mmapqueue._cli.log_reader import LogReader, Wanted
from mmapqueue._cli.output import print_error
from mmapqueue._cli.queues import open_to_read
from mmapqueue._cli.records import FORMAT_HELP, LINES, RecordPrinter
from mmapqueue._values.errors import ConfigError, NotFound
from mmapqueue._values.offsets import SeekTarget

_LAST = 10
#: Seconds between two looks of `--follow` for new records.
_POLL_MILLIS = 50
#: Seconds for which the queue may have no meta page, because a resize replaces it.
_SWITCH_SECONDS = 5.0
_START = "Start at: earliest, latest, an offset, a time in ISO 8601, or a duration before now such as -5m."
_COUNT = (
    f"The maximum number of records: the last ones, {_LAST} by default; with --from the first ones, all by default."
)


def tail(
    directory: Directory,
    *,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Wait for further records, until Ctrl-C.")] = False,
    count: Annotated[int | None, typer.Option("-n", min=0, metavar="N", help=_COUNT)] = None,
    start: Annotated[str | None, typer.Option("--from", metavar="START", help=_START)] = None,
    pattern: Annotated[str | None, typer.Option("--grep", metavar="RE", help="Only records that contain this.")] = None,
    template: Annotated[str, typer.Option("--format", metavar="FORMAT", help=FORMAT_HELP, show_default=False)] = LINES,
    as_json: AsJson = False,
) -> None:
    """Print the last records, or those from a start on. Moves no consumer; runs beside the process that writes."""
    wanted = _wanted(pattern)
    target = None if start is None else seek_target("--from", start)
    shown = _Tail(directory, RecordPrinter(template, as_json=as_json), wanted)
    try:
        if target is None:
            shown.print_last(_LAST if count is None else count)
        elif not shown.print_from(target, count):
            return
        if follow:
            shown.follow(None if target is None else count)
    finally:
        shown.close()


class _Tail:
    """Prints records of the log, and keeps the offset after the last one."""

    def __init__(self, directory: str, printer: RecordPrinter, wanted: Wanted) -> None:
        self._printer = printer
        self._wanted = wanted
        self._queue = open_to_read(directory)
        self._reader = LogReader(self._queue)
        self._identity = self._identity_now()
        self._offset = 0
        self._printed = 0

    def close(self) -> None:
        self._queue.close()

    def print_last(self, count: int) -> None:
        found, self._offset = self._reader.last(count, self._wanted)
        self._printer.print(*found)

    def print_from(self, target: SeekTarget, most: int | None) -> bool:
        """Prints from a target to the log end; returns whether there may be more to print."""
        self._offset = self._reader.offset_of(target)
        return self._print_new(most)

    def _print_new(self, most: int | None) -> bool:
        for batch in self._reader.records(self._offset, self._queue.end_offset()):
            left = None if most is None else most - self._printed
            found = [message for message in batch if self._wanted(message)][:left]
            self._printer.print(*found)
            self._printed += len(found)
            self._offset = batch[-1].offset + 1
            if self._printed == most:
                return False
        # The last records may have been lost.
        self._offset = max(self._offset, self._reader.end)
        return self._printed != most

    def follow(self, most: int | None) -> None:
        """Prints what is pushed, until `most` records are printed; None for no end."""
        output = select.poll()
        # The poll has no events to wait for: it returns early when the reader of stdout has ended.
        output.register(sys.stdout.fileno(), 0)
        while self._print_new(most):
            if output.poll(_POLL_MILLIS):
                raise BrokenPipeError
            self._reopen_if_replaced()

    def _identity_now(self) -> tuple[int, int] | None:
        try:
            found = (Path(self._queue.path) / "meta.dat").stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def _reopen_if_replaced(self) -> None:
        """Opens the queue again after a resize: offsets stay.

        Raises:
            NotFound: The queue was deleted.
        """
        deadline = time.monotonic() + _SWITCH_SECONDS
        while (identity := self._identity_now()) is None:
            if time.monotonic() > deadline:
                raise NotFound(f"the queue in {self._queue.path} was deleted")
            time.sleep(_POLL_MILLIS / 1000)
        if identity == self._identity:
            return
        path = self._queue.path
        self._queue.close()
        self._queue = open_to_read(path)
        self._reader = LogReader(self._queue)
        self._identity = identity
        if self._offset > self._queue.end_offset():
            print_error(f"another queue was created in {path}")
            self._offset = self._queue.first_offset()


def _wanted(pattern: str | None) -> Wanted:
    if pattern is None:
        return lambda message: True  # noqa: ARG005
    try:
        search = re.compile(pattern).search
    except re.error as error:
        allowed = "a regular expression of Python"
        raise ConfigError(
            f"--grep = {pattern!r} is invalid: {error}; allowed: {allowed}", "--grep", pattern, allowed
        ) from None
    return lambda message: search(message.data.decode(errors="surrogateescape")) is not None
