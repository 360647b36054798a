"""The targets of the JVM library: throughput beside the roofline and peers, latencies, durable pushes."""

from __future__ import annotations

from .figure import Figure
from .raw import Run
from .subjects import (
    DEFAULTS,
    GET,
    KIB,
    LARGE,
    NEW_PIPE,
    NEW_PUSH,
    NO_KEYS,
    PIPE,
    POP,
    POP_BATCH,
    POP_MESSAGE,
    PUSH,
    RATE,
    SATELLITE,
    SMALL,
    UNCONFIGURED,
    Benchmark,
    Shape,
)
from .targets import Check, Target, ratio

#: Percentiles at which a push is to be faster than the peer's.
_POINTS = ("p50", "p99", "p99.9", "p99.99", "max")


def targets(run: Run) -> list[Target]:
    """Returns them with what was measured."""
    return [
        Target(
            "Push of 1 KiB",
            [
                _roofline(run, PUSH, KIB, 0.60),
                _peer(run, PUSH, KIB, "bigqueue", 5),
                _peer(run, PUSH, KIB, "chronicle", 3),
            ],
        ),
        Target("Push of 100 B", [_roofline(run, PUSH, 100, 0.60), _peer(run, PUSH, 100, "chronicle", 3)]),
        Target("Pop of 1 KiB", [_roofline(run, POP, KIB, 0.65), _peer(run, POP, KIB, "chronicle", 1)]),
        Target("Pop of 100 B", [_roofline(run, POP, 100, 0.50), _peer(run, POP, 100, "chronicle", 1)]),
        Target("Pop in batches", [_batches(run)]),
        Target("Pop as Message", [_messages(run)]),
        Target("Random get", [_random(run)]),
        Target("New ring of large segments", _new_ring(run)),
        Target(
            "Both at once, 1 KiB",
            [
                _roofline(run, PIPE, KIB, 0.55),
                _peer(run, PIPE, KIB, "bigqueue", 5),
                _peer(run, PIPE, KIB, "chronicle", 1.5),
            ],
        ),
        Target("Both at once, 100 B", [_peer(run, PIPE, 100, "chronicle", 2)]),
        Target("No configuration", _unconfigured(run)),
        Target("Eight threads", [_threads(run)]),
        Target("Latency of a push", _latencies(run)),
        Target("Durable push", _durable(run)),
    ]


def _rate(run: Run, benchmark: Benchmark, payload: int, subject: str, **parameters: object) -> Figure | None:
    row = run.row(benchmark.name, subject, payload, **parameters)
    return row.per_second if row else None


_DONE = {
    PUSH: "{} pushed by one thread",
    POP: "{} popped by one thread, checksums verified",
    PIPE: "{} pushed by one thread while another one pops",
}


def _words(benchmark: Benchmark, payload: int, against: str) -> str:
    return f"{_DONE[benchmark].format('1 KiB' if payload == KIB else f'{payload} B')}, as a {against}"


def _roofline(run: Run, benchmark: Benchmark, payload: int, least: float) -> Check:
    figure = ratio(_rate(run, benchmark, payload, "queue"), _rate(run, benchmark, payload, "ring"))
    return Check(_words(benchmark, payload, "share of the roofline"), figure, least, "percent")


def _peer(run: Run, benchmark: Benchmark, payload: int, peer: str, least: float) -> Check:
    name = {"chronicle": "Chronicle Queue", "bigqueue": "bigqueue"}[peer]
    figure = ratio(_rate(run, benchmark, payload, "queue"), _rate(run, benchmark, payload, peer))
    return Check(_words(benchmark, payload, f"multiple of {name}"), figure, least, "times")


def _batches(run: Run) -> Check:
    figure = ratio(_rate(run, POP_BATCH, KIB, "queue", batch=100), _rate(run, POP, KIB, "queue"))
    return Check("1 KiB popped 100 with each call, as a multiple of one by one", figure, 1.2, "times")


