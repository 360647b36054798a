"""How many requests an archive makes: what a bucket's owner pays for. The figures of docs/scale.md are printed here."""

from __future__ import annotations

from typing import Any

import mmapqueue
from conftest import Open
from mmapqueue._jvm import standalone
from s3.store import Store, report

RUNS = 20


def ship(queue: mmapqueue.Queue[bytes], runs: int) -> None:
    for number in range(runs):
        queue.push(b"%d" % number * 100, shipped=True)


def test_requests_of_a_shipper(store: Store, archive: str, open_queue: Open) -> None:
    # Compaction looks at the archive at most every few seconds with this period.
    queue = open_queue(archive_uri=archive, ship_period="1s", flush_period="10ms")
    ship(queue, 1)
    report("the first start of a shipper and its first run", store.counts())
    queue.close()
    queue = open_queue(archive_uri=archive, ship_period="1s", flush_period="10ms")
    ship(queue, 1)
    report("a later start of a shipper and its first run", store.counts())
    ship(queue, RUNS)
    found = report("a run of a shipper, with its share of compaction", store.counts(), RUNS)
    assert RUNS <= found["PutObject"] <= 2 * RUNS
    assert found["DeleteObject"] <= RUNS


def test_requests_of_a_reader(store: Store, archive: str, open_queue: Open) -> None:
    queue = open_queue(archive_uri=archive, ship_period="10ms", flush_period="10ms")
    ship(queue, 5)
    queue.close()
    jvm: Any = standalone.jvm()
    files = jvm.org.mmapqueue.archive.files.Archives.files(jvm.java.net.URI.create(archive))
    one = jvm.org.mmapqueue.archive.Archive.open(files)
    store.counts()
    (entry,) = one.partitions()
    report("the list of partitions, first time (one partition)", store.counts())
    one.partitions()
    report("the list of partitions again", store.counts())
    partition = one.partition(entry)
    partition.refresh()
    report("the first refresh of a partition (one bucket directory)", store.counts())
    for _ in range(10):
        partition.refresh()
    found = report("a refresh of a partition", store.counts(), 10)
    assert found.total() <= 30
    assert set(found) == {"ListObjectsV2"}
    offsets = jvm.java.util.HashMap()
    offsets.put(0, 1 << 40)  # py4j makes an Integer of a smaller one
    store.counts()
    one.commit("figures", "label", offsets)
    found = report("a commit of a consumer", store.counts())
    assert found["PutObject"] == 1
