"""The Spark data source beside Spark's own sources and Kafka: its tables and its targets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .figure import Figure
from .raw import Run
from .subjects import KIB
from .targets import Check, Target, ratio
from .words import NOTHING, number, percent, rate, size, spread, table

#: The workloads that targets speak of, by the names that the benchmark gives to them.
READ, STREAM = "queue, value", "queue, AvailableNow"
WRITES = ("write, queue", "write, 2 partitions")
PARQUET, FLOOR = "Parquet, value", "spark.range"


class Workload(NamedTuple):
    """What one workload did: rows by the second, in each round."""

    name: str
    size: int
    rows: int
    per_second: Figure

    @property
    def megabytes(self) -> Figure:
        """MB of payload by the second."""
        return self.per_second.map(lambda rows: rows * self.size / 1e6)


def workloads(run: Run) -> list[Workload]:
    """Returns all workloads: reads, then writes."""
    found = []
    for each in run.spark.get("results", []):
        seconds = each.get("seconds_all") or [each["seconds"]]
        rows = each["rows"]
        found.append(Workload(each["workload"], each["bytes"], rows, Figure.of([rows / taken for taken in seconds])))
    return sorted(found, key=lambda each: (each.size, -each.rows, "write" in each.name))


def find(run: Run, name: str, payload: int, rows: int | None = None) -> Figure | None:
    """Returns rows by the second of a workload, or None where it was not measured.

    Args:
        run: What was measured.
        name: The workload's.
        payload: Bytes of a record.
        rows: How many there were; the most, if not told.
    """
    for each in workloads(run):
        if (each.name, each.size) == (name, payload) and rows in (None, each.rows):
            return each.per_second
    return None


def tables(run: Run) -> str:
    """Every workload beside the floor of the engine, and what a micro-batch takes."""
    rows = []
    for each in workloads(run):
        rows.append(
            [
                each.name,
                size(each.size),
                rate(each.rows),
                rate(each.per_second.median),
                number(each.megabytes.median),
                spread(each.megabytes),
                _share(run, each),
            ]
        )
    return _with_details(
        run, table(["workload", "record", "rows", "rows/s", "MB/s", "min–max", f"of {FLOOR}"], rows, left=2)
    )


def report(run: Run) -> str:
    """As `tables`, with a row for each workload and amount of data, and columns for each size of record."""
    sizes = sorted({each.size for each in workloads(run)})
    rows: dict[tuple[str, str], dict[int, Workload]] = {}
    for each in workloads(run):
        rows.setdefault((each.name, _amount(each)), {})[each.size] = each
    lines = []
    for (name, amount), found in sorted(
        rows.items(), key=lambda row: -max(each.rows * each.size for each in row[1].values())
    ):
        cells = []
        for payload in sizes:
            of = found.get(payload)
            cells += [rate(of.per_second.median), _share(run, of)] if of else [NOTHING, NOTHING]
            cells.append(f"{number(of.megabytes.median)} ({spread(of.megabytes)})" if of else NOTHING)
        lines.append([name, amount, *cells])
    head = [words for payload in sizes for words in (f"{size(payload)}, rows/s", f"of {FLOOR}", "MB/s")]
    return _with_details(run, table(["workload", "data", *head], lines, left=2))


def _amount(workload: Workload) -> str:
    """The payload of all rows: as a power of two, since numbers of rows are rounded."""
    return size(2 ** round(math.log2(workload.rows * workload.size)))


def _share(run: Run, workload: Workload) -> str:
    floor = find(run, FLOOR, workload.size, workload.rows)
    return percent(workload.per_second.over(floor).median) if floor else NOTHING


def _with_details(run: Run, of_workloads: str) -> str:
    if not run.spark:
        return ""
    parts = [f"Spark {run.spark['spark']}, local[{run.spark['cores']}], {run.spark['rounds']} rounds:", of_workloads]
    lines = []
    for kind, sources in run.spark.get("micro_batch_ms_all", {}).items():
        for name in sources:
            figure = _millis(run, kind, name)
            if figure:
                lines.append([kind, name, number(figure.median), spread(figure)])
    if lines:
        parts.append(table(["micro-batch", "source", "ms from the trigger to its end", "min–max"], lines, left=2))
    if run.spark.get("kafka"):
        parts.append(kafka_settings(run.spark["kafka"]))
    return "\n\n".join(parts)


def kafka_settings(settings: Mapping[str, Mapping[str, str]]) -> str:
    """What differs from Kafka's defaults."""
    lines = [
        f"- {what}: {', '.join(f'`{name}={value}`' for name, value in values.items())}"
        for what, values in settings.items()
    ]
    return "Kafka has its defaults but for:\n\n" + "\n".join(lines)


