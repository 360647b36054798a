"""Measures ways from the queues of three hosts to one shared file system, each with the same load, one after the other.

python -m hosts_bench [--rate 1000] [--size 200] [--seconds 60] [--only REGEX] [--json FILE]

The hosts are namespaces of this machine: tests/cluster/README.md. It must run in namespaces of its own, as root.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

from bench_report import machine
from cluster.clusters import Cluster, cluster
from cluster.hosts import Process

from . import throughput
from .latency import percentiles, pushes
from .report import tables
from .subjects import Archive, ParquetJobs, Subject
from .usage import Usage, usage

_JSON = Path(__file__).resolve().parents[3] / "build" / "bench" / "hosts" / "hosts.json"
#: Between two samples of memory.
_SAMPLE = 1.0


def subjects() -> list[Subject]:
    """All that are compared."""
    return [
        Archive("archive process"),
        Archive("archive thread", thread=True),
        Archive("archive thread 250 ms", thread=True, period="250ms", flush="250ms"),
        ParquetJobs("1 second"),
        ParquetJobs("10 seconds"),
    ]


def main() -> None:
    """Measures and writes the results."""
    parser = argparse.ArgumentParser(prog="hosts_bench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rate", type=int, default=1000, help="records a second and host (%(default)s)")
    parser.add_argument("--size", type=int, default=200, help="bytes of a record (%(default)s)")
    parser.add_argument("--warm-up", type=float, default=30, help="seconds that do not count (%(default)s)")
    parser.add_argument("--seconds", type=float, default=60, help="seconds that count (%(default)s)")
    parser.add_argument("--only", default="", help="regular expression of the subjects' names")
    parser.add_argument(
        "--megabytes", type=int, default=256, help="MB of a host that are shipped and read (%(default)s)"
    )
    parser.add_argument("--json", type=Path, default=_JSON, help="file of the results (%(default)s)")
    options = parser.parse_args()
    results, rates = [], []
    load = os.getloadavg()[0]
    with cluster("bench", spark=False) as made:
        for subject in subjects():
            if re.search(options.only, subject.name):
                print(subject.name, file=sys.stderr, flush=True)
                results.append(measure(made, subject, options))
                print(json.dumps(results[-1]), file=sys.stderr, flush=True)
    if re.search(options.only, "throughput"):
        with cluster("bench", spark=True) as made:
            rates = throughput.measure(made, options.megabytes)
    content = {
        "machine": machine.facts(made.root),
        "date": date.today().isoformat(),
        "load": [round(load, 2), round(os.getloadavg()[0], 2)],
        "hosts": len(made.hosts),
        "rate": options.rate,
        "bytes": options.size,
        "results": results,
        "throughput": rates,
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(tables(content))


def measure(made: Cluster, subject: Subject, options: argparse.Namespace) -> dict[str, Any]:
    """Runs one subject on all hosts, and returns its figures."""
    load = ("--rate", options.rate, "--size", options.size, *subject.options(made))
    writers = {host.name: made.writer(host, *load, name=subject.name) for host in made.hosts}
    jobs: dict[str, Process] = {}
    for host in made.hosts:
        job = subject.start(made, host)
        if job:
            jobs[host.name] = job
    pause(made, subject, options.warm_up, {})
    names = [*jobs, *(f"writer {name}" for name in writers)]
    processes = dict(zip(names, [*jobs.values(), *writers.values()], strict=True))
    before = {name: usage(process.members()) for name, process in processes.items()}
    requests = made.hdfs.requests()
    start, start_nanos = time.monotonic(), time.time_ns()
    peaks = pause(made, subject, options.seconds, processes)
    taken = {name: usage(process.members()).over(before[name]) for name, process in processes.items()}
    asked = made.hdfs.requests()
    seconds, end_nanos = time.monotonic() - start, time.time_ns()
    for writer in writers.values():
        writer.stop()
    latencies = await_visible(made, subject, start_nanos, end_nanos)
    files = [
        entry
        for entry in made.hdfs.files(subject.directory())
        if start_nanos / 1e6 <= entry.modified_millis <= end_nanos / 1e6
    ]
    for job in jobs.values():
        job.kill()
    return {
        "subject": subject.name,
        "seconds": round(seconds, 1),
        "latency_ms": latencies,
        "job_cpu_percent": [round(100 * taken[name].cpu_seconds / seconds, 1) for name in jobs],
        "job_pss_mib": [round(max(taken[name].pss, peaks[name].pss) / 2**20) for name in jobs],
        "job_rss_mib": [round(max(taken[name].rss, peaks[name].rss) / 2**20) for name in jobs],
        "writer_cpu_percent": [round(100 * taken[f"writer {name}"].cpu_seconds / seconds, 1) for name in writers],
        "writer_pss_mib": [round(peaks[f"writer {name}"].pss / 2**20) for name in writers],
        "files": len(files),
        "file_bytes": sum(entry.length for entry in files),
        "requests": {
            name: count - requests.get(name, 0) for name, count in asked.items() if count > requests.get(name, 0)
        },
    }


def pause(made: Cluster, subject: Subject, seconds: float, processes: dict[str, Process]) -> dict[str, Usage]:
    """Waits, and returns the most memory that processes had."""
    peaks = {name: Usage() for name in processes}
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(left, _SAMPLE))
        subject.look(made)
        for name, process in processes.items():
            peaks[name] = usage(process.members()).over(peaks[name])
    return peaks


def await_visible(
    made: Cluster, subject: Subject, start: int, end: int, seconds: float = 120
) -> list[dict[str, float]]:
    """Latencies of each host's records that were pushed in a time, once all of them are visible."""
    deadline = time.monotonic() + seconds
    while True:
        subject.look(made)
        try:
            found = []
            for host in made.hosts:
                counted = [
                    push
                    for push in pushes(made.queue(host, subject.name).parent / "batches")
                    if start <= push.nanos <= end
                ]
                found.append(percentiles(counted, subject.visible(made, host)))
            return found
        except ValueError:
            if time.monotonic() > deadline:
                raise
            time.sleep(1)


if __name__ == "__main__":
    main()
