"""The tables of the JVM's benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .raw import Row, Run
from .subjects import (
    BENCHMARKS,
    DEFAULTS,
    KIB,
    LARGE,
    NAMES,
    NO_KEYS,
    PAYLOADS,
    PIPE,
    POP,
    PUSH,
    SHAPES,
    SMALL,
    UNCONFIGURED,
    Benchmark,
)
from .words import NOTHING, number, percent, rate, size, spread, table, times

#: Benchmarks of single calls, and not of the bytes that they move.
_PER_CALL = ("SyncBenchmark.", "GetBenchmark.", "OpenBenchmark.")
#: A flusher that goes by its period alone, and none at all.
_RARELY, _NEVER = {"ceiling": 2**31 - 1}, {"ceiling": 0}


class Line(NamedTuple):
    """A row of a table: what it is called, and which of the raw results it tells."""

    label: str
    benchmark: str
    parameters: Mapping[str, object] = {}
    subject: str = "queue"


def peers(run: Run) -> str:
    """The subjects beside each other, a table for each payload."""
    head = [
        "",
        *(column for benchmark in BENCHMARKS for column in (f"{benchmark.title}, MB/s", "min–max", "of roofline")),
    ]
    parts = []
    for payload in PAYLOADS:
        rows = []
        for subject, name in NAMES.items():
            found = [run.row(benchmark.name, subject, payload) for benchmark in BENCHMARKS]
            if any(found):
                cells = [_share(run, benchmark, row) for benchmark, row in zip(BENCHMARKS, found, strict=True)]
                rows.append([_strong(name), *(cell for three in cells for cell in three)])
        if rows:
            parts.append(f"Records of {size(payload)}:\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def _share(run: Run, benchmark: Benchmark, row: Row | None) -> tuple[str, str, str]:
    if row is None:
        return NOTHING, "", ""
    roofline = run.row(benchmark.name, "ring", row.payload)
    share = percent(row.per_second.over(roofline.per_second).median) if roofline else NOTHING
    return number(row.megabytes.median), spread(row.megabytes), share


def _strong(name: str) -> str:
    return f"**{name}**" if name == NAMES["queue"] else name


def unconfigured(run: Run) -> str:
    """The queue and Chronicle Queue with nothing configured, in a new ring and in a recycled one."""
    head = ["", "record", "mmapqueue, MB/s", "min–max", "Chronicle Queue, MB/s", "min–max", "ratio"]
    rows = []
    for payload in sorted({row.payload for row in run.rows if row.parameters.get("subject") == NO_KEYS}):
        for benchmark in UNCONFIGURED:
            queue = run.row(benchmark.name, NO_KEYS, payload, **DEFAULTS.parameters())
            peer = run.row(benchmark.name, "chronicle", payload, **DEFAULTS.parameters())
            if queue and peer:
                figures = [
                    cell for row in (queue, peer) for cell in (number(row.megabytes.median), spread(row.megabytes))
                ]
                ratio = times(queue.per_second.over(peer.per_second).median)
                rows.append([benchmark.ring, size(payload), *figures, ratio])
    return table(head, rows, left=2) if rows else ""


def rings(run: Run) -> str:
    """All payloads and rings, each beside the roofline of the same ring."""
    head = [
        "ring",
        "record",
        *(column for benchmark in BENCHMARKS for column in (f"{benchmark.title}, MB/s", "of roofline")),
    ]
    rows = []
    for shape in SHAPES:
        payloads = sorted({row.payload for row in run.rows if _is(row, shape.parameters())})
        for payload in payloads:
            cells = []
            for benchmark in BENCHMARKS:
                row = run.row(benchmark.name, "queue", payload, **shape.parameters())
                roofline = run.row(benchmark.name, "ring", payload, **shape.parameters())
                cells.append(number(row.megabytes.median) if row else NOTHING)
                cells.append(percent(row.per_second.over(roofline.per_second).median) if row and roofline else NOTHING)
            if any(cell != NOTHING for cell in cells):
                rows.append([shape.name, size(payload), *cells])
    return table(head, rows, left=2) if rows else ""


def _is(row: Row, parameters: Mapping[str, object]) -> bool:
    return all(row.parameters.get(name) == str(value) for name, value in parameters.items())


def variants(run: Run) -> str:
    """Batches, threads, options: what they change, against the roofline of a single thread's push, pop or both."""
    lines = [
        Line("push", PUSH.name),
        *(Line(f"push, batches of {n}", PUSH.name, {"batch": n}) for n in (100, 10_000)),
        Line("push, flushed by its period alone", PUSH.name, _RARELY),
        Line("push, no flusher", PUSH.name, _NEVER),
        Line("push, no timestamps", PUSH.name, {"timestamps": "false"}),
        Line("roofline, flushed per 10 000: push", PUSH.name, {}, "ring+flush"),
        Line("memcpy", PUSH.name, {}, "memcpy"),
        Line("memcpy and CRC32C", PUSH.name, {}, "memcpy+crc"),
        Line("write(2), 64 KiB a call", PUSH.name, {}, "write"),
        Line("pop", POP.name),
        *(Line(f"pop, batches of {n}", "PopBenchmark.popBatch", {"batch": n}) for n in (100, 10_000)),
        Line("pop, as Message", "PopBenchmark.popMessage"),
        Line("pop, no timestamps", POP.name, {"timestamps": "false"}),
        Line("push + pop, one thread", "PushPopBenchmark.pushPop"),
        Line("1 + 1 threads", PIPE.name),
        *(Line(f"1 + 1, batches of {n}", PIPE.name, {"batch": n}) for n in (100, 10_000)),
        Line("1 + 1, flushed by its period alone", PIPE.name, _RARELY),
        *(Line(f"{p} + {c} threads", PIPE.name, {"producers": p, "consumers": c}) for p, c in ((4, 1), (1, 4), (4, 4))),
        Line("Chronicle Queue, 4 + 4 threads", PIPE.name, {"producers": 4, "consumers": 4}, "chronicle"),
    ]
    head = ["", "record", "MB/s", "min–max", "records/s", "of roofline", "heap, B/record"]
    rows = []
    for payload in PAYLOADS:
        for line in lines:
            row = run.row(line.benchmark, line.subject, payload, **line.parameters)
            if row:
                roofline = _roofline(run, line.benchmark, payload)
                rows.append(
                    [
                        line.label,
                        size(payload),
                        number(row.megabytes.median),
                        spread(row.megabytes),
                        rate(row.per_second.median),
                        percent(row.per_second.over(roofline.per_second).median) if roofline else NOTHING,
                        f"{row.allocated.median:.1f}",
                    ]
                )
    return table(head, rows, left=2) if rows else ""