def _messages(run: Run) -> Check:
    figure = ratio(_rate(run, POP_MESSAGE, KIB, "queue"), _rate(run, POP_MESSAGE, KIB, "memcpy"))
    return Check("1 KiB popped as Message, as a share of a memcpy into a new array", figure, 0.60, "percent")


def _random(run: Run) -> Check:
    row = run.row(GET.name, "queue", KIB)
    return Check("1 KiB at a random offset, 1 GiB queued", row.micros if row else None, 0.6, "µs", at_least=False)


def _new_ring(run: Run) -> list[Check]:
    checks = []
    for new, old in ((NEW_PUSH, PUSH), (NEW_PIPE, PIPE)):
        figure = ratio(_rate(run, new, KIB, "queue"), _rate(run, old, KIB, "ring"))
        words = f"1 KiB, {new.title}, as a share of the roofline's recycled ring"
        checks.append(Check(words, figure, 0.60, "percent"))
    return checks


def _unconfigured(run: Run) -> list[Check]:
    checks = []
    for benchmark in UNCONFIGURED:
        queue, peer = (_rate(run, benchmark, KIB, name, **DEFAULTS.parameters()) for name in (NO_KEYS, "chronicle"))
        words = f"1 KiB with no key set, as a multiple of Chronicle Queue: {benchmark.ring}"
        checks.append(Check(words, ratio(queue, peer), 1.5, "times"))
    return checks


def _threads(run: Run) -> Check:
    many = _rate(run, PIPE, KIB, "queue", producers=4, consumers=4)
    figure = ratio(many, _rate(run, PIPE, KIB, "queue"))
    return Check("1 KiB through 4 producers and 4 consumers, as a share of 1 + 1", figure, 0.70, "percent")


def _latencies(run: Run) -> list[Check]:
    checks = []
    for shape, point, most in (
        (LARGE, "p50", 0.15),
        (LARGE, "p99", 0.4),
        (LARGE, "p99.9", 1),
        (SATELLITE, "p99.9", 10),
        (LARGE, "p99.99", 50),
        (LARGE, "max", 1000),
    ):
        words = f"1 KiB at 100 000 pushes/s, segments of {_segment(shape)}: {point}"
        checks.append(Check(words, _point(run, "queue", shape, point), most, "µs", at_least=False))
    behind = [ratio(_point(run, "chronicle", LARGE, point), _point(run, "queue", LARGE, point)) for point in _POINTS]
    there = [each for each in behind if each]
    worst = min(there, key=lambda each: each.median) if there else None
    words = f"the same, Chronicle Queue's time as a multiple, at the worst of {', '.join(_POINTS)}"
    checks.append(Check(words, worst, 1, "times"))
    return checks


def _segment(shape: Shape) -> str:
    return shape.name.partition(" ×")[0]


def _point(run: Run, subject: str, shape: Shape, point: str) -> Figure | None:
    found = run.latency(subject, RATE, shape.segment)
    return found.service.get(point) if found else None


def _durable(run: Run) -> list[Check]:
    sync = Benchmark("SyncBenchmark.pushSync", "durable push")

    def synced(subject: str, threads: int = 1, shape: Shape = LARGE) -> Figure | None:
        return _rate(run, sync, KIB, subject, ceiling=0, threads=threads, **shape.parameters())

    written = synced("write+fsync")
    return [
        *(
            Check(
                f"1 KiB by one thread, segments of {_segment(shape)}, as a multiple of write(2) + fdatasync(2)",
                ratio(synced("queue", shape=shape), written),
                1,
                "times",
            )
            for shape in (SMALL, LARGE)
        ),
        Check(
            "1 KiB by 64 threads that share their fsyncs, as a multiple of Chronicle Queue with one sync() for 100",
            ratio(synced("queue", 64), synced("chronicle+sync100")),
            2,
            "times",
        ),
    ]
