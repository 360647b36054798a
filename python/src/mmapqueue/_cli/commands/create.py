"""`mmapqueue create`."""

from typing import Any

import mmapqueue
from mmapqueue._cli import new_queue
from mmapqueue._cli.arguments import AsJson, Directory
from mmapqueue._cli.output import print_object
from mmapqueue._cli.queues import existing
from mmapqueue._jvm import standalone
from mmapqueue._values.arguments import absolute
from mmapqueue._values.errors import MmapQueueError, NotFound
from mmapqueue._values.texts import size_text


def create(
    directory: Directory,
    *,
    capacity: new_queue.Capacity = None,
    settings: new_queue.Settings = None,
    as_json: AsJson = False,
) -> None:
    """Create an empty queue in a directory that has none."""
    configuration = new_queue.configuration(capacity, settings or [])
    with _new(directory, configuration) as queue:
        config = queue.config
    if as_json:
        print_object(config)
    else:
        segments, size = config["queue_capacity_segments"], config["segment_size"]
        print(
            f"created {directory}: a ring of {size_text(segments * size)} in {segments} segments of "
            f"{size_text(size)}, records of up to {size_text(config['max_event_size'])}"
        )
    new_queue.report_passing(configuration)


def _new(directory: str, configuration: dict[str, Any]) -> mmapqueue.Queue[bytes]:
    """Opens a queue in a directory that has none.

    Raises:
        MmapQueueError: The directory has a queue.
    """
    try:
        path = existing(directory)
    except NotFound:
        standalone.start_quickly()
        return mmapqueue.Queue(absolute("DIR", directory), **configuration)
    raise MmapQueueError(f"there is a queue in {path}: nothing was changed")