def _roofline(run: Run, benchmark: str, payload: int, ring: Mapping[str, object] | None = None) -> Row | None:
    # The roofline has neither batches nor objects.
    plain = POP.name if benchmark.startswith("PopBenchmark.") else benchmark
    return run.row(plain, "ring", payload, **(ring or {}))


def everything(run: Run) -> str:
    """All rows, a table for records and one for calls, each beside the roofline with the same parameters."""
    moved = [row for row in run.rows if not row.benchmark.startswith(_PER_CALL)]
    called = [row for row in run.rows if row.benchmark.startswith(_PER_CALL)]
    parts = []
    if moved:
        head = ["", "subject", "record", "", "MB/s", "min–max", "records/s", "of roofline", "heap, B/record"]
        rows = []
        for row in moved:
            roofline = _roofline(run, row.benchmark, row.payload, row.ring)
            share = percent(row.per_second.over(roofline.per_second).median) if roofline else NOTHING
            figures = [number(row.megabytes.median), spread(row.megabytes), rate(row.per_second.median), share]
            rows.append([*_names(row), *figures, f"{row.allocated.median:.1f}"])
        parts.append(table(head, rows, left=4))
    if called:
        head = ["", "subject", "record", "", "µs a call", "min–max", "calls/s", "heap, B/call"]
        rows = [
            [
                *_names(row),
                number(row.micros.median),
                spread(row.micros),
                rate(row.per_second.median),
                f"{row.allocated.median:.0f}",
            ]
            for row in called
        ]
        parts.append(table(head, rows, left=4))
    return "\n\n".join(parts)


def _names(row: Row) -> list[str]:
    special = ", ".join(f"{name} {value}" for name, value in row.special.items())
    return [row.benchmark, row.parameters.get("subject", "queue"), size(row.payload), special]


