"""`mmapqueue gc`."""

from mmapqueue._cli.arguments import AsJson, Directory
from mmapqueue._cli.output import print_object
from mmapqueue._cli.queues import open_to_write
from mmapqueue._values.texts import size_text


def gc(directory: Directory, *, as_json: AsJson = False) -> None:
    """Delete the files of a ring that have no retained record. For a queue that no process writes."""
    with open_to_write(directory) as queue:
        released = queue.gc()
    if as_json:
        print_object({"released_bytes": released})
    else:
        print(f"released {size_text(released)} of the disk")
