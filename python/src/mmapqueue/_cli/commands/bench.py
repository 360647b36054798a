"""`mmapqueue bench`."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from mmapqueue._cli.arguments import AsJson, duration
from mmapqueue._cli.measuring import Bench, Latency, Rate, directory_for_bench, fsyncs, open_bench
from mmapqueue._cli.output import Column, error_console, print_table
from mmapqueue._values.arguments import size_in_bytes
from mmapqueue._values.errors import ConfigError
from mmapqueue._values.texts import size_text

_LARGEST = 1 << 20
_LEAST_SECONDS, _MOST_SECONDS = 0.5, 3600.0
#: The shares of the phases in the total time.
_PUSH_AND_POP, _BOTH, _DURABLE, _FSYNC = 0.4, 0.2, 0.2, 0.2


def bench(
    directory: Annotated[str, typer.Argument(metavar="DIR", help="A directory of the disk to measure.")] = ".",
    *,
    size: Annotated[str, typer.Option(metavar="SIZE", help="Bytes of a record, up to 1m.")] = "1k",
    time: Annotated[str, typer.Option("--time", metavar="TIME", help="How long to measure in all.")] = "10s",
    as_json: AsJson = False,
) -> None:
    """Measure what this disk gives, from Python: push, pop, both at once, durable push, fsync.

    Makes a queue of 256 MiB in DIR, and removes it.
    """
    record = size_in_bytes("--size", size)
    if record > _LARGEST:
        raise ConfigError(f"--size = {size!r} is invalid; allowed: 1 to {_LARGEST} bytes", "--size", size, "up to 1m")
    total = duration("--time", time)
    if not _LEAST_SECONDS <= total <= _MOST_SECONDS:
        allowed = f"{_LEAST_SECONDS} to {_MOST_SECONDS:.0f} s"
        raise ConfigError(f"--time = {time!r} is invalid; allowed: {allowed}", "--time", time, allowed)
    rows = []
    # Also removes the queue when the command is terminated.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with directory_for_bench(directory) as path, open_bench(path, record) as queue:
        measured = Bench(queue, record)
        with _shown("push, pop"):
            measured.push_and_pop(total * _PUSH_AND_POP / 8)  # The JVM compiles what it runs often.
            pushed, popped = measured.push_and_pop(total * _PUSH_AND_POP)
        rows += [_of_rate("push", pushed), _of_rate("pop", popped)]
        with _shown("push and pop at once"):
            rows.append(_of_rate("push and pop at once", measured.both(total * _BOTH)))
        with _shown("durable push"):
            rows.append(_of_latency("durable push", measured.durable(total * _DURABLE)))
        with _shown("fsync"):
            rows.append(_of_latency("fsync of 4 KiB", fsyncs(path, total * _FSYNC)))
    columns = [
        Column("what", "WHAT"),
        Column("per_second", "PER SECOND", "{:,.0f}".format, right=True),
        Column("bytes_per_second", "BYTES/S", lambda rate: size_text(int(rate)), right=True),
        Column("median_us", "MEDIAN", _micros, right=True),
        Column("p99_us", "99 %", _micros, right=True),
        Column("max_us", "MAX", _micros, right=True),
    ]
    print_table(columns, rows, as_json=as_json)


def _of_rate(what: str, rate: Rate) -> dict[str, object]:
    latency = {"median_us": None, "p99_us": None, "max_us": None}
    return {"what": what, "per_second": rate.per_second, "bytes_per_second": rate.bytes_per_second, **latency}


def _of_latency(what: str, found: Latency) -> dict[str, object]:
    micros = {
        name: round(value * 1e6, 1)
        for name, value in (("median_us", found.median), ("p99_us", found.p99), ("max_us", found.highest))
    }
    return {"what": what, "per_second": found.operations / found.seconds, "bytes_per_second": None, **micros}


def _micros(value: float) -> str:
    return f"{value:,.0f} µs"


@contextmanager
def _shown(what: str) -> Iterator[None]:
    """Shows on a terminal which phase is measured."""
    if not sys.stderr.isatty():
        yield
        return
    with error_console().status(what):
        yield
