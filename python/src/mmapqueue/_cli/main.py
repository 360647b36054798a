"""The command line."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from mmapqueue._cli.pipeline_commands import add_commands
from mmapqueue._cli.progress import ProgressBar
from mmapqueue._jvm import jars
from mmapqueue._tools import copies, jobs
from mmapqueue._values.errors import MmapQueueError
from mmapqueue._values.version import __version__

WHOLE = 0
DAMAGED = 1
USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="mmapqueue", description="Persistent queues on memory-mapped files.")
    parser.add_argument("--version", action="version", version=f"mmapqueue {__version__}")
    commands = parser.add_subparsers(title="commands", required=True)
    jar = commands.add_parser(
        "jar",
        help="print the path of the jar",
        description="Print the path of the jar: spark-submit --jars $(mmapqueue jar) …",
    )
    jar.set_defaults(run=_print_jar)
    verify = commands.add_parser(
        "verify",
        help="report damage in a queue",
        description="Report damage in a queue that no process writes; change nothing.",
        epilog="exit status: 0 whole, 1 damage was found or the queue could not be read, 2 wrong usage",
    )
    verify.add_argument("directory", metavar="DIR", help="the queue's directory")
    verify.set_defaults(run=_verify)
    repair = commands.add_parser(
        "repair",
        help="repair a damaged queue",
        description="Repair a damaged queue, and report the lost records.",
        epilog="exit status: 0 repaired, 1 the repair failed, 2 wrong usage",
    )
    repair.add_argument("directory", metavar="DIR", help="the queue's directory")
    where = repair.add_mutually_exclusive_group(required=True)
    where.add_argument("--to", metavar="DIR2", help="make a repaired copy there, and leave the queue as it is")
    where.add_argument("--in-place", action="store_true", help="change the queue itself; asks first")
    repair.add_argument("--yes", action="store_true", help="with --in-place: do not ask")
    repair.add_argument(
        "--reset-clock", action="store_true", help="set timestamps that are ahead of this machine's clock to now"
    )
    repair.set_defaults(run=_repair)
    _add_copy(commands)
    add_commands(commands)
    options = parser.parse_args(arguments)
    try:
        status: int = options.run(options)
    except MmapQueueError as error:
        parser.exit(DAMAGED, f"mmapqueue: {error}\n")
    return status


def _add_copy(commands: Any) -> None:
    copy = commands.add_parser(
        "copy",
        help="copy a queue, into a ring of another size",
        description="Copy a queue that no process has open; offsets and consumers are kept.",
        epilog="exit status: 0 copied, 1 the copy failed, 2 wrong usage",
    )
    copy.add_argument("directory", metavar="DIR", help="the queue's directory")
    copy.add_argument("--to", metavar="DIR2", required=True, help="the directory of the copy; empty, or not there")
    resize = commands.add_parser(
        "resize",
        help="give a queue a ring of another size",
        description="Give a queue that no process has open a ring of another size, in place.",
        epilog="exit status: 0 resized, 1 the resize failed, 2 wrong usage",
    )
    resize.add_argument("directory", metavar="DIR", help="the queue's directory")
    for command in (copy, resize):
        command.add_argument(
            "--capacity",
            metavar="SIZE",
            required=command is resize,
            help="bytes of all segment files, or such as 512m; default: those of the queue",
        )
        command.add_argument(
            "--segment-size",
            metavar="SIZE",
            help="bytes of a segment file, or such as 16m; default: those of the queue",
        )
        command.set_defaults(run=_copy)
    resize.set_defaults(to=None)


def _copy(options: argparse.Namespace) -> int:
    with ProgressBar(sys.stderr) as bar:
        report = (
            copies.resize(options.directory, options.capacity, segment_size=options.segment_size, progress=bar.update)
            if options.to is None
            else copies.copy(
                options.directory,
                options.to,
                capacity=options.capacity,
                segment_size=options.segment_size,
                progress=bar.update,
            )
        )
    print(report)
    return WHOLE


def _print_jar(options: argparse.Namespace) -> int:  # noqa: ARG001
    print(jars.jar_path())
    return WHOLE


def _verify(options: argparse.Namespace) -> int:
    with ProgressBar(sys.stderr) as bar:
        report = jobs.verify(options.directory, progress=bar.update)
    print(report)
    return WHOLE if report.whole else DAMAGED


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
    print(report)
    return WHOLE


def _confirmed(directory: str) -> bool:
    if not sys.stdin.isatty():
        print(
            f"mmapqueue repair: --in-place changes {directory} permanently, and there is no terminal to ask at: "
            "add --yes",
            file=sys.stderr,
        )
        return False
    return input(f"Change {directory} permanently, without a copy? [y/N] ").strip().lower().startswith("y")
