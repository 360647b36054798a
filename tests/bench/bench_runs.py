"""Invents the raw results of a benchmark run, in the formats of the benchmarks."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PARTS = ("jmh", "latency", "pipeline", "python", "real-time", "scale", "spark")

#: MB/s of 1 KiB in each round; the records of 100 B are as many by the second.
RATES: dict[str, dict[str, Sequence[float]]] = {
    "PushBenchmark.push": {
        "ring": (10_000, 20_000, 4_000),
        "queue": (7_000, 10_000, 3_000),
        "chronicle": (2_000, 2_500, 1_500),
    },
    "PopBenchmark.pop": {
        "ring": (20_000, 20_000, 20_000),
        "queue": (12_000, 11_000, 13_000),
        "chronicle": (30_000, 14_000, 13_000),
    },
    "PipeBenchmark.pipe": {
        "ring": (8_000, 8_000, 8_000),
        "queue": (4_000, 5_000, 6_000),
        "chronicle": (1_000, 1_000, 1_000),
    },
}
LARGE = {"segment": 64 << 20, "capacity": 16, "mapped": 16}
SMALL = {"segment": 128 << 10, "capacity": 4000, "mapped": 4000}
DEFAULTS = {"segment": 8 << 20, "capacity": 64, "mapped": 64}


def jmh(benchmark: str, subject: str, per_second: Sequence[float], **parameters: object) -> dict[str, Any]:
    """Returns one result as JMH writes it, with its statistics and the paths of the JVM."""
    usual = {"subject": subject, "payload": 1024, **LARGE, "ceiling": 10_000, "timestamps": "true", "batch": 1}
    if "Pipe" in benchmark:
        usual |= {"producers": 1, "consumers": 1}
    return {
        "jmhVersion": "1.37",
        "benchmark": f"org.mmapqueue.bench.{benchmark}",
        "mode": "thrpt",
        "threads": 1,
        "forks": 1,
        "jvm": "/usr/lib/jvm/a/bin/java",
        "jvmArgs": ["-Dbench.dir=/home/somebody/build/bench"],
        "params": {name: str(value) for name, value in {**usual, **parameters}.items()},
        "primaryMetric": _metric([rate / 1e6 for rate in per_second]),
        "secondaryMetrics": {"allocated": _metric([rate * 8 for rate in per_second]), "records": _metric(per_second)},
    }


def _metric(values: Sequence[float]) -> dict[str, Any]:
    return {
        "score": sum(values) / len(values),
        "scoreError": 1.0,
        "scoreConfidence": [0.0, 2.0],
        "scorePercentiles": {"0.0": min(values), "100.0": max(values)},
        "scoreUnit": "ops/s",
        "rawData": [list(values)],
    }


def records(megabytes: float, payload: int = 1024) -> list[float]:
    """Returns records by the second of three iterations with a median of `megabytes` MB/s."""
    return [megabytes * 1e6 / payload * part for part in (0.9, 1.0, 1.1)]


def throughput() -> dict[str, list[dict[str, Any]]]:
    """Returns JMH's results by file: three rounds of the core, and one of the rest."""
    rounds: dict[str, list[dict[str, Any]]] = {f"round-{number}": [] for number in (1, 2, 3)}
    for benchmark, subjects in RATES.items():
        for subject, rates in subjects.items():
            for number, rate in enumerate(rates, 1):
                for payload in (100, 1024):
                    row = jmh(benchmark, subject, records(rate * payload / 1024, payload), payload=payload)
                    rounds[f"round-{number}"].append(row)
    sync = {"ceiling": 0}
    return {
        **rounds,
        "once": [
            jmh("PushBenchmark.push", "rocksdb", records(200)),
            jmh("PipeBenchmark.pipe", "queue", records(4_000), producers=4, consumers=4),
            jmh("PushBenchmark.push", "queue", records(6_000), batch=100),
            jmh("PopBenchmark.popBatch", "queue", records(15_600), batch=100),
            jmh("PopBenchmark.popMessage", "memcpy", records(10_000)),
            jmh("PopBenchmark.popMessage", "queue", records(7_000)),
            jmh("NewRingBenchmark.push", "queue", records(5_000)),
            *(
                jmh("PushBenchmark.push", subject, records(rate, 8192), payload=8192, **SMALL)
                for subject, rate in (("ring", 4_000), ("queue", 2_000))
            ),
            *(
                jmh(benchmark, subject, records(rate), **DEFAULTS)
                for benchmark in ("NewRingBenchmark.push", "PopBenchmark.pop")
                for subject, rate in (("chronicle", 2_000), ("queue+defaults", 3_500))
            ),
            jmh("SyncBenchmark.pushSync", "write+fsync", [8_000, 8_000], threads=1, **sync),
            jmh("SyncBenchmark.pushSync", "queue", [6_000, 6_000], threads=1, **SMALL, **sync),
            jmh("ColdBenchmark.readFiles", "queue", records(4_000), cold="true"),
            jmh("ColdBenchmark.pop", "queue", records(3_000), cold="true"),
            jmh("GetBenchmark.get", "queue", [1e6, 1e6]),
            jmh("OpenBenchmark.open", "queue", [200, 250, 250], size=1 << 30, tail=0),
            jmh(
                "PushPopBenchmark.pushPop",
                "queue",
                records(2_000),
                payload=8192,
                segment=128 << 10,
                capacity=10_000,
                mapped=10,
            ),
        ],
    }


