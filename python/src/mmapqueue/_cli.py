"""The command line."""

import argparse
from collections.abc import Sequence

from mmapqueue import _jars
from mmapqueue._errors import MmapQueueError
from mmapqueue._version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; what it returns is the exit status."""
    parser = argparse.ArgumentParser(prog="mmapqueue", description="Persistent queues on memory-mapped files.")
    parser.add_argument("--version", action="version", version=f"mmapqueue {__version__}")
    commands = parser.add_subparsers(title="commands", required=True)
    jar = commands.add_parser(
        "jar",
        help="print the path of the jar",
        description="Print the path of the jar: spark-submit --jars $(mmapqueue jar) …",
    )
    jar.set_defaults(run=_print_jar)
    options = parser.parse_args(arguments)
    try:
        options.run()
    except MmapQueueError as error:
        parser.exit(1, f"mmapqueue: {error}\n")
    return 0


def _print_jar() -> None:
    print(_jars.jar_path())
