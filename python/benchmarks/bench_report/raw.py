"""Reads the kept raw results of one run, in which parts may be missing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import machine
from .figure import Figure

#: The usual parameters of a benchmark. PopBenchmark.pop ignores its batch.
_USUAL: Mapping[str, Sequence[str]] = {
    "segment": ["67108864"],
    "capacity": ["16"],
    "mapped": ["16"],
    "ceiling": ["10000"],
    "timestamps": ["true"],
    "batch": ["1", "1000"],
    "producers": ["1"],
    "consumers": ["1"],
    "threads": ["1"],
    "cold": ["false"],
    "size": ["67108864"],
    "tail": ["0"],
}

#: Required members in lists of results, by the beginning of the file's name.
_SHAPES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "python": {"results": ("subject", "operation", "batch", "payload", "per_second", "null_calls")},
    "pipeline": {
        "results": (
            *("subject", "protocol", "load", "batch", "logs_per_second"),
            *("cpu_us_per_log", "disk_bytes_per_log", "memory"),
        )
    },
    "scale": {
        "samples": ("seconds", *(f"{name}_bytes" for name in ("queued", "rss", "rss_anon", "heap_live", "mapped"))),
        "pairs": ("queued_bytes", "push_ns", "pop_ns", "pair_ns"),
        "open": ("queued_bytes", "open_ms"),
        "recovery": ("queued_bytes", "tail_bytes", "open_ms"),
    },
    "real-time": {"results": ("subject", "rate", "ms", "curve")},
    "spark": {"results": ("workload", "bytes", "rows", "seconds")},
}
#: Members that a run may have in place of the required ones.
_ALONE: Mapping[str, Sequence[str]] = {"pipeline": ("kills", "article")}


@dataclass(frozen=True)
class Row:
    """One benchmark with one set of parameters: records, or calls, by the second."""

    benchmark: str
    parameters: Mapping[str, str]
    per_second: Figure
    allocated: Figure

    @property
    def payload(self) -> int:
        """Bytes of a record."""
        return int(self.parameters["payload"])

    @property
    def ring(self) -> dict[str, object]:
        """Segments, their number, and the most that are mapped."""
        return {name: self.parameters[name] for name in ("segment", "capacity", "mapped") if name in self.parameters}

    @property
    def special(self) -> dict[str, str]:
        """Parameters other than subject and payload that differ from the usual ones."""
        return {
            name: value
            for name, value in self.parameters.items()
            if name not in ("subject", "payload") and value not in _USUAL.get(name, [])
        }

    @property
    def megabytes(self) -> Figure:
        """MB of payload by the second."""
        return self.per_second.map(lambda records: records * self.payload / 1e6)

    @property
    def micros(self) -> Figure:
        """Microseconds for each call."""
        return self.per_second.map(lambda calls: 1e6 / calls)


@dataclass(frozen=True)
class Latency:
    """Times of a push at a steady rate, in microseconds, by percentile: "p50" … "max", each a figure of all rounds."""

    subject: str
    segment: int
    rate: int
    service: Mapping[str, Figure]
    response: Mapping[str, Figure]


@dataclass(frozen=True)
class Run:
    """All raw results of a run. Parts that were not measured are empty."""

    machine: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rows: Sequence[Row] = ()
    latencies: Sequence[Latency] = ()
    python: Mapping[str, Any] = field(default_factory=dict)
    #: That of the segments asked for first, then those of others.
    scales: Sequence[Mapping[str, Any]] = ()
    spark: Mapping[str, Any] = field(default_factory=dict)
    pipeline: Mapping[str, Any] = field(default_factory=dict)
    real_time: Mapping[str, Any] = field(default_factory=dict)

    def row(self, benchmark: str, subject: str, payload: int, **parameters: object) -> Row | None:
        """Returns the row with these parameters and the usual ones besides, or None where it was not measured."""
        wanted = {"subject": subject, "payload": str(payload), **{k: str(v) for k, v in parameters.items()}}
        for row in self.rows:
            if row.benchmark == benchmark and _fits(row.parameters, wanted):
                return row
        return None

    def latency(self, subject: str, rate: int, segment: int = 64 << 20) -> Latency | None:
        """Returns the latencies of a subject at `rate` pushes a second, or None."""
        for each in self.latencies:
            if (each.subject, each.rate, each.segment) == (subject, rate, segment):
                return each
        return None


def _fits(parameters: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    # Opening has no subject: it measures the queue alone.
    given = {"subject": "queue", **parameters}
    return (
        all(
            value == wanted[name] if name in wanted else value in _USUAL.get(name, [value])
            for name, value in given.items()
        )
        and wanted.keys() <= given.keys()
    )


def load(raw: Path) -> Run:
    """Reads a run. Raises SystemExit with file and member if a file has an unexpected shape."""
    notes = _file(raw / machine.NAME)
    if not notes:
        raise SystemExit(f"{raw}: no results; name a run to keep")
    return Run(
        machine=notes["machine"],
        parts=notes["parts"],
        rows=_rows(sorted((raw / "jmh").glob("*.json"))),
        latencies=_latencies(raw / "latency.json"),
        python=_checked(raw / "python.json"),
        scales=[
            _checked(path) for path in sorted(raw.glob("scale*.json"), key=lambda path: (len(path.stem), path.stem))
        ],
        spark=_checked(raw / "spark.json"),
        pipeline=_checked(raw / "pipeline.json"),
        real_time=_checked(raw / "real-time.json"),
    )


def _file(path: Path) -> Any:
    if not path.exists():
        return {}
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SystemExit(f"{path}: not JSON: {error}") from None


def _checked(path: Path) -> Any:
    content = _file(path)
    part = path.stem if path.stem in _SHAPES else path.stem.partition("-")[0]
    for name, members in _SHAPES[part].items() if content else ():
        if not content.get(name) and not any(content.get(other) for other in _ALONE.get(part, ())):
            raise SystemExit(f"{path}: no {name}")
        for number, each in enumerate(content[name]):
            missing = [member for member in members if member not in each]
            if missing:
                raise SystemExit(f"{path}: {name} {number}: no member {missing[0]!r}")
    return content


def _rows(paths: Sequence[Path]) -> list[Row]:
    found: dict[tuple[str, tuple[tuple[str, str], ...]], dict[str, dict[str, list[float]]]] = {}
    for path in paths:
        for number, result in enumerate(_file(path)):
            try:
                key = (result["benchmark"].rpartition("bench.")[2], tuple(sorted(result["params"].items())))
                records, allocated = (
                    [value for fork in result["secondaryMetrics"][name]["rawData"] for value in fork]
                    for name in ("records", "allocated")
                )
            except (KeyError, TypeError) as error:
                raise SystemExit(f"{path}: result {number}: no member {error}") from None
            rounds = found.setdefault(key, {"records": {}, "allocated": {}})
            rounds["records"][path.stem] = records
            rounds["allocated"][path.stem] = [a / r for a, r in zip(allocated, records, strict=True)]
    return [
        Row(benchmark, dict(parameters), Figure(rounds["records"]), Figure(rounds["allocated"]))
        for (benchmark, parameters), rounds in found.items()
    ]


def _latencies(path: Path) -> list[Latency]:
    found: dict[tuple[str, int, int], list[Mapping[str, Any]]] = {}
    for number, result in enumerate(_file(path)):
        try:
            key = (result["subject"], result["segment_bytes"], result["pushes_per_second"])
            found.setdefault(key, []).append(result)
            for kind in ("service_micros", "response_micros"):
                result[kind]["max"]
        except (KeyError, TypeError) as error:
            raise SystemExit(f"{path}: result {number}: no member {error}") from None
    return [
        Latency(*key, service=_points(results, "service_micros"), response=_points(results, "response_micros"))
        for key, results in found.items()
    ]


def _points(results: Sequence[Mapping[str, Any]], kind: str) -> dict[str, Figure]:
    return {name: Figure.of([result[kind][name] for result in results]) for name in results[0][kind]}
