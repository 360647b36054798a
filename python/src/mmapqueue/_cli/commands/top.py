"""`mmapqueue top`."""

import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Annotated

import typer

from mmapqueue._cli.arguments import AsJson, duration
from mmapqueue._cli.output import Column, age_text, console, print_object, print_table, size_text
from mmapqueue._cli.queues import open_to_read
from mmapqueue._cli.watching import Watched
from mmapqueue._values.errors import ConfigError

#: Seconds after which a changed size of the terminal is noticed at the latest.
_REDRAW_SECONDS = 0.25
_LEAST_INTERVAL = 0.1


def top(
    directories: Annotated[list[str], typer.Argument(metavar="DIR", help="The directories.", show_default=False)],
    *,
    interval: Annotated[str, typer.Option(metavar="TIME", help="The time between two samples.")] = "1s",
    once: Annotated[bool, typer.Option("--once", help="Print one sample, of one interval, as a table.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show live rates, fill and lag of queues, beside the processes that write and read them.

    ACKED is how fast the committed offset moves: the first offset that is not acked. LAG is the number of records from
    there to the log end: waiting, popped, or acked out of order. IN-FLIGHT are those that the owner has popped or
    prefetched.

    Changes nothing and moves no consumer. q or Ctrl-C ends it. With --json it prints an object for each queue and
    interval; without a terminal it prints one sample.
    """
    wait = duration("--interval", interval)
    if wait < _LEAST_INTERVAL:
        allowed = f"{_LEAST_INTERVAL} s or more"
        raise ConfigError(f"--interval = {interval!r} is invalid; allowed: {allowed}", "--interval", interval, allowed)
    with ExitStack() as opened:
        queues = [Watched(opened.enter_context(open_to_read(directory))) for directory in directories]
        _sample(queues)
        try:
            if as_json:
                _print_json(queues, wait, once=once)
            elif once or not sys.stdout.isatty() or console().is_dumb_terminal:
                time.sleep(wait)
                _sample(queues)
                _print_table(queues)
            else:
                _draw(queues, wait)
        except KeyboardInterrupt:
            return


def _sample(queues: Sequence[Watched]) -> None:
    for queue in queues:
        queue.sample()


def _print_json(queues: Sequence[Watched], wait: float, *, once: bool) -> None:
    while True:
        time.sleep(wait)
        _sample(queues)
        for queue in queues:
            print_object(queue.as_object())
        sys.stdout.flush()
        if once:
            return


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


def _draw(queues: Sequence[Watched], wait: float) -> None:
    """Draws samples until a q is pressed."""
    from rich.live import Live

    from mmapqueue._cli.screen import screen

    # Restores the state of the terminal.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with Live(console=console(), screen=True, auto_refresh=False) as live, _keys() as pressed:
        due = time.monotonic() + wait
        drawn = None
        while True:
            if time.monotonic() >= due:
                due = time.monotonic() + wait
                drawn = None
                _sample(queues)
            size = console().size
            if size != drawn:
                drawn = size
                live.update(screen(queues, size.width, wait), refresh=True)
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
