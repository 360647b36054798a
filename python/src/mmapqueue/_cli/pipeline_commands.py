"""The collector's subcommands. The modules that run them are imported on first use."""

import argparse
import sys
from collections.abc import Callable
from typing import Any

_USAGE = 2
#: Modules of the extra `pipeline`, any of which may be missing.
_EXTRA = frozenset(
    (
        *("pydantic", "pydantic_core", "yaml", "grpc", "aiohttp", "uvloop", "google", "prometheus_client", "tenacity"),
        *("watchfiles", "pyspark", "pyarrow", "opentelemetry"),
    )
)
_LEVELS = ("debug", "info", "warning", "error")


def add_commands(commands: Any) -> None:
    """Adds the subcommands to those of `mmapqueue`.

    Args:
        commands: The result of `argparse.ArgumentParser.add_subparsers`.
    """
    gather = _command(
        commands,
        "gather",
        "Run the servers, receivers and fetchers of a pipeline; push their events. Needs no Spark. Prints "
        "`ready: SERVER HOST:PORT …` when it accepts events. SIGTERM and SIGINT stop it after the requests in flight; "
        "a second one stops it at once.",
    )
    gather.add_argument("--partition", type=int, help=argparse.SUPPRESS)
    gather.add_argument("--listen", action="append", default=[], metavar="SERVER=HOST:PORT", help=argparse.SUPPRESS)
    gather.add_argument("--parent", type=int, help=argparse.SUPPRESS)
    gather.set_defaults(run=_runner("gather"))
    process = _command(
        commands,
        "process",
        "Run the filters and senders of a pipeline on Spark: one streaming query for each sender.",
    )
    process.add_argument("--once", action="store_true", help="end when the records that are in the queues now are sent")
    process.add_argument("--parent", type=int, help=argparse.SUPPRESS)
    process.set_defaults(run=_runner("process"))
    run = _command(commands, "run", "Run gather and process as two processes.")
    run.set_defaults(run=_runner("run"))
    check = commands.add_parser(
        "check",
        description="Validate the configuration of a pipeline, and print what would run; start nothing.",
        epilog="exit status: 0 valid, 2 not valid",
    )
    check.add_argument("file", metavar="FILE", nargs="?", help="the configuration, YAML")
    check.add_argument("--schema", action="store_true", help="print the JSON Schema of configurations, for editors")
    check.set_defaults(run=_runner("check"))


def _command(commands: Any, name: str, description: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        description=description,
        epilog="exit status: 0 stopped, 1 failed, 2 the configuration is invalid",
    )
    command.add_argument("file", metavar="FILE", help="the configuration, YAML")
    command.add_argument("--log-level", choices=_LEVELS, default="info", help="of the log on stderr; default: info")
    return command


def _runner(name: str) -> Callable[[argparse.Namespace], int]:
    def run(options: argparse.Namespace) -> int:
        try:
            from mmapqueue.pipeline import _cli

            return _cli.COMMANDS[name](options)
        except ImportError as error:
            if (error.name or "").partition(".")[0] not in _EXTRA:
                raise
            print(f"mmapqueue: module {error.name} is missing: pip install 'mmapqueue[pipeline]'", file=sys.stderr)
            return _USAGE

    return run
