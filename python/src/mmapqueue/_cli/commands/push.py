"""`mmapqueue push`."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import FileIO
from typing import Annotated

import typer

from mmapqueue._cli import framing
from mmapqueue._cli.arguments import AsJson, Directory, duration
from mmapqueue._cli.progress import Progress
from mmapqueue._cli.pushing import InputNumber, Once, Pusher, Sync, Timeout, counted_on_failure, print_pushed
from mmapqueue._cli.queues import open_to_write
from mmapqueue._cli.warnings import shown_waits

_STDIN = "-"
_STDIN_FILE = 0


class _Input:
    """A file, or stdin.

    Attributes:
        name: The name of the input, for errors.
        read: The number of bytes read so far.
    """

    def __init__(self, name: str, opened: ExitStack) -> None:
        is_stdin = name == _STDIN
        self.name = "stdin" if is_stdin else name
        self.read = 0
        self._file = opened.enter_context(FileIO(_STDIN_FILE if is_stdin else name, closefd=not is_stdin))

    def size(self) -> int | None:
        """Bytes of a regular file; None for a pipe or a terminal."""
        status = os.fstat(self._file.fileno())
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def chunks(self) -> Iterator[bytes]:
        """The bytes as they can be read; an empty chunk before a wait."""
        for chunk in framing.chunks(self._file):
            self.read += len(chunk)
            yield chunk


def push(
    directory: Directory,
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE", help="Input files; - or none: stdin.", show_default=False)
    ] = None,
    *,
    nul: Annotated[bool, typer.Option("-0", "--null", help="Records end with NUL, not with a line feed.")] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Each line must be JSON. It is stored as it is.")] = False,
    length_prefixed: Annotated[
        bool, typer.Option("--length-prefixed", help="4 bytes before each record are its length, big-endian.")
    ] = False,
    sync: Sync = False,
    once: Once = None,
    timeout: Timeout = None,
    as_json: AsJson = False,
) -> None:
    """Push records: each line of the input is one. A full queue makes the push wait.

    Prints how many records are in the queue, also after an error.
    """
    if nul + jsonl + length_prefixed > 1:
        raise typer.BadParameter("only one of -0, --jsonl and --length-prefixed is possible")
    number = None if once is None else InputNumber.parsed(once)
    wait = None if timeout is None else duration("--timeout", timeout)
    with ExitStack() as opened:
        inputs = [_Input(name, opened) for name in files or [_STDIN]]
        queue = opened.enter_context(open_to_write(directory))
        pusher = Pusher(queue, wait, sync=sync, once=number)
        with shown_waits(), counted_on_failure(pusher), Progress(_total(inputs)) as progress:
            before = 0
            for each in inputs:
                splitter = _splitter(nul=nul, jsonl=jsonl, length_prefixed=length_prefixed)(
                    each.name, queue.config["max_event_size"]
                )
                for records in framing.batches(each.chunks(), splitter):
                    pusher.push(records)
                    progress.update(before + each.read, records=pusher.pushed)
                before += each.read
            pusher.end()
    print_pushed(pusher, "pushed", as_json=as_json)


def _total(inputs: list[_Input]) -> int | None:
    """Bytes of all inputs; None if one of them is unknown."""
    sizes = [each.size() for each in inputs]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _splitter(*, nul: bool, jsonl: bool, length_prefixed: bool) -> Callable[[str, int], framing.Splitter]:
    """The splitter of an input that the options select."""
    if length_prefixed:
        return framing.LengthPrefixed
    if jsonl:
        return framing.JsonLines
    return framing.NulSeparated if nul else framing.Lines
