"""The results as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline_bench.article import Sustained
from pipeline_bench.kills import Left
from pipeline_bench.processes import Memory
from pipeline_bench.rounds import Measurement
from pipeline_bench.subjects import Subject


def _memory(memory: Memory) -> dict[str, int]:
    return {"anonymous": memory.anonymous, "file": memory.file, "shared": memory.shared}


def measurement_result(measurement: Measurement) -> dict[str, Any]:
    """One measurement, a figure for each round."""
    return {
        "subject": measurement.subject.name,
        "protocol": measurement.subject.protocol,
        "load": measurement.load,
        "batch": measurement.batch,
        "logs_per_second": [round(value, 1) for value in measurement.logs_per_second],
        "cpu_us_per_log": [round(value, 3) for value in measurement.cpu_us_per_log],
        "disk_bytes_per_log": [round(value, 1) for value in measurement.disk_bytes_per_log],
        "latency_ms": measurement.latency_ms,
        "memory": [_memory(each) for each in measurement.memory],
    }


def kill_result(subject: Subject, batch: int, left: Sequence[Left]) -> dict[str, Any]:
    """The sums over the kills of one subject."""
    return {
        "subject": subject.name,
        "batch": batch,
        "kills": len(left),
        "accepted": sum(each.accepted for each in left),
        "lost": sum(each.lost for each in left),
        "repeated": sum(each.repeated for each in left),
        "unanswered": sum(each.unanswered for each in left),
    }


def article_result(subject: Subject, connections: int, rate: float, sustained: Sustained) -> dict[str, Any]:
    """The part of the article's load that one subject sustained."""
    return {
        "subject": subject.name,
        "connections": connections,
        "asked_logs_per_second": rate,
        "logs_per_second": round(sustained.sent.logs_per_second, 1),
        "accepted_requests": sustained.sent.requests,
        "refused_requests": sustained.sent.refused,
        "failed_requests": sustained.sent.failed,
        "latency_ms": dict(sustained.sent.latency_ms),
        "cpu_cores": round(sustained.cpu_cores, 3),
        "memory": _memory(sustained.memory),
        "lost_requests": sustained.lost,
        "read_records": sustained.read,
    }
