"""`mmapqueue adopt`."""

from typing import Annotated

import typer

import mmapqueue
from mmapqueue._cli import new_queue
from mmapqueue._cli.arguments import AsJson, ClassPath
from mmapqueue._cli.output import print_object
from mmapqueue._jvm import archive_jars, standalone
from mmapqueue._values.arguments import absolute, location


def adopt(
    uri: Annotated[
        str, typer.Argument(metavar="URI", help="The archive's URI, or the path of a directory.", show_default=False)
    ],
    directory: Annotated[
        str, typer.Argument(metavar="DIR", help="The directory of the new queue.", show_default=False)
    ],
    *,
    partition: Annotated[
        int, typer.Option(metavar="N", min=0, help="The partition's number in the archive.", show_default=False)
    ],
    capacity: new_queue.Capacity = None,
    settings: new_queue.Settings = None,
    host: Annotated[
        str | None, typer.Option(metavar="NAME", help="The name of this host in the archive; by default its own.")
    ] = None,
    classpath: ClassPath = None,
    as_json: AsJson = False,
) -> None:
    """Create an empty queue that continues a partition of an archive, after the host that shipped it is lost.

    The first record gets the offset after the last record of the archive. The lost host ships nothing any more, should
    it come back: its shipper ends with an error, which names the records that are in its directory alone.
    """
    target = location("URI", uri)
    path = absolute("DIR", directory)
    given = {"archive_uri": target} if host is None else {"archive_uri": target, "archive_host": host}
    configuration = new_queue.configuration(capacity, settings or [], **given)
    standalone.start_quickly()
    archive_jars.add(target, "none", classpath)
    offset = mmapqueue.adopt(path, partition=partition, **configuration)
    if as_json:
        print_object({"partition": partition, "directory": path, "next_offset": offset})
    else:
        print(f"adopted partition {partition} of {target} in {directory}: the first record gets offset {offset}")
    new_queue.report_passing(key for key in configuration if key not in given)
