"""`mmapqueue repair`."""

import sys
from typing import Annotated

import typer

from mmapqueue._cli.arguments import AsJson, Directory
from mmapqueue._cli.output import print_error, print_object
from mmapqueue._cli.progress import Progress
from mmapqueue._cli.status import DONE, USAGE
from mmapqueue._tools import jobs


def repair(
    directory: Directory,
    *,
    to: Annotated[
        str | None, typer.Option(metavar="DIR2", help="Make a repaired copy there, and leave the queue as it is.")
    ] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Change the queue itself; asks first.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --in-place: do not ask.")] = False,
    reset_clock: Annotated[
        bool,
        typer.Option("--reset-clock", help="Set timestamps that are ahead of this machine's clock to now."),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Repair a damaged queue, and report the lost records.

    Exit status: 0 repaired, 1 the repair failed, 2 wrong usage.
    """
    if (to is None) != in_place:
        raise typer.BadParameter("give --to DIR2, or --in-place")
    if yes and not in_place:
        raise typer.BadParameter("--yes needs --in-place")
    if in_place and not yes and not _confirmed(directory):
        print_error("nothing was changed")
        return USAGE
    with Progress(of_records=False) as progress:
        report = jobs.repair(directory, to=to, in_place=in_place, reset_clock=reset_clock, progress=progress.update)
    if as_json:
        print_object(report)
    else:
        print(report)
    return DONE


def _confirmed(directory: str) -> bool:
    if not sys.stdin.isatty():
        print_error(f"--in-place changes {directory} permanently, and there is no terminal to ask at: add --yes")
        return False
    # The report goes to stdout. The end of the input is no.
    print(f"Change {directory} permanently, without a copy? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower().startswith("y")
