"""The commands of the collector. The modules that run them are imported by the commands alone."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from mmapqueue._cli.status import USAGE

if TYPE_CHECKING:
    from mmapqueue.pipeline._watching import WatchedPipeline

#: Modules of the extra `pipeline`, any of which may be missing.
EXTRA = frozenset(
    (
        *("pydantic", "pydantic_core", "yaml", "grpc", "aiohttp", "uvloop", "google", "prometheus_client", "tenacity"),
        *("watchfiles", "pyspark", "pyarrow", "opentelemetry", "async_timeout", "msgpack"),
    )
)


class Level(str, Enum):
    """Levels of the log."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


_File = Annotated[str, typer.Argument(metavar="FILE", help="The configuration, YAML.", show_default=False)]
_LogLevel = Annotated[Level, typer.Option(help="Of the log on stderr.")]
_Watch = Annotated[bool, typer.Option("--watch", help="Reload the file when it changes.")]
_Parent = Annotated[int | None, typer.Option(hidden=True)]


@contextmanager
def extra() -> Iterator[None]:
    """Ends the command with an advice when a module of the extra is missing."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        print(f"mmapqueue: module {error.name} is missing: pip install 'mmapqueue[pipeline]'", file=sys.stderr)
        raise typer.Exit(USAGE) from None


def gather(
    file: _File,
    *,
    log_level: _LogLevel = Level.INFO,
    partition: Annotated[int | None, typer.Option(hidden=True)] = None,
    listen: Annotated[list[str] | None, typer.Option(metavar="SERVER=HOST:PORT", hidden=True)] = None,
    watch: _Watch = False,
    parent: _Parent = None,
    successor: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> int:
    """Run the servers, receivers and fetchers of a pipeline; push their events. Needs no Spark.

    Prints `ready: SERVER HOST:PORT …` when it accepts events. SIGTERM and SIGINT stop it after the requests in flight;
    a second one stops it at once.

    Exit status: 0 stopped, 1 failed, 2 the configuration is invalid.
    """
    with extra():
        from mmapqueue.pipeline import _cli

        return _cli.gather(
            file,
            log_level.value,
            partition=partition,
            listen=listen or [],
            parent=parent,
            successor=successor,
            watch=watch,
        )


def process(
    file: _File,
    *,
    once: Annotated[
        bool, typer.Option("--once", help="End when the records that are in the queues now are sent.")
    ] = False,
    log_level: _LogLevel = Level.INFO,
    watch: _Watch = False,
    parent: _Parent = None,
) -> int:
    """Run the filters and senders of a pipeline on Spark: one streaming query for each sender.

    Exit status: 0 stopped, 1 failed, 2 the configuration is invalid.
    """
    with extra():
        from mmapqueue.pipeline import _cli

        return _cli.process(file, log_level.value, once=once, parent=parent, watch=watch)


def reload(file: _File) -> int:
    """Have the running processes of a configuration read it again; wait for the outcome, and print it.

    Parts that are equal go on untouched. With an invalid file, or when a new part cannot be opened, no process changes.

    Exit status: 0 reloaded, 1 nothing has changed, or no process runs the file; 2 the configuration is invalid.
    """
    with extra():
        from mmapqueue.pipeline import _cli

        return _cli.reload(file)


def restart(file: _File) -> int:
    """Restart the processes of a configuration one after the other, the next one when the last one is ready again.

    For `mmapqueue run`, and for `mmapqueue gather` with `gather.processes` above 1. The file is checked first.

    Exit status: 0 restarted, 1 failed, or no such process runs the file; 2 the configuration is invalid.
    """
    with extra():
        from mmapqueue.pipeline import _cli

        return _cli.restart(file)


def run(file: _File, *, log_level: _LogLevel = Level.INFO, watch: _Watch = False) -> int:
    """Run gather and process as two processes.

    Exit status: 0 stopped, 1 failed, 2 the configuration is invalid.
    """
    with extra():
        from mmapqueue.pipeline import _cli

        return _cli.run(file, log_level.value, watch=watch)


def check(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="The configuration, YAML.", show_default=False)
    ] = None,
    *,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of configurations, for editors.")
    ] = False,
) -> int:
    """Validate the configuration of a pipeline, and print what would run; start nothing.

    Exit status: 0 valid, 2 not valid.
    """
    if schema == (file is not None):
        raise typer.BadParameter("give a FILE, or --schema")
    with extra():
        from mmapqueue.pipeline import _cli

        return _cli.print_schema() if file is None else _cli.check(file)


def watched(file: str) -> "WatchedPipeline":
    """The pipeline of a configuration file, for `top`."""
    with extra():
        from mmapqueue.pipeline import _cli

        return _cli.watched(file)
