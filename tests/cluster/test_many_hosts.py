"""Queues of three hosts, one stream: each record once, in order, with its offset, whatever is killed."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator

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
        stream.await_(lambda: full(stream))
        assert {host: count for host, count in stream.pushed().items() if count <= before[host]} == {}
        made.hdfs.name_node.restart()
        waiting = stream.pushed()
        stream.await_(lambda: all(count > waiting[host] + 5000 for host, count in stream.pushed().items()))
        ended_with_each_record_once(stream)
    finally:
        made.hdfs.name_node.restart()
        stream.kill()


def full(stream: Stream) -> bool:
    """Whether no producer gets on."""
    before = stream.pushed()
    # Producers push all the time while they have room; no other process sees whether their queues are full.
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
        print(dict(faults.struck), pushed, "queries that have ended by themselves:", stream.restarts)
    finally:
        stream.kill()
