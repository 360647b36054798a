"""Queues of three hosts, one stream: each record once, in order, with its offset, whatever is killed."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator

import pytest

from cluster.clusters import Cluster, cluster
from cluster.faults import Faults
from cluster.stream import Stream

FAULTS = int(os.environ.get("MMAPQUEUE_CLUSTER") or 12)
SEED = int(os.environ.get("SEED") or random.randrange(1 << 30))

pytestmark = pytest.mark.timeout(600 + 30 * FAULTS)


@pytest.fixture(scope="module")
def made() -> Iterator[Cluster]:
    with cluster("hosts") as found:
        yield found


def await_(condition: Callable[[], bool], stream: Stream, seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, stream.driver.tail()
        time.sleep(0.2)


def ended_with_each_record_once(stream: Stream) -> dict[str, int]:
    pushed = stream.end()
    stream.await_rows(pushed)
    assert stream.sink.faults(pushed, pushed) == []
    return pushed


@pytest.mark.parametrize("shipping", ["thread", "process"])
def test_each_record_of_three_hosts_comes_once_in_order_with_its_offset(made: Cluster, shipping: str) -> None:
    stream = Stream(made, f"once-{shipping}", "--rate", 2000, shipping=shipping)
    try:
        stream.await_rows({host.name: 5000 for host in made.hosts})
        pushed = ended_with_each_record_once(stream)
        assert min(pushed.values()) >= 5000
    finally:
        stream.kill()


def test_a_full_ring_waits_while_the_file_system_is_away(made: Cluster) -> None:
    # 1 MiB is full after 4 s.
    stream = Stream(made, "away", "--rate", 1000, "--size", 250, "--capacity", "1m", shipping="thread")
    try:
        stream.await_rows({host.name: 1000 for host in made.hosts})
        made.hdfs.name_node.kill()
        before = stream.pushed()
        await_(lambda: full(stream), stream)
        assert {host: count for host, count in stream.pushed().items() if count <= before[host]} == {}
        made.hdfs.name_node.restart()
        waiting = stream.pushed()
        await_(lambda: all(count > waiting[host] + 5000 for host, count in stream.pushed().items()), stream)
        ended_with_each_record_once(stream)
    finally:
        made.hdfs.name_node.restart()
        stream.kill()


def full(stream: Stream) -> bool:
    """Whether no producer gets on."""
    before = stream.pushed()
    time.sleep(3)
    return stream.pushed() == before


def test_faults_at_random_lose_no_record_and_make_none_twice(made: Cluster) -> None:
    print(f"{FAULTS} faults, SEED={SEED}")
    stream = Stream(made, "faults", "--rate", 300)
    try:
        stream.await_rows({host.name: 100 for host in made.hosts})
        faults = Faults(stream, SEED)
        faults.run(FAULTS, lambda line: print(line, flush=True))
        made.hdfs.await_data_nodes(len(made.hosts))
        pushed = ended_with_each_record_once(stream)
        print(dict(faults.struck), pushed)
    finally:
        stream.kill()


def test_what_returned_as_shipped_is_read_after_its_host_is_lost() -> None:
    # A cluster of its own: the host does not come back.
    with cluster("lost") as made:
        stream = Stream(made, "lost", "--rate", 500, "--shipped", shipping="thread")
        lost = made.hosts[-1]
        stream.await_rows({host.name: 1000 for host in made.hosts})
        lost.lose()
        promised = stream.pushed()
        writers = {name: writer for name, writer in stream.writers.items() if name != lost.name}
        before = stream.pushed()
        await_(lambda: all(stream.pushed()[name] > before[name] + 2000 for name in writers), stream)
        for writer in writers.values():
            writer.stop(120)
        pushed = stream.pushed()
        stream.await_rows(pushed)
        # The batch that was under way may have been shipped, too.
        most = {**pushed, lost.name: promised[lost.name] + 5000}
        assert stream.sink.faults(pushed, most) == []
