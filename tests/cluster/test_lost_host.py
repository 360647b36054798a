"""A host that is lost with its disk: what it had shipped is read."""

from __future__ import annotations

from cluster.clusters import cluster
from cluster.stream import Stream


def test_what_returned_as_shipped_is_read_after_its_host_is_lost() -> None:
    with cluster("lost") as made:
        stream = Stream(made, "lost", "--rate", 500, "--shipped", shipping="thread")
        lost = made.hosts[-1]
        stream.await_rows({host.name: 1000 for host in made.hosts})
        lost.lose()
        promised = stream.pushed()
        writers = {name: writer for name, writer in stream.writers.items() if name != lost.name}
        before = stream.pushed()
        stream.await_(lambda: all(stream.pushed()[name] > before[name] + 2000 for name in writers))
        for writer in writers.values():
            writer.stop(120)
        pushed = stream.pushed()
        stream.await_rows(pushed)
        # The batch in progress may have been shipped, too.
        most = {**pushed, lost.name: promised[lost.name] + 5000}
        assert stream.sink.faults(pushed, most) == []
