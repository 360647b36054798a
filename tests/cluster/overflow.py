"""Measures a queue that overflows into an archive, and checks each record that comes back.

    python -m cluster.overflow GIB
    python -m cluster.overflow GIB DIRECTORY

A writer pushes GIB GiB into a ring of 64 MiB at full rate, while no consumer reads. Then processes of their own, which
have no option of an archive, read all of it: by offset, as a consumer, and as another consumer while a data node and
then the name node are killed. Each must get each record once, in order. The archive is on HDFS, and all of it runs in
namespaces of its own, as root: `make bench-overflow`. With a DIRECTORY, queue and archive are there, and nothing is
killed: `make bench-overflow-files`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import mmapqueue
from cluster.clusters import Cluster, cluster
from cluster.hosts import Process
from hosts_bench.usage import usage
from mmapqueue._jvm import jars

#: 64-bit numbers of a record: each is the record's offset.
_WORDS = 128
_SIZE = 8 * _WORDS
#: Records of a push.
_BATCH = 1024
#: Seconds for which the name node is away.
_OUTAGE = 20
#: The timeout of a pop during the outages, in seconds.
_PATIENCE = 5.0
#: What a line of figures begins with.
_BEGIN = '{"what"'


def main() -> None:
    """Runs the role that the arguments name, or all of them."""
    role, *arguments = sys.argv[1:]
    if role == "push":
        _push(*arguments)
    elif role == "scan":
        _scan(*arguments)
    elif role == "consume":
        _consume(*arguments)
    elif arguments:
        _measure_files(Path(arguments[0]), _records(role))
    else:
        with cluster("overflow", spark=False) as made:
            _measure(made, _records(role))


def _records(gib: str) -> int:
    return int(float(gib) * 2**30) // _SIZE // _BATCH * _BATCH


def _measure_files(root: Path, records: int) -> None:
    """Runs one role after the other in this directory, beside the writer, which stays open."""
    root.mkdir(parents=True)
    archive, queue = root / "archive", root / "queue"

    def start(*arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen([*map(str, arguments)], stdout=subprocess.PIPE, text=True)

    def role(name: str, *arguments: object) -> subprocess.Popen[str]:
        return start(sys.executable, "-m", "cluster.overflow", name, queue, records, *arguments)

    def figures(process: subprocess.Popen[str]) -> dict[str, Any]:
        line = next(line for line in process.stdout or () if line.startswith(_BEGIN))
        print(line, end="", flush=True)
        found: dict[str, Any] = json.loads(line)
        return found

    def ended(reader: subprocess.Popen[str]) -> None:
        with reader:
            figures(reader)
        if reader.returncode:
            raise RuntimeError(f"{reader.args!r} ended with {reader.returncode}")

    with role("push", archive) as writer:
        try:
            ring = figures(writer)["archived"]
            scan = [
                "java",
                "-Xmx320m",
                "-XX:+UseSerialGC",
                "-cp",
                os.pathsep.join(map(str, jars.standalone_class_path())),
            ]
            program = Path(__file__).with_name("ArchiveScan.java")
            ended(start(*scan, program, archive.as_uri(), ring))
            ended(role("scan"))
            ended(role("consume", "steady"))
        finally:
            writer.terminate()


def _measure(made: Cluster, records: int) -> None:
    host = made.hosts[0]
    directory = host.directory / "queue"

    def start(role: str, *arguments: object) -> Process:
        log = f"overflow-{arguments[0]}" if role == "consume" else f"overflow-{role}"
        return made.python(host, log, Path(__file__), role, directory, records, *arguments)

    def ended(process: Process) -> None:
        if process.wait(3600):
            raise RuntimeError(process.tail())
        _say(**_figures(process))

    archive = f"{made.hdfs.uri}/archive"
    writer = start("push", archive)
    writer.await_word(_BEGIN, 3600)
    _say(**_figures(writer))
    class_path = os.pathsep.join([*map(str, jars.standalone_class_path()), made.hdfs.client])
    program = str(Path(__file__).with_name("ArchiveScan.java"))
    scan = [
        "java",
        "-Xmx320m",
        "-XX:+UseSerialGC",
        "-cp",
        class_path,
        program,
        archive,
        str(_figures(writer)["archived"]),
    ]
    ended(host.start(scan, made.root / "logs" / "overflow-reader.log"))
    ended(start("scan"))
    ended(start("consume", "steady"))
    reader = start("consume", "struck")
    data_node, name_node = made.hdfs.data_nodes[host.name], made.hdfs.name_node
    _strike(reader, "at 20 %", data_node)
    # The reader goes on meanwhile.
    _strike(reader, "at 40 %", name_node)
    time.sleep(_OUTAGE)
    data_node.restart()
    name_node.restart()
    ended(reader)
    if writer.stop():
        raise RuntimeError(writer.tail())


def _strike(reader: Process, word: str, node: Process) -> None:
    """Kills a node when the reader has said a word, before it reads on."""
    reader.await_word(word, 600)
    reader.signal(signal.SIGSTOP)
    node.kill()
    reader.signal(signal.SIGCONT)


def _figures(process: Process) -> dict[str, Any]:
    found: dict[str, Any] = next(json.loads(line) for line in process.said().splitlines() if line.startswith(_BEGIN))
    return found


def _push(directory: str, count: str, archive: str) -> None:
    records = int(count)
    ending: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: ending.append(number))
    with mmapqueue.Queue(directory, capacity="64m", archive_uri=archive, overflow="archive") as queue:
        for name in ("steady", "struck"):
            queue.create_consumer(name)
        resident: list[int] = []
        sampler = threading.Thread(target=_sample, args=(resident,), daemon=True)
        sampler.start()
        longest, start = 0.0, time.monotonic()
        offsets = pa.py_buffer(np.arange(_BATCH + 1, dtype=np.int32) * _SIZE)
        for first in range(0, records, _BATCH):
            values = np.repeat(np.arange(first, first + _BATCH, dtype=np.uint64), _WORDS)
            column = pa.Array.from_buffers(pa.binary(), _BATCH, [None, offsets, pa.py_buffer(values)])
            batch = pa.record_batch({"value": column})
            before = time.monotonic()
            queue.push_arrow(batch)
            longest = max(longest, time.monotonic() - before)
        seconds = time.monotonic() - start
        queue.await_shipped(records - 1)
        shipped = time.monotonic() - start
        quarter = max(1, len(resident) // 4)
        _say(
            what="push",
            mb_per_second=_rate(records, seconds),
            shipped_mb_per_second=_rate(records, shipped),
            longest_batch_seconds=round(longest, 2),
            jvm_rss_mib_of_quarters=[max(resident[at : at + quarter]) >> 20 for at in range(0, 4 * quarter, quarter)],
            archived=queue.first_offset(),
        )
        while not ending:
            time.sleep(0.1)


def _sample(resident: list[int]) -> None:
    me = str(os.getpid())
    while True:
        children = Path(f"/proc/{me}/task/{me}/children").read_text().split()
        resident.append(usage(map(int, children)).rss)
        time.sleep(0.5)


def _scan(directory: str, count: str) -> None:
    records = int(count)
    with mmapqueue.Queue(directory, read_only=True) as queue:
        ring = queue.first_offset()
        start = time.monotonic()
        _check(queue.iter_arrow(0, ring), 0, ring)
        _say(what="scan of the archive", mb_per_second=_rate(ring, time.monotonic() - start), records=ring, of=records)


def _consume(directory: str, count: str, name: str) -> None:
    records = int(count)
    errors: list[str] = []
    with mmapqueue.Queue(directory, read_only=True) as queue:
        consumer = queue.consumer(name)
        archived = queue.consumer_stats()[name].archived_records
        start, next_offset, percent, longest = time.monotonic(), 0, 0, 0.0
        last = start
        while next_offset < records:
            try:
                batch = consumer.pop_arrow(timeout=_PATIENCE)
            except mmapqueue.ArchiveError as error:
                errors.append(str(error))
                continue
            if not batch.num_rows:
                continue
            now = time.monotonic()
            longest, last = max(longest, now - last), now
            next_offset = _checked(batch, next_offset)
            consumer.ack(batch)
            while percent < 100 * next_offset // records:
                percent += 1
                print(f"at {percent} %", flush=True)
        seconds = time.monotonic() - start
        _say(
            what=f"consumer {name}",
            mb_per_second=_rate(records, seconds),
            longest_wait_seconds=round(longest, 2),
            archived_at_start=archived,
            errors=len(errors),
            last_error=errors[-1] if errors else None,
        )


def _check(batches: Iterator[pa.RecordBatch], first: int, end: int) -> None:
    for batch in batches:
        first = _checked(batch, first)
    if first != end:
        raise AssertionError(f"ends at {first}, not {end}")


def _checked(batch: pa.RecordBatch, first: int) -> int:
    """Returns the offset after a batch, all bytes of which must be those of the records from `first` on."""
    count: int = batch.num_rows
    values = batch["value"]
    numbers = np.arange(first, first + count, dtype=np.uint64)
    start = np.frombuffer(values.buffers()[1], np.int32)[values.offset]
    words = np.frombuffer(values.buffers()[2], np.uint64, count * _WORDS, start).reshape(count, _WORDS)
    if not (np.array_equal(batch["offset"], numbers) and (words == numbers[:, None]).all()):
        raise AssertionError(f"not the records from {first} on: {batch['offset'][0]} to {batch['offset'][-1]}")
    return first + count


def _rate(records: int, seconds: float) -> float:
    return round(records * _SIZE / 1e6 / seconds, 1)


def _say(**figures: Any) -> None:
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
