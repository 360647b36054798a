"""`mmapqueue doctor`."""

from pathlib import Path
from typing import Annotated

import typer

from mmapqueue._cli.arguments import AsJson
from mmapqueue._cli.checks import Status, checks
from mmapqueue._cli.output import Column, print_table
from mmapqueue._cli.status import DONE, FAILED
from mmapqueue._values.errors import MmapQueueError


def doctor(
    directory: Annotated[
        str, typer.Argument(metavar="DIR", help="A directory of the disk that queues are to be on.")
    ] = ".",
    *,
    as_json: AsJson = False,
) -> int:
    """Check what queues need: Java, the jar, Spark, locale, disk, limits of the system.

    Prints a line for each check, with what to do. Exit status 1 after an error; warnings are none.
    """
    if not Path(directory).is_dir():
        raise MmapQueueError(f"{directory} is not a directory")
    found = list(checks(directory))
    columns = [
        Column("status", "STATUS", lambda status: status.value),
        Column("check", "CHECK"),
        Column("found", "FOUND"),
        Column("advice", "WHAT TO DO"),
    ]
    print_table(columns, (each._asdict() for each in found), as_json=as_json)
    return FAILED if any(each.status is Status.ERROR for each in found) else DONE
