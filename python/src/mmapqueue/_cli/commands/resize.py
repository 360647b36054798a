"""`mmapqueue resize`."""

from typing import Annotated

import typer

from mmapqueue._cli.arguments import AsJson, Directory
from mmapqueue._cli.commands.copy import SegmentSize, print_copied
from mmapqueue._cli.progress import Progress
from mmapqueue._tools import copies


def resize(
    directory: Directory,
    capacity: Annotated[str, typer.Option(metavar="SIZE", help="Bytes of the new ring, such as 512m.")],
    *,
    segment_size: SegmentSize = None,
    as_json: AsJson = False,
) -> None:
    """Give a queue that no process has open a ring of another size, in place. Keeps offsets and consumers."""
    with Progress(of_records=False) as progress:
        report = copies.resize(directory, capacity, segment_size=segment_size, progress=progress.update)
    print_copied(report, as_json=as_json)
