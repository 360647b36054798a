"""`mmapqueue copy`."""

from typing import Annotated

import typer

from mmapqueue._cli.arguments import AsJson, Directory
from mmapqueue._cli.output import print_object
from mmapqueue._cli.progress import Progress
from mmapqueue._tools import copies
from mmapqueue._tools.reports import CopyReport

Capacity = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Bytes of the ring, such as 512m; by default those of the queue.")
]
SegmentSize = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Bytes of a segment, such as 16m; by default those of the queue.")
]


def copy(
    directory: Directory,
    to: Annotated[str, typer.Option(metavar="DIR2", help="The copy's directory; empty, or one that does not exist.")],
    *,
    capacity: Capacity = None,
    segment_size: SegmentSize = None,
    as_json: AsJson = False,
) -> None:
    """Copy a queue that no process has open, into a ring of another size if wanted. Keeps offsets and consumers."""
    with Progress(of_records=False) as progress:
        report = copies.copy(directory, to, capacity=capacity, segment_size=segment_size, progress=progress.update)
    print_copied(report, as_json=as_json)


def print_copied(report: CopyReport, *, as_json: bool) -> None:
    """Prints the report of a copy or a resize."""
    if as_json:
        print_object(report._asdict())
    else:
        print(report)