def latencies() -> list[dict[str, Any]]:
    """Returns two rounds of latencies."""
    base = {"p50": 0.1, "p99": 0.3, "p99.9": 2.0, "p99.99": 40.0, "max": 900.0, "mean": 0.2}
    return [
        {
            "subject": subject,
            "payload_bytes": 1024,
            "segment_bytes": segment,
            "segments": 16,
            "pushes_per_second": 100_000,
            "count": 1000,
            "refused": 0,
            "service_micros": {name: value * slow * late for name, value in base.items()},
            "response_micros": {name: value * slow * late * 3 for name, value in base.items()},
        }
        for late in (1.0, 1.2)
        for subject, segment, slow in (
            ("ring+flush", 64 << 20, 0.5),
            ("queue", 64 << 20, 1.0),
            ("queue", 128 << 10, 1.5),
            ("chronicle", 64 << 20, 3.0),
        )
    ]


def python() -> dict[str, Any]:
    """Returns what the benchmark of the Python module writes."""
    rates = {"mmapqueue": 40_000, "queue.Queue": 900_000, "diskcache.Deque": 9_000}
    results = [
        _python(subject, operation, 1, [rate, rate * 1.1])
        for subject, rate in rates.items()
        for operation in ("push", "pop")
    ]
    for batch in (1, 100, 10_000):
        for operation in ("push_many", "pop_many", "consume"):
            results.append(_python("mmapqueue", operation, batch, [30_000 * batch**0.5, 31_000 * batch**0.5]))
        results.append(_python("diskcache.Deque", "push_many", batch, [9_000 + batch, 9_000 + batch]))
    told = {"version": "1", "fast_path": "put, get", "survives": "nothing"}
    return {
        "rounds": 2,
        "unit_null_call_us": {"mmapqueue": [19.0, 21.0]},
        "subjects": dict.fromkeys(rates, told),
        "missing": {"Redis list": "there is no redis-server"},
        "results": results,
    }


def _python(subject: str, operation: str, batch: int, per_second: Sequence[float]) -> dict[str, Any]:
    return {
        "subject": subject,
        "operation": operation,
        "batch": batch,
        "payload": 1024,
        "per_second": list(per_second),
        "us_per_call": 1e6 * batch / per_second[0],
        "null_calls": [1.2, 1.4] if subject == "mmapqueue" else [],
    }


