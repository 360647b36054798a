"""The pipeline's gather process beside bare servers and the OpenTelemetry collector: its tables and its targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .figure import Figure
from .raw import Run
from .targets import Check, Target, ratio
from .words import NOTHING, number, rate, size, spread, table

OWN, BARE, COLLECTOR = "mmapqueue gather", "bare grpc.aio", "OpenTelemetry collector"
#: The load that targets speak of: what the OpenTelemetry project itself loads collectors with.
LOAD = "telemetrygen"
BATCHES = (100, 1000)
Row = Mapping[str, Any]


def find(run: Run, subject: str, batch: int, member: str = "logs_per_second", load: str = LOAD) -> Figure | None:
    """Returns a figure of a server under a load, round by round; None where it was not measured."""
    for row in run.pipeline.get("results", []):
        if (row["subject"], row["load"], row["batch"]) == (subject, load, batch) and row["protocol"] == "grpc":
            return _resident(row) if member == "resident" else Figure.of(row[member])
    return None


def _resident(row: Row) -> Figure:
    return Figure.of([each["anonymous"] + each["file"] + each["shared"] for each in row["memory"]])


def tables(run: Run) -> str:
    """A table for each load, then what kills left, then the article's load."""
    if not run.pipeline:
        return ""
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in run.pipeline["results"]:
        groups.setdefault((row["protocol"], row["load"], row["batch"]), []).append(row)
    parts = [_rates(*key, rows) for key, rows in groups.items()]
    parts += [_kills(run.pipeline["kills"])] if run.pipeline.get("kills") else []
    parts += [_article(run.pipeline["article"])] if run.pipeline.get("article") else []
    versions = run.pipeline.get("versions", {})
    keeps = run.pipeline.get("keeps", {})
    parts.append(
        table(["", "version", "answers when a request is"], [[n, v, keeps[n]] for n, v in versions.items()], 3)
    )
    parts += [f"{name}: not measured, {why}." for name, why in run.pipeline.get("missing", {}).items()]
    return "\n\n".join(parts)


def _rates(protocol: str, load: str, batch: int, rows: Sequence[Row]) -> str:
    lines = []
    for row in rows:
        figure, disk = Figure.of(row["logs_per_second"]), row["disk_bytes_per_log"]
        anonymous, file = (
            size(Figure.of([sum(each[kind] for kind in kinds) for each in row["memory"]]).median)
            for kinds in (("anonymous",), ("file", "shared"))
        )
        lines.append(
            [
                row["subject"],
                rate(figure.median),
                spread(figure),
                number(figure.median / batch),
                number(Figure.of(row["cpu_us_per_log"]).median),
                anonymous,
                file,
                number(Figure.of(disk).median) if disk else NOTHING,
            ]
        )
    columns = ["logs/s", "min–max", "requests/s", "CPU, µs a log", "anonymous", "of files", "disk, B a log"]
    title = f"OTLP over {protocol.replace('grpc', 'gRPC').replace('http', 'HTTP')}, {load}, {batch} logs a request:"
    return f"{title}\n\n{table(['', *columns], lines)}"


def _kills(rows: Sequence[Row]) -> str:
    members = ("batch", "kills", "accepted", "lost", "repeated", "unanswered")
    head = ["", "logs a request", "kills", "logs accepted", "lost", "repeated", "stored, not answered"]
    lines = [[row["subject"], *(f"{row[name]:,}".replace(",", "\u202f") for name in members)] for row in rows]
    return f"After `kill -9` in the middle of the load:\n\n{table(head, lines)}"


def _article(rows: Sequence[Row]) -> str:
    lines = []
    for row in rows:
        latency, memory = row["latency_ms"], row["memory"]
        lines.append(
            [
                row["subject"],
                rate(row["logs_per_second"]),
                *(number(latency[name]) for name in ("p50", "p99", "max")),
                number(row["cpu_cores"]),
                size(memory["anonymous"]),
                size(memory["file"] + memory["shared"]),
                NOTHING if row["lost_requests"] is None else str(row["lost_requests"]),
            ]
        )
    head = ["", "logs/s", "p50, ms", "p99, ms", "max, ms", "processors", "anonymous", "of files", "requests lost"]
    title = f"{number(rows[0]['connections'])} connections, {rate(rows[0]['asked_logs_per_second'])} logs/s asked for:"
    return f"{title}\n\n{table(head, lines)}"


def targets(run: Run) -> list[Target]:
    """What is promised of the gather process."""
    collector, bare, cost, memory = [], [], [], []
    for batch in BATCHES:
        own = find(run, OWN, batch)
        where = f"logs/s accepted at {batch} logs a request"
        collector.append(
            Check(f"{where}, as a multiple of the collector", ratio(own, find(run, COLLECTOR, batch)), 1.5, "times")
        )
        bare.append(Check(f"{where}, as a share of bare grpc.aio", ratio(own, find(run, BARE, batch)), 0.85, "percent"))
        words = f"Processor time of a log, {batch} a request"
        micros = find(run, OWN, batch, "cpu_us_per_log")
        cost.append(Check(words, micros, {100: 6, 1000: 3}[batch], "µs", at_least=False))
        resident = [find(run, name, batch, "resident") for name in (OWN, COLLECTOR)]
        words = f"Resident memory at {batch} logs a request, as a multiple of the collector's"
        memory.append(Check(words, ratio(*resident), round(1 / 3, 3), "times", at_least=False))
    return [
        Target("Gather beside the collector", collector),
        Target("Gather beside bare gRPC", bare),
        Target("Cost of gather", cost),
        Target("Memory of gather", memory),
        Target("Loss of accepted events", [_lost(run)]),
    ]


def _lost(run: Run) -> Check:
    lost = [row["lost"] for row in run.pipeline.get("kills", []) if row["subject"].startswith(OWN)]
    lost += [row["lost_requests"] for row in run.pipeline.get("article", []) if row["lost_requests"] is not None]
    figure = Figure.of([sum(lost)]) if lost else None
    return Check("Accepted, and not read after kills or in the article's load", figure, 0, "count", at_least=False)