def _millis(run: Run, kind: str, source: str) -> Figure | None:
    batches = run.spark.get("micro_batch_ms_all", {}).get(kind, {}).get(source)
    # One after the other in one round: their spread says more than that of the rounds would.
    return Figure({"round": batches}) if batches else None


def targets(run: Run) -> list[Target]:
    """What is promised of the data source."""
    reads = []
    for what, name in (("batch", READ), ("AvailableNow", STREAM)):
        small, large = find(run, name, 100), find(run, name, KIB)
        millions = small.map(lambda rows: rows / 1e6) if small else None
        megabytes = large.map(lambda rows: rows * KIB / 1e6) if large else None
        reads.append(Check(f"Read to noop, {what}, two cores, 100 B", millions, 8, "million/s"))
        reads.append(Check(f"Read to noop, {what}, two cores, 1 KiB", megabytes, 4000, "MB/s"))
    peers = []
    for payload in (100, KIB):
        read = find_beside_kafka(run, READ, payload)
        write = _fastest([find_beside_kafka(run, name, payload) for name in WRITES])
        told = size(payload)
        peers += [
            Check(
                f"Batch read of {told}, as a multiple of Kafka's source at its defaults",
                ratio(read, kafka(run, payload, "read", tuned=False)),
                5,
                "times",
            ),
            Check(
                "The same, of Kafka's source with fetch sizes tuned",
                ratio(read, kafka(run, payload, "read", tuned=True)),
                3,
                "times",
            ),
            Check(
                "The same, of uncompressed Parquet",
                ratio(find(run, READ, payload), find(run, PARQUET, payload)),
                1,
                "times",
            ),
            Check(
                f"Batch write of {told}, as a multiple of Kafka's sink, each with one partition or two",
                ratio(write, kafka(run, payload, "write", tuned=False)),
                8,
                "times",
            ),
        ]
    empty = ratio(_millis(run, "empty", "queue"), _millis(run, "empty", "rate"))
    return [
        Target("Spark reads", reads),
        Target("Spark beside Kafka and Parquet", peers),
        Target(
            "Empty micro-batch",
            [
                Check(
                    "Time of a micro-batch without records, as a multiple of the rate source's",
                    empty,
                    1.2,
                    "times",
                    False,
                )
            ],
        ),
    ]


def find_beside_kafka(run: Run, name: str, payload: int) -> Figure | None:
    """As `find`, but with as many rows as Kafka had, if it was measured."""
    rows = next((each.rows for each in workloads(run) if each.size == payload and "Kafka" in each.name), None)
    return find(run, name, payload, rows)


def kafka(run: Run, payload: int, what: str, tuned: bool) -> Figure | None:
    """Returns the faster of Kafka's workloads of this kind, "read" or "write": of one partition and of two."""
    return _fastest(
        each.per_second
        for each in workloads(run)
        if each.size == payload
        and "Kafka" in each.name
        and (each.name.startswith("write") if what == "write" else each.name.endswith("value"))
        and ("tuned" in each.name) == tuned
    )


def _fastest(figures: Iterable[Figure | None]) -> Figure | None:
    return max((each for each in figures if each), key=lambda figure: figure.median, default=None)
