"""The results: as JSON, and as tables for people."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline_bench.article import Held
from pipeline_bench.kills import Left
from pipeline_bench.processes import Memory
from pipeline_bench.rounds import Course
from pipeline_bench.subjects import Subject

MIB = 1 << 20


def _memory(memory: Memory) -> dict[str, int]:
    return {"anonymous": memory.anonymous, "file": memory.file, "shared": memory.shared}


def course_result(course: Course) -> dict[str, Any]:
    """What one course measured, a figure for each round."""
    return {
        "subject": course.subject.name,
        "protocol": course.subject.protocol,
        "load": course.load,
        "batch": course.batch,
        "logs_per_second": [round(value, 1) for value in course.logs_per_second],
        "cpu_us_per_log": [round(value, 3) for value in course.cpu_us_per_log],
        "disk_bytes_per_log": [round(value, 1) for value in course.disk_bytes_per_log],
        "latency_ms": course.latency_ms,
        "memory": [_memory(each) for each in course.memory],
    }


def kill_result(subject: Subject, batch: int, left: Sequence[Left]) -> dict[str, Any]:
    """What the kills of one subject left, added up."""
    return {
        "subject": subject.name,
        "batch": batch,
        "kills": len(left),
        "accepted": sum(each.accepted for each in left),
        "lost": sum(each.lost for each in left),
        "repeated": sum(each.repeated for each in left),
        "unanswered": sum(each.unanswered for each in left),
    }


def article_result(subject: Subject, connections: int, rate: float, held: Held) -> dict[str, Any]:
    """What one subject held of the article's load."""
    return {
        "subject": subject.name,
        "connections": connections,
        "asked_logs_per_second": rate,
        "logs_per_second": round(held.sent.logs_per_second, 1),
        "accepted_requests": held.sent.requests,
        "refused_requests": held.sent.refused,
        "failed_requests": held.sent.failed,
        "latency_ms": dict(held.sent.latency_ms),
        "cpu_cores": round(held.cpu_cores, 3),
        "memory": _memory(held.memory),
        "lost_requests": held.lost,
        "read_records": held.read,
    }


def tables(found: Mapping[str, Any]) -> str:
    """All results to be read: medians over the rounds; the slowest and the fastest one in parentheses."""
    parts = [f"{name}: not measured, {why}" for name, why in found["missing"].items()]
    groups: dict[tuple[str, str, int], list[Mapping[str, Any]]] = {}
    for row in found["results"]:
        groups.setdefault((row["protocol"], row["load"], row["batch"]), []).append(row)
    parts += [_rates(*key, rows) for key, rows in groups.items()]
    if found["kills"]:
        parts.append(_kills(found["kills"]))
    if found["article"]:
        parts.append(_article(found["article"]))
    return "\n\n".join(parts)


def _rates(protocol: str, load: str, batch: int, rows: Sequence[Mapping[str, Any]]) -> str:
    columns = ("logs/s", "min .. max", "requests/s", "CPU us/log", "anon MiB", "file MiB", "disk B/log")
    lines = [_line(f"{protocol}, {load}, {batch} logs a request", columns)]
    for row in rows:
        rates = row["logs_per_second"]
        median = statistics.median(rates)
        disk = row["disk_bytes_per_log"]
        cells = (
            f"{median:,.0f}",
            f"{min(rates):,.0f} .. {max(rates):,.0f}",
            f"{median / batch:,.0f}",
            f"{statistics.median(row['cpu_us_per_log']):.2f}",
            f"{statistics.median(each['anonymous'] / MIB for each in row['memory']):,.0f}",
            f"{statistics.median((each['file'] + each['shared']) / MIB for each in row['memory']):,.0f}",
            f"{statistics.median(disk):,.0f}" if disk else "",
        )
        lines.append(_line("  " + row["subject"], cells))
    return "\n".join(lines)


def _kills(rows: Sequence[Mapping[str, Any]]) -> str:
    columns = ("batch", "kills", "accepted", "lost", "repeated", "unanswered")
    lines = [_line("kill -9 under load, logs", columns)]
    return "\n".join([*lines, *(_line("  " + row["subject"], [f"{row[name]:,}" for name in columns]) for row in rows)])


def _article(rows: Sequence[Mapping[str, Any]]) -> str:
    head = f"{rows[0]['connections']:,} connections, {rows[0]['asked_logs_per_second']:,.0f} logs/s"
    columns = ("logs/s", "p50 ms", "p99 ms", "max ms", "CPUs", "anon MiB", "file MiB", "requests", "lost")
    lines = [_line(head, columns)]
    for row in rows:
        latency, memory = row["latency_ms"], row["memory"]
        cells = (
            f"{row['logs_per_second']:,.0f}",
            *(f"{latency[name]:,.1f}" for name in ("p50", "p99", "max")),
            f"{row['cpu_cores']:.2f}",
            f"{memory['anonymous'] / MIB:,.0f}",
            f"{(memory['file'] + memory['shared']) / MIB:,.0f}",
            f"{row['accepted_requests']:,}",
            "" if row["lost_requests"] is None else f"{row['lost_requests']:,}",
        )
        lines.append(_line("  " + row["subject"], cells))
    return "\n".join(lines)


def _line(first: str, cells: Sequence[str]) -> str:
    return f"{first:46}" + "".join(f" {cell:>{20 if '..' in cell else 10}}" for cell in cells)
