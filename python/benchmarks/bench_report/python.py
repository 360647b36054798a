"""The Python module beside Python's queues: its tables and its targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .figure import Figure
from .raw import Run
from .subjects import KIB
from .targets import Check, Target, ratio
from .words import NOTHING, number, rate, size, spread, table

#: The module in a JVM of its own; in a Spark session its name is longer.
OWN = "mmapqueue"
#: The subject that copies through a mapped file.
PLAIN_COPY = "plain copy through mmap"
#: The operations of the document, with the words for each; the raw results have more.
_REPORTED = {
    "push": "push",
    "pop": "pop",
    "push_handle": "push with a handle",
    "push_handle_sync": "the same, durable",
    "pop_ack": "pop and ack",
    "push_many": "push many",
    "pop_many": "pop many",
    "push_arrow": "push Arrow",
    "pop_arrow": "pop Arrow",
    "consume": "iteration",
    "aconsume": "iteration, asyncio",
}


class Result(NamedTuple):
    """Records by the second of one subject in one operation, in each round."""

    subject: str
    operation: str
    batch: int
    payload: int
    per_second: Figure


def results(run: Run) -> list[Result]:
    """Returns all of them in the order of the raw results."""
    return [
        Result(each["subject"], each["operation"], each["batch"], each["payload"], Figure.of(each["per_second"]))
        for each in run.python.get("results", [])
    ]


def find(run: Run, operation: str, payload: int, batch: int | None = None, subject: str = OWN) -> Figure | None:
    """Returns records by the second; of the fastest batch if none is given. None if not measured."""
    found = [
        each.per_second
        for each in results(run)
        if (each.subject, each.operation, each.payload) == (subject, operation, payload) and batch in (None, each.batch)
    ]
    return max(found, key=lambda figure: figure.median) if found else None


def batches_of(run: Run, payload: int) -> Sequence[int]:
    """Returns the measured sizes of batches, ascending."""
    return sorted({each.batch for each in results(run) if each.payload == payload})


def tables(run: Run) -> str:
    """Records by the second, a table for each size of record: operations and subjects down, batches across."""
    parts = [_table(run, payload) for payload in sorted({each.payload for each in results(run)})]
    parts += [_null_sentence(run), _subjects(run)]
    return "\n\n".join(part for part in parts if part)


def report(run: Run) -> str:
    """Records by the second at the best batch, for operations that programs compare, and how each subject is used."""
    payloads = sorted({each.payload for each in results(run)})
    head = ["", "", *(f"{size(payload)}, {unit}" for payload in payloads for unit in ("records/s", "MB/s"))]
    rows = []
    for operation, told in _REPORTED.items():
        for subject in dict.fromkeys(each.subject for each in results(run) if each.operation == operation):
            cells = []
            for payload in payloads:
                best = find(run, operation, payload, subject=subject)
                cells += [rate(best.median), _megabytes(best, payload)] if best else [NOTHING, NOTHING]
            rows.append([told, subject, *cells])
    parts = [table(head, rows, left=2)] if rows else []
    return "\n\n".join([*parts, *(part for part in (_null_sentence(run), _subjects(run)) if part)])


def _megabytes(per_second: Figure, payload: int) -> str:
    figure = per_second.map(lambda records: records * payload / 1e6)
    return f"{number(figure.median)} ({spread(figure)})"


def _null_sentence(run: Run) -> str:
    nulls = [f"{name} {number(Figure.of(values).median)} µs" for name, values in _nulls(run).items()]
    return f"A py4j call that does nothing: {', '.join(nulls)}." if nulls else ""


def _subjects(run: Run) -> str:
    told = run.python.get("subjects", {})
    rows = [[name, each["version"], each["fast_path"], each["survives"]] for name, each in told.items()]
    parts = [table(["", "version", "used so", "what survives kill -9"], rows, left=4)] if rows else []
    parts += [f"{name}: not measured, {why}." for name, why in run.python.get("missing", {}).items()]
    return "\n\n".join(parts)


def _table(run: Run, payload: int) -> str:
    batches = batches_of(run, payload)
    rows: dict[tuple[str, str], dict[int, Figure]] = {}
    for each in results(run):
        if each.payload == payload:
            rows.setdefault((each.operation, each.subject), {})[each.batch] = each.per_second
    operations = list(dict.fromkeys(operation for operation, _ in rows))
    lines = []
    for (operation, subject), figures in sorted(rows.items(), key=lambda row: operations.index(row[0][0])):
        told = [rate(figures[batch].median) if batch in figures else NOTHING for batch in batches]
        best = max(figures.values(), key=lambda figure: figure.median).map(lambda records: records * payload / 1e6)
        lines.append([operation, subject, *told, number(best.median), spread(best)])
    head = ["", "records/s in batches of", *map(number, batches), "most, MB/s", "min–max"]
    return f"Records of {size(payload)}:\n\n{table(head, lines, left=2)}"


def _nulls(run: Run) -> dict[str, list[float]]:
    """Microseconds of a py4j call that does nothing, by subject, in each round."""
    nulls = run.python.get("unit_null_call_us", {})
    by_name = nulls if isinstance(nulls, dict) else {OWN: nulls}
    return {name: values if isinstance(values, list) else [values] for name, values in by_name.items()}


def _null_calls(run: Run, operation: str) -> Figure | None:
    """The duration of an operation in null calls that were timed next to it."""
    for each in run.python.get("results", []):
        if (each["subject"], each["operation"], each["batch"], each["payload"]) == (OWN, operation, 1, KIB):
            return Figure.of(each["null_calls"])
    return None


def _one_by_one(run: Run) -> list[Check]:
    """Handles, prefetched pops and coalesced acks beside the queue of the standard library, which is in memory."""
    checks = []
    for operation, peer, least, words in (
        ("push_handle", "push", 0.7, "Pushes one by one, until all handles are done, as a multiple of queue.Queue.put"),
        ("push_handle_sync", "push", 0.2, "The same with sync: durable"),
        ("pop_ack", "pop", 0.7, "Pop and ack one by one, until all acks are sent, as a multiple of queue.Queue.get"),
    ):
        figure = ratio(find(run, operation, 100, 1), find(run, peer, 100, 1, "queue.Queue"))
        checks.append(Check(f"{words}, 100 B", figure, least, "times"))
    waits = run.python.get("acknowledged")
    linger = waits["linger_ms"] if waits else 5.0
    words = f"From a push to its handle at p99, with linger {linger:g} ms"
    return [*checks, Check(words, Figure.of(waits["p99_ms"]) if waits else None, linger + 2, "ms", at_least=False)]


def targets(run: Run) -> list[Target]:
    """What is promised of the Python module."""
    many = []
    for operation in ("push_many", "pop_many"):
        found = find(run, operation, KIB)
        megabytes = found.map(lambda records: records * KIB / 1e6) if found else None
        many.append(Check(f"{operation} of 1 KiB records, at the best batch", megabytes, 2500, "MB/s"))
    arrow = []
    for operation in ("push", "pop"):
        times = ratio(find(run, f"{operation}_arrow", KIB), find(run, f"{operation}_many", KIB))
        words = f"{operation}_arrow of 1 KiB records, as a multiple of {operation}_many, each at its best batch"
        arrow.append(Check(words, times, 2, "times"))
        rate = find(run, f"{operation}_arrow", KIB)
        megabytes = rate.map(lambda records: records * KIB / 1e6) if rate else None
        arrow.append(Check("The same", megabytes, 3000 if operation == "push" else 4000, "MB/s"))
    copied = ratio(find(run, "round_trip_arrow", KIB), find(run, "round_trip_many", KIB, subject=PLAIN_COPY))
    arrow.append(Check("push_arrow and pop_arrow, as a multiple of a plain copy through mmap", copied, 0.95, "times"))
    single = []
    for operation in ("push", "pop"):
        words = f"One {operation} of 1 KiB, as a multiple of a py4j call that does nothing"
        single.append(Check(words, _null_calls(run, operation), 1.5, "times", at_least=False))
    iterated = find(run, "consume", KIB)
    millions = iterated.map(lambda records: records / 1e6) if iterated else None
    return [
        Target("Python, many at a time", many),
        Target("Python, Arrow", arrow),
        Target("Python, one at a time", single),
        Target("Python, one record a call", _one_by_one(run)),
        Target("Python, iteration", [Check("Iteration over a consumer, 1 KiB", millions, 0.5, "million/s")]),
    ]