def scale() -> dict[str, Any]:
    """Returns what the benchmark of large queues writes."""
    mib, gib = 1 << 20, 1 << 30
    levels = (mib, gib, 20 * gib)
    filled = [step * 4 * gib for step in (1, 2, 3, 4, 5, 4, 3, 2, 1, 0)]
    return {
        "size_bytes": 20 * gib,
        "payload_bytes": 1024,
        "segment_bytes": 64 * mib,
        "max_in_mem_segments": 10,
        "jvm_flags": "-Xmx32m",
        "rounds": 2,
        "samples": [
            {
                "phase": "push" if second <= 5 else "pop",
                "seconds": float(second),
                "queued_bytes": queued,
                "ns_per_record": 900.0,
                "rss_bytes": 700 * mib,
                "rss_anon_bytes": 35 * mib,
                "rss_file_bytes": 665 * mib,
                "heap_used_bytes": 6 * mib,
                "heap_live_bytes": 3 * mib,
                "mapped_bytes": 640 * mib + 4096,
            }
            for second, queued in enumerate(filled, 1)
        ],
        "pairs": [
            {"queued_bytes": level, "push_ns": [300.0, 310.0], "pop_ns": [150.0, 152.0], "pair_ns": [450.0, 462.0]}
            for level in levels
        ],
        "open": [{"queued_bytes": level, "open_ms": [20.0, 22.0]} for level in levels],
        "recovery": [
            *({"queued_bytes": level, "tail_bytes": 16 * mib, "open_ms": [40.0, 41.0]} for level in levels),
            *({"queued_bytes": gib, "tail_bytes": tail * mib, "open_ms": [20.0 + tail]} for tail in (1, 64, 256)),
        ],
    }


def spark() -> dict[str, Any]:
    """Returns what the benchmark of the data source writes."""
    seconds = {
        "spark.range": 0.05,
        "queue, value": 0.1,
        "queue, AvailableNow": 0.2,
        "Parquet, value": 0.15,
        "write, queue": 0.3,
        "Kafka 1p, value": 1.0,
        "Kafka 2p, value": 0.6,
        "Kafka 2p, AvailableNow": 0.5,
        "write, Kafka 2p": 1.2,
        "Kafka 2p tuned, value": 0.2,
        "write, Kafka 2p tuned": 0.9,
    }
    # With four times as many rows the start of a query counts less.
    alone = {name: 4 * 0.8 * taken for name, taken in seconds.items() if "Kafka" not in name}
    return {
        "spark": "4.3.0",
        "cores": 2,
        "rounds": 2,
        "results": [
            {
                "workload": name,
                "bytes": payload,
                "rows": rows,
                "seconds": taken,
                "seconds_all": [taken * 0.8, taken, taken * 1.1],
            }
            for rows, workloads in ((4_000_000, alone), (1_000_000, seconds))
            for payload in (100, 1024)
            for name, taken in workloads.items()
        ],
        "kafka": {"tuned read": {"fetch.max.bytes": "1"}},
        "micro_batch_ms_all": {
            "one record": {"queue": [28, 30, 40], "rate": [28, 28, 28]},
            "empty": {"queue": [10, 11, 12], "rate": [9, 10, 11]},
        },
    }


def real_time() -> dict[str, Any]:
    """Returns what the benchmark of real-time mode writes: Kafka takes four times as long."""
    return {
        "spark": "4.2.0",
        "cores": 2,
        "seconds": 20,
        "results": [
            {
                "subject": subject,
                "rate": rate,
                "records": 20 * rate,
                "ms": {"p50.0": base, "p90.0": 2 * base, "p99.0": 8 * base, "p99.9": 10 * base, "p100.0": 20 * base},
                "curve": [[0.0, base / 2], [0.5, base], [0.9, 2 * base], [0.99, 8 * base], [0.999, 10 * base]],
            }
            for subject, slower in (("mmapqueue", 1), ("Kafka", 4))
            for rate, base in ((1000, slower * 1.0), (20_000, slower * 4.0))
        ],
        "kafka": {"broker": {"node.id": "1"}},
    }


