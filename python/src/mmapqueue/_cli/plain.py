"""The commands that need the standard library alone: jar, verify, repair, and those of the collector."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from mmapqueue._cli import overview
from mmapqueue._cli.output import print_object
from mmapqueue._cli.pipeline_commands import add_commands
from mmapqueue._cli.progress import ProgressBar
from mmapqueue._cli.status import DONE, FAILED, USAGE
from mmapqueue._jvm import jars
from mmapqueue._tools import jobs
from mmapqueue._values.version import __version__

NAMES = ("jar", "verify", "repair", "gather", "process", "run", "check")


def run(words: Sequence[str]) -> int:
    """Runs one of these commands; returns the exit status. Without words, prints the help.

    Raises:
        SystemExit: The help was asked for, or the usage is wrong.
    """
    parser = _parser()[0]
    if not words:
        parser.print_help()
        return USAGE
    options = parser.parse_args(words)
    status: int = options.run(options)
    return status


def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of each of these commands, by name."""
    return _parser()[1]


def _parser() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    parser = argparse.ArgumentParser(
        prog="mmapqueue",
        usage="mmapqueue [-h] [--version] COMMAND ...",
        description="Persistent queues on memory-mapped files.",
        epilog=f"{overview.text()}\n\nHere are {', '.join(NAMES)}.\nThe others: pip install 'mmapqueue[cli]'",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"mmapqueue {__version__}")
    commands: Any = parser.add_subparsers(prog="mmapqueue", metavar="COMMAND", help=argparse.SUPPRESS, required=True)
    jar = commands.add_parser(
        "jar",
        description="Print the path of the jar: spark-submit --jars $(mmapqueue jar) …",
    )
    jar.set_defaults(run=_print_jar)
    verify = commands.add_parser(
        "verify",
        description="Report damage in a queue that no process writes; change nothing.",
        epilog="exit status: 0 whole, 1 damage was found or the queue could not be read, 2 wrong usage",
    )
    verify.set_defaults(run=_verify)
    repair = commands.add_parser(
        "repair",
        description="Repair a damaged queue, and report the lost records.",
        epilog="exit status: 0 repaired, 1 the repair failed, 2 wrong usage",
    )
    for command in (verify, repair):
        command.add_argument("directory", metavar="DIR", help="the queue's directory")
        command.add_argument("--json", action="store_true", help="print the report as a JSON object")
    where = repair.add_mutually_exclusive_group(required=True)
    where.add_argument("--to", metavar="DIR2", help="make a repaired copy there, and leave the queue as it is")
    where.add_argument("--in-place", action="store_true", help="change the queue itself; asks first")
    repair.add_argument("--yes", action="store_true", help="with --in-place: do not ask")
    repair.add_argument(
        "--reset-clock", action="store_true", help="set timestamps that are ahead of this machine's clock to now"
    )
    repair.set_defaults(run=_repair)
    add_commands(commands)
    return parser, commands.choices


def _print_jar(options: argparse.Namespace) -> int:  # noqa: ARG001
    print(jars.jar_path())
    return DONE


def _verify(options: argparse.Namespace) -> int:
    with ProgressBar(sys.stderr) as bar:
        report = jobs.verify(options.directory, progress=bar.update)
    if options.json:
        print_object(report)
    else:
        print(report)
    return DONE if report.whole else FAILED


def _repair(options: argparse.Namespace) -> int:
    if options.yes and not options.in_place:
        print("mmapqueue repair: --yes needs --in-place", file=sys.stderr)
        return USAGE
    if options.in_place and not options.yes and not _confirmed(options.directory):
        print("mmapqueue repair: nothing was changed", file=sys.stderr)
        return USAGE
    with ProgressBar(sys.stderr) as bar:
        report = jobs.repair(
            options.directory,
            to=options.to,
            in_place=options.in_place,
            reset_clock=options.reset_clock,
            progress=bar.update,
        )
    if options.json:
        print_object(report)
    else:
        print(report)
    return DONE


def _confirmed(directory: str) -> bool:
    if not sys.stdin.isatty():
        print(
            f"mmapqueue repair: --in-place changes {directory} permanently, and there is no terminal to ask at: "
            "add --yes",
            file=sys.stderr,
        )
        return False
    # The report goes to stdout. The end of the input is no.
    print(f"Change {directory} permanently, without a copy? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower().startswith("y")
