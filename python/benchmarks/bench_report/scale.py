"""A queue that grows large: its tables and its targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .figure import Figure
from .raw import Run
from .targets import Check, Target
from .words import number, size, spread, table, wrapped

_MIB = 2**20
#: What a meta page takes beside the segments.
_META_BYTES = 4096
#: The measurements of a run, each by what was queued.
_SERIES = ("pairs", "open", "recovery")


def report(run: Run) -> str:
    """As `tables`, with the largest queue alone of each further run."""
    further = [_largest(scale) for scale in run.scales[1:]]
    return _tables([*run.scales[:1], *further])


def _largest(scale: Mapping[str, Any]) -> Mapping[str, Any]:
    most = max(pair["queued_bytes"] for pair in scale["pairs"])
    kept = {name: [each for each in scale[name] if each["queued_bytes"] == most] for name in _SERIES}
    return {**scale, **kept}


def tables(run: Run) -> str:
    """Cost, opening and recovery by what is queued, and what memory the large queue took."""
    return _tables(run.scales)


def _tables(scales: Sequence[Mapping[str, Any]]) -> str:
    parts = []
    for scale in scales:
        rows = []
        for pair in scale["pairs"]:
            for name in ("push", "pop"):
                rows.append(_row(f"{name}, ns", pair["queued_bytes"], "", Figure.of(pair[f"{name}_ns"])))
        for opened in scale["open"]:
            rows.append(_row("open after a clean close, ms", opened["queued_bytes"], "", Figure.of(opened["open_ms"])))
        for each in scale["recovery"]:
            tail = size(each["tail_bytes"])
            rows.append(_row("open after a kill, ms", each["queued_bytes"], tail, Figure.of(each["open_ms"])))
        head = ["", "queued", "not flushed", "median", "min–max"]
        parts.append(f"Segments of {size(scale['segment_bytes'])}:\n\n{table(head, rows, left=3)}")
        parts.append(_memory(scale))
    return "\n\n".join(parts)


def _row(what: str, queued: int, tail: str, figure: Figure) -> list[str]:
    return [what, size(queued), tail, number(figure.median), spread(figure)]


def _memory(scale: Mapping[str, Any]) -> str:
    samples = scale["samples"]
    most = {
        name: size(max(sample[f"{name}_bytes"] for sample in samples))
        for name in ("queued", "rss", "rss_anon", "heap_live", "mapped")
    }
    return wrapped(
        f"While it was filled up to {most['queued']} and emptied again, in a JVM with {scale['jvm_flags']}, there were "
        f"at most {most['rss']} resident ({most['rss_anon']} without the pages of files), {most['heap_live']} of live "
        f"objects on the heap, and {most['mapped']} mapped."
    )


def targets(run: Run) -> list[Target]:
    """What is promised of memory and of large queues."""
    scale = run.scales[0] if run.scales else None
    return [Target("Memory", _memory_checks(scale)), Target("Size of a queue", _size_checks(scale))]


def _memory_checks(scale: Mapping[str, Any] | None) -> list[Check]:
    filled = live = mapped = None
    if scale:
        samples = scale["samples"]
        filled = Figure.of([max(sample["queued_bytes"] for sample in samples) / 1e9])
        live = Figure.of([max(sample["heap_live_bytes"] for sample in samples) / _MIB])
        most = scale["max_in_mem_segments"] * scale["segment_bytes"] + _META_BYTES
        mapped = Figure.of([max(sample["mapped_bytes"] for sample in samples) / most])
    return [
        Check("A queue is filled up to and emptied, in a JVM of 32 MiB", filled, 20, "GB"),
        Check("Live objects on the heap during that run", live, 16, "MiB", at_least=False),
        Check(
            "Bytes mapped, as a share of max_in_mem_segments × segment_size + meta page", mapped, 1, "percent", False
        ),
    ]


def _size_checks(scale: Mapping[str, Any] | None) -> list[Check]:
    dear = cheap = opened = same = linear = None
    if scale:
        pairs = sorted(scale["pairs"], key=lambda pair: pair["queued_bytes"])
        costs = [Figure.of(pair["pair_ns"]) for pair in pairs]
        changes = [cost.over(costs[0]) for cost in costs[1:]]
        dear, cheap = max(changes, key=lambda c: c.median), min(changes, key=lambda c: c.median)
        opened = max((Figure.of(each["open_ms"]) for each in scale["open"]), key=lambda figure: figure.median)
        same, linear = _recoveries(scale["recovery"])
    return [
        Check(
            "Cost of a push and a pop, as a multiple of that of the smallest queue: the dearest",
            dear,
            1.10,
            "times",
            False,
        ),
        Check("The same: the cheapest", cheap, 0.90, "times"),
        Check("Opening after a clean close, at the worst size", opened, 50, "ms", False),
        Check(
            "Recovery with the same tail not flushed: the largest queue as a multiple of the smallest",
            same,
            1.25,
            "times",
            False,
        ),
        Check(
            "Recovery by the byte of tail: the longest tail as a multiple of the next one", linear, 1.25, "times", False
        ),
    ]


def _recoveries(recoveries: Sequence[Mapping[str, Any]]) -> tuple[Figure | None, Figure | None]:
    """How recovery grows with the queue while the tail stays, and with the tail while the queue stays."""
    by_tail: dict[int, list[Mapping[str, Any]]] = {}
    by_queue: dict[int, list[Mapping[str, Any]]] = {}
    for each in recoveries:
        by_tail.setdefault(each["tail_bytes"], []).append(each)
        by_queue.setdefault(each["queued_bytes"], []).append(each)
    most_sizes, most_tails = max(by_tail.values(), key=len), max(by_queue.values(), key=len)
    sizes = sorted(most_sizes, key=lambda each: int(each["queued_bytes"]))
    tails = sorted(most_tails, key=lambda each: int(each["tail_bytes"]))
    same = linear = None
    if len(sizes) > 1:
        same = Figure.of(sizes[-1]["open_ms"]).over(Figure.of(sizes[0]["open_ms"]))
    if len(tails) > 1:
        growth = Figure.of(tails[-1]["open_ms"]).over(Figure.of(tails[-2]["open_ms"]))
        longer = tails[-1]["tail_bytes"] / tails[-2]["tail_bytes"]
        linear = growth.map(lambda value: value / longer)
    return same, linear