def pipeline() -> dict[str, Any]:
    """Two rounds of three servers; gather is 1.6 times the collector at 100 logs a request, and 1.4 times at 1 000."""
    rates = {
        ("mmapqueue gather", 100): [80_000.0, 96_000.0],
        ("bare grpc.aio", 100): [100_000.0, 100_000.0],
        ("OpenTelemetry collector", 100): [50_000.0, 60_000.0],
        ("mmapqueue gather", 1000): [140_000.0, 140_000.0],
        ("bare grpc.aio", 1000): [200_000.0, 200_000.0],
        ("OpenTelemetry collector", 1000): [100_000.0, 100_000.0],
    }
    latency = {"p50": 1.5, "p99": 12.5, "p99.9": 20.0, "max": 31.0}
    mib = 1 << 20
    kill = {"batch": 100, "kills": 3, "repeated": 0, "unanswered": 200, "accepted": 300_000}
    held = {"latency_ms": latency, "cpu_cores": 0.9, "accepted_requests": 30_000, "refused_requests": 0}
    return {
        "rounds": 2,
        "results": [
            {
                "subject": subject,
                "protocol": "grpc",
                "load": "telemetrygen",
                "batch": batch,
                "logs_per_second": per_second,
                "cpu_us_per_log": [8.0, 10.0],
                "disk_bytes_per_log": [] if subject.startswith("bare") else [1100.0, 1102.0],
                "latency_ms": [{}, {}],
                "memory": [
                    {"anonymous": (600 if subject.startswith("Open") else 100) * mib, "file": 50 * mib, "shared": 0}
                ]
                * 2,
            }
            for (subject, batch), per_second in rates.items()
        ],
        "kills": [
            {"subject": "mmapqueue gather", "lost": 0, **kill},
            {"subject": "OpenTelemetry collector", "lost": 7, **kill},
        ],
        "article": [
            {
                "subject": "mmapqueue gather, read by Spark",
                "connections": 1000,
                "asked_logs_per_second": 100_000.0,
                "logs_per_second": 99_500.0,
                "failed_requests": 0,
                "memory": {"anonymous": 120 * mib, "file": 60 * mib, "shared": mib},
                "lost_requests": 0,
                "read_records": 30_000,
                **held,
            }
        ],
        "versions": {"mmapqueue gather": "0.1.0"},
        "keeps": {"mmapqueue gather": "pushed to a queue"},
        "missing": {"bare aiohttp": "there is no aiohttp"},
    }


def write(run: Path, only: Sequence[str] = PARTS) -> Path:
    """Writes these parts of a run into the places where the benchmarks leave them, and returns the directory."""
    parts: Mapping[str, Any] = {
        "latency": latencies(),
        "pipeline": pipeline(),
        "python": python(),
        "real-time": real_time(),
        "scale": scale(),
        "spark": spark(),
    }
    for name, content in parts.items():
        if name in only:
            _dump(run / name / f"{name}.json", content)
    if "jmh" in only:
        for name, rows in throughput().items():
            _dump(run / "results" / f"{name}.json", rows)
    note = {"date": "2026-01-02T03:04Z", "load": 0.5}
    facts = {"cpu": "A processor", "cores": 2, "memory_gib": 8.0, "kernel": "6.1", "file_system": "ext4"}
    _dump(
        run / "machine.json",
        {
            "machine": {**facts, "jdk": "OpenJDK 17", "python": "3.11.2"},
            "parts": {part: {"command": "make bench", "commit": "abc123", "begin": note, "end": note} for part in only},
        },
    )
    return run


def _dump(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=4), encoding="utf-8")
