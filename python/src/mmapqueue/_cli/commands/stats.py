"""`mmapqueue stats`."""

from mmapqueue._cli.arguments import AsJson, Directory
from mmapqueue._cli.output import print_facts, print_object
from mmapqueue._cli.owners import Owner
from mmapqueue._cli.queues import open_to_read
from mmapqueue._values.texts import size_text


def stats(directory: Directory, *, as_json: AsJson = False) -> None:
    """Show how full a queue is, what holds it, and which process writes it. Runs beside that process."""
    with open_to_read(directory) as queue:
        found = queue.stats()
        path = queue.path
    writer = Owner.of_queue(path)
    if as_json:
        values = {name: value for name, value in found._asdict().items() if not name.endswith("_per_second")}
        values |= {f"writer_{name}": writer and getattr(writer, name) for name in Owner._fields}
        print_object({"path": path, "written": writer is not None, **values})
        return
    first, end = found.first_offset, found.end_offset
    print_facts(
        {
            "queue": path,
            "records": f"{found.records} not acked by every consumer",
            "offsets": f"{first} to {end - 1} retained" if end > first else f"none retained; the next one is {end}",
            "fill": f"{found.fill:.1%} of {size_text(found.capacity)}",
            "segments": f"{found.segments_in_use} of {found.capacity_segments}, {size_text(found.segment_size)} each",
            "held by": found.slowest_consumer or "no consumer: the queue retains everything",
            "not durable": size_text(max(0, found.end_position - found.durable_position)),
            "recoveries": str(found.epoch - 1),
            "writer": "none" if writer is None else str(writer),
        },
        cut=("writer",),
    )
