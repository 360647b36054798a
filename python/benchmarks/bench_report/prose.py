"""Generated sentences: machine and dates of the run, and the ratios of the README."""

from __future__ import annotations

from . import python, spark
from .raw import Run
from .subjects import KIB, LARGE, PIPE, POP, PUSH, RATE
from .targets import ratio
from .words import NOTHING, number, percent, rate, table, times, wrapped

#: Names of the parts in the table, by their names in the notes.
_PARTS = {
    "jmh": "throughput",
    "latency": "latencies",
    "pipeline": "pipeline",
    "python": "Python",
    "real-time": "Spark in real time",
    "scale": "large queues",
    "spark": "Spark",
}


def machine(run: Run) -> str:
    """The machine, dates and load of the run."""
    facts = run.machine
    told = [
        ["processor", f"{facts['cpu']}, {facts['cores']} cores"],
        ["memory", f"{facts['memory_gib']} GiB"],
        ["kernel, file system", f"Linux {facts['kernel']}, {facts['file_system']}"],
        ["JDK, Python", f"{facts['jdk']}, Python {facts['python']}"],
    ]
    parts = [table(["", ""], told, left=2)]
    rows = []
    for name, note in run.parts.items():
        begin, end = note["begin"], note.get("end")
        ended = [end["date"], number(end["load"])] if end else ["did not end", NOTHING]
        rows.append(
            [_PARTS[name], f"`{note['command']}`", note["commit"], begin["date"], number(begin["load"]), *ended]
        )
    if rows:
        parts.append(table(["part", "command", "commit", "begin", "load", "end", "load"], rows, left=4))
    else:
        parts.append("When it was done, and under which load, was not noted.")
    rounds = [f"{_PARTS[part]} {count}" for part, count in _rounds(run).items()]
    if rounds:
        parts.append(f"Rounds: {', '.join(rounds)}.")
    return "\n\n".join(parts)


def _rounds(run: Run) -> dict[str, int]:
    """The number of rounds of each measured part."""
    throughput = {name for row in run.rows for name in row.per_second.rounds if name.startswith("round")}
    latencies = max((len(each.service["max"].rounds) for each in run.latencies), default=0)
    others = {
        "python": run.python,
        "scale": run.scales[0] if run.scales else {},
        "spark": run.spark,
        "pipeline": run.pipeline,
    }
    counts = {"jmh": len(throughput), "latency": latencies}
    counts |= {part: content.get("rounds", 0) for part, content in others.items()}
    return {part: count for part, count in counts.items() if count}


def readme(run: Run, picture: str) -> str:
    """The plot, and an item for each of the JVM's throughput, its latencies, and Python with Spark."""
    sentences = [_throughput(run), _latency(run), _python_and_spark(run)]
    items = [wrapped(f"- {sentence}", hanging=2) for sentence in sentences if sentence]
    return "\n\n".join([picture, "\n".join(items)])


def _throughput(run: Run) -> str:
    told = []
    for benchmark, what in (
        (PUSH, "one thread pushes 1 KiB records"),
        (POP, "pops them, checksums verified,"),
        (PIPE, "and passes them from one producer to one consumer at once"),
    ):
        queue, ring, peer = (run.row(benchmark.name, name, KIB) for name in ("queue", "ring", "chronicle"))
        if not (queue and ring):
            return ""
        share = f"{percent(queue.per_second.over(ring.per_second).median)} of that roofline"
        if peer:
            share += f" ({times(queue.per_second.over(peer.per_second).median)} Chronicle Queue)"
        told.append(f"{what} at {number(queue.megabytes.median)} MB/s, {share}")
    return "On the JVM " + "; ".join(told) + "."


def _latency(run: Run) -> str:
    queue, peer = run.latency("queue", RATE, LARGE.segment), run.latency("chronicle", RATE, LARGE.segment)
    if not queue:
        return ""
    points = {"p50": "the median", "p99.9": "99.9 %", "p99.99": "99.99 %"}
    told = ", ".join(f"{number(queue.service[name].median)} µs at {words}" for name, words in points.items())
    sentence = f"At {number(RATE)} pushes a second a push takes {told}"
    if peer:
        behind = [ratio(peer.service[name], queue.service[name]) for name in points]
        longer = ", ".join(times(each.median) for each in behind if each)
        sentence += f"; Chronicle Queue takes {longer} as long"
    return sentence + "."


def _python_and_spark(run: Run) -> str:
    told = []
    many = {name: python.find(run, name, KIB) for name in ("push_many", "pop_many")}
    moved = [f"`{name}` moves {number(found.median * KIB / 1e6)} MB/s" for name, found in many.items() if found]
    if moved:
        told.append(f"from Python {' and '.join(moved)}")
    rows = spark.find(run, spark.READ, 100)
    if rows:
        kafka = ratio(spark.find_beside_kafka(run, spark.READ, 100), spark.kafka(run, 100, "read", tuned=False))
        beside = f", {times(kafka.median)} what it reads from Kafka" if kafka else ""
        told.append(f"Spark reads {rate(rows.median)} rows of 100 B a second{beside}")
    sentence = "; ".join(told)
    return sentence[:1].upper() + sentence[1:] + "." if sentence else ""
