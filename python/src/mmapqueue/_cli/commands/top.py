"""`mmapqueue top`."""

import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mmapqueue._cli.arguments import AsJson, duration
from mmapqueue._cli.output import Column, console, print_object, print_table
from mmapqueue._cli.queues import open_to_read
from mmapqueue._cli.screens.watching import Watched
from mmapqueue._values.durations import age_text
from mmapqueue._values.errors import ConfigError
from mmapqueue._values.texts import size_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mmapqueue.pipeline._watching import WatchedPipeline

#: Seconds after which a changed size of the terminal is noticed at the latest.
_REDRAW_SECONDS = 0.25
_LEAST_INTERVAL = 0.1


def top(
    directories: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR", help="The directories, or the one configuration file of a pipeline.", show_default=False
        ),
    ],
    *,
    interval: Annotated[str, typer.Option(metavar="TIME", help="The time between two samples.")] = "1s",
    once: Annotated[bool, typer.Option("--once", help="Print one sample, of one interval, as a table.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show live rates, fill and lag of queues, or of the pipes and senders of a pipeline, while they run.

    ACKED is how fast the committed offset moves: the first offset that is not acked. LAG is the number of records from
    there to the log end: waiting, popped, or acked out of order. IN-FLIGHT are those that the owner has popped or
    prefetched.

    Of a pipeline it shows what the telemetry of gather and process says: events received and refused since they began,
    the fill of each queue, rows sent and given up, and the last error of each sender.

    Changes nothing and moves no consumer. q or Ctrl-C ends it. With --json it prints an object for each queue and
    interval; without a terminal it prints one sample.
    """
    wait = duration("--interval", interval)
    if wait < _LEAST_INTERVAL:
        allowed = f"{_LEAST_INTERVAL} s or more"
        raise ConfigError(f"--interval = {interval!r} is invalid; allowed: {allowed}", "--interval", interval, allowed)
    files = [each for each in directories if Path(each).is_file()]
    if files:
        _top_of_pipeline(directories, wait, once=once, as_json=as_json)
        return
    with ExitStack() as opened:
        queues = [Watched(opened.enter_context(open_to_read(directory))) for directory in directories]
        _sample(queues)
        if not as_json and _is_live(once=once):
            from mmapqueue._cli.screens.queues import screen

            _draw(lambda: _sample(queues), lambda width: screen(queues, width, wait), wait)
            return
        _print(lambda: _sample(queues), lambda: _show(queues, as_json=as_json), wait, once=once or not as_json)


def _top_of_pipeline(files: Sequence[str], wait: float, *, once: bool, as_json: bool) -> None:
    from mmapqueue._cli.collector import watched
    from mmapqueue._cli.screens.pipelines import print_rows, screen

    if len(files) > 1:
        allowed = "one configuration file alone, or directories of queues"
        raise ConfigError(f"DIR = {' '.join(files)} is invalid; allowed: {allowed}", "DIR", " ".join(files), allowed)
    pipeline: WatchedPipeline = watched(files[0])
    pipeline.sample()
    if not as_json and _is_live(once=once):
        _draw(pipeline.sample, lambda width: screen(pipeline, width, wait), wait)
        return

    def show() -> None:
        if as_json:
            print_object(pipeline.as_object())
        else:
            print_rows(pipeline)

    _print(pipeline.sample, show, wait, once=once or not as_json)


def _is_live(*, once: bool) -> bool:
    return not (once or not sys.stdout.isatty() or console().is_dumb_terminal)


def _sample(queues: Sequence[Watched]) -> None:
    for queue in queues:
        queue.sample()


def _print(sample: Callable[[], None], show: Callable[[], None], wait: float, *, once: bool) -> None:
    """Prints samples until Ctrl-C, or one."""
    try:
        while True:
            time.sleep(wait)
            sample()
            show()
            sys.stdout.flush()
            if once:
                return
    except KeyboardInterrupt:
        return


def _show(queues: Sequence[Watched], *, as_json: bool) -> None:
    if not as_json:
        _print_table(queues)
        return
    for queue in queues:
        print_object(queue.as_object())


def _print_table(queues: Sequence[Watched]) -> None:
    columns = [
        Column("path", "QUEUE"),
        Column("fill", "FILL", "{:.1%}".format, right=True),
        Column("pushed_per_second", "PUSHED/S", "{:.0f}".format, right=True),
        Column("name", "CONSUMER", elided=True),
        Column("acked_per_second", "ACKED/S", "{:.0f}".format, right=True),
        Column("lag_records", "LAG", right=True),
        Column("archived_records", "ARCHIVED", right=True),
        Column("in_flight", "IN-FLIGHT", right=True),
        Column("lag_bytes", "BYTES", size_text, right=True),
        Column("lag_seconds", "AGE", age_text, right=True),
    ]
    print_table(columns, (row for queue in queues for row in queue.rows()), as_json=False)


def _draw(sample: Callable[[], None], screen: "Callable[[int], RenderableType]", wait: float) -> None:
    """Draws samples, for the width of the terminal, until a q is pressed."""
    from rich.live import Live

    # Restores the state of the terminal.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with (
        suppress(KeyboardInterrupt),
        Live(console=console(), screen=True, auto_refresh=False) as live,
        _keys() as pressed,
    ):
        due = time.monotonic() + wait
        drawn = None
        while True:
            if time.monotonic() >= due:
                due = time.monotonic() + wait
                drawn = None
                sample()
            size = console().size
            if size != drawn:
                drawn = size
                live.update(screen(size.width), refresh=True)
            if pressed(min(_REDRAW_SECONDS, max(0.0, due - time.monotonic()))) in (b"q", b"Q"):
                return


@contextmanager
def _keys() -> Iterator[Callable[[float], bytes]]:
    """Yields a function that waits some seconds for a key, and returns it, or nothing. Keys are not echoed."""
    if not sys.stdin.isatty():

        def none(timeout: float) -> bytes:
            time.sleep(timeout)
            return b""

        yield none
        return

    file = sys.stdin.fileno()

    def pressed(timeout: float) -> bytes:
        # The end of the terminal counts as a q.
        return (os.read(file, 1) or b"q") if select.select([file], [], [], timeout)[0] else b""

    before = termios.tcgetattr(file)
    tty.setcbreak(file)
    try:
        yield pressed
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)
