"""How many MB/s are shipped into an archive, and read from it, by one host and by three."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cluster.clusters import Cluster
from cluster.hosts import Host

#: Bytes of a record.
_SIZE = 1024


def measure(made: Cluster, megabytes: int) -> list[dict[str, Any]]:
    """Ships queues of `megabytes` MB, of the first host and then of all; then reads both archives."""
    counts = (1, len(made.hosts))
    results = [_shipped(made, made.hosts[:count], megabytes) for count in counts]
    for result, read in zip(results, _read(made, [f"/throughput-{count}" for count in counts]), strict=True):
        assert read["records"] == result["records"], (read, result)
        result["read_seconds"] = read["seconds"]
        result["read_mb_per_second"] = round(read["bytes"] / 1e6 / min(read["seconds"]), 1)
    return results


def _shipped(made: Cluster, hosts: list[Host], megabytes: int) -> dict[str, Any]:
    name = f"throughput-{len(hosts)}"
    records = megabytes * 10**6 // _SIZE
    for host in hosts:
        load = ("--rate", 10**9, "--size", _SIZE, "--count", records, "--capacity", f"{2 * megabytes}m")
        writer = made.writer(host, *load, "--consumer=ship", name=name)
        assert writer.wait(300) == 0, writer.tail()
    shippers = [
        made.shipper(host, made.queue(host, name), f"{made.hdfs.uri}/{name}", "--period", "1s") for host in hosts
    ]
    shipped: dict[str, int] = {}
    while sum(shipped.values()) < records * len(hosts):
        runs = [entry for entry in made.hdfs.files(f"/{name}/data") if entry.path.endswith(".run")]
        for entry in runs:
            partition = entry.path.split("/")[-3]
            shipped[partition] = max(shipped.get(partition, 0), int(Path(entry.path).name.split("-")[1]))
        for shipper in shippers:
            assert shipper.status is None, shipper.tail()
    # Without the start of the JVMs: from the first run to the last one, of which there are many.
    times = sorted(entry.modified_millis for entry in runs)
    for shipper in shippers:
        shipper.kill()
    return {
        "hosts": len(hosts),
        "records": records * len(hosts),
        "bytes": records * len(hosts) * _SIZE,
        "runs": len(runs),
        "ship_mb_per_second": round(records * len(hosts) * _SIZE / 1e3 / (times[-1] - times[0]), 1),
    }


def _read(made: Cluster, archives: list[str]) -> list[dict[str, Any]]:
    properties = {
        **made.spark.properties(made.hub),
        "spark.driver.extraClassPath": str(made.hdfs.configuration),
        "spark.executor.extraClassPath": str(made.hdfs.configuration),
    }
    uris = [made.hdfs.uri + archive for archive in archives]
    job = made.python(made.hub, "read", Path(__file__).with_name("read_job.py"), json.dumps(properties), *uris)
    assert job.wait(600) == 0, job.tail()
    return [json.loads(line) for line in job.said().splitlines() if line.startswith('{"records"')]