def durable(run: Run) -> str:
    """Pushes that return when the record is durable."""
    sync = "SyncBenchmark.pushSync"
    lines = [
        Line("write(2) + fdatasync(2), 1 thread", sync, _NEVER, "write+fsync"),
        Line("Chronicle Queue, 1 thread", sync, _NEVER, "chronicle+sync"),
        Line("Chronicle Queue, 1 thread, one sync() for 100", sync, _NEVER, "chronicle+sync100"),
    ]
    for threads in (1, 8, 64):
        for_threads = {**_NEVER, "threads": threads}
        noun = "thread" if threads == 1 else "threads"
        for shape in (SMALL, LARGE):
            lines.append(
                Line(f"mmapqueue, {shape.name}, {threads} {noun}", sync, {**shape.parameters(), **for_threads})
            )
        lines.append(Line(f"RocksDB, {threads} {noun}", sync, for_threads, "rocksdb"))
    return _calls(run, lines, "durable push of 1 KiB")


def reads(run: Run) -> str:
    """Reads of a queue that was opened anew, and reads at random."""
    head = ["after opening", "record", "MB/s", "min–max", "of read(2)"]
    rows = []
    for cold, where in (("false", "page cache"), ("true", "disk")):
        for payload in sorted({row.payload for row in run.rows if row.benchmark == "ColdBenchmark.pop"}):
            row = run.row("ColdBenchmark.pop", "queue", payload, cold=cold)
            files = run.row("ColdBenchmark.readFiles", "queue", payload, cold=cold)
            if row and files:
                share = percent(row.per_second.over(files.per_second).median)
                label = f"pop, from the {where}"
                rows.append([label, size(payload), number(row.megabytes.median), spread(row.megabytes), share])
    parts = [table(head, rows, left=2)] if rows else []
    gets = [Line("get, as Message", "GetBenchmark.get"), Line("get, handled", "GetBenchmark.getHandled")]
    parts.append(_calls(run, gets, "at a random offset of 1 KiB records"))
    return "\n\n".join(part for part in parts if part)


def opening(run: Run) -> str:
    """How long it takes to open a queue: after a clean close, and after a kill."""
    rows = [row for row in run.rows if row.benchmark == "OpenBenchmark.open"]
    rows.sort(
        key=lambda row: (int(row.parameters["tail"]) > 0, int(row.parameters["tail"]), int(row.parameters["size"]))
    )
    lines = []
    for row in rows:
        tail = int(row.parameters["tail"])
        how = f"after a kill, {size(tail)} not flushed" if tail else "after a clean close"
        ms = row.micros.map(lambda micros: micros / 1000)
        lines.append([how, size(int(row.parameters["size"])), number(ms.median), spread(ms)])
    return table(["opening", "held, flushed", "ms", "min–max"], lines) if lines else ""


def satellite(run: Run) -> str:
    """The parameter sets of SkyWalking Satellite's own benchmark."""
    head = ["segment", "mapped", "ring, segments", "record", "push, MB/s", "push + pop, one thread, MB/s"]
    rows = []
    for segment, mapped, kib, capacity in (
        (128, 10, 8, 10_000),
        (256, 10, 8, 10_000),
        (128, 20, 8, 10_000),
        (128, 10, 16, 10_000),
        (128, 10, 8, 100_000),
    ):
        shape = {"segment": segment * KIB, "mapped": mapped, "capacity": capacity}
        found = [run.row(name, "queue", kib * KIB, **shape) for name in (PUSH.name, "PushPopBenchmark.pushPop")]
        if any(found):
            figures = [f"{number(row.megabytes.median)} ({spread(row.megabytes)})" if row else NOTHING for row in found]
            rows.append([f"{segment} KiB", str(mapped), number(capacity), f"{kib} KiB", *figures])
    return table(head, rows, left=0) if rows else ""


def _calls(run: Run, lines: Sequence[Line], what: str) -> str:
    rows = []
    for line in lines:
        row = run.row(line.benchmark, line.subject, KIB, **line.parameters)
        if row:
            rows.append([line.label, number(row.micros.median), spread(row.micros), rate(row.per_second.median)])
    return table([what, "µs a call", "min–max", "calls/s"], rows) if rows else ""
