"""Who is measured and how: the names that readers see, and the parameters behind them."""

from __future__ import annotations

from typing import NamedTuple

KIB = 1024
#: Pushes a second at which latencies are compared.
RATE = 100_000
#: The payloads that are told of first.
PAYLOADS = (100, KIB)

#: Names by what the raw results call them, in the order of tables and plots.
NAMES = {
    "ring": "roofline",
    "queue": "mmapqueue",
    "chronicle": "Chronicle Queue",
    "bigqueue": "bigqueue",
    "rocksdb": "RocksDB",
    "heap": "ArrayBlockingQueue",
}


class Course(NamedTuple):
    """One thing that all contenders do."""

    benchmark: str
    name: str


PUSH = Course("PushBenchmark.push", "push")
POP = Course("PopBenchmark.pop", "pop")
PIPE = Course("PipeBenchmark.pipe", "1 + 1 threads")
COURSES = (PUSH, POP, PIPE)


class Shape(NamedTuple):
    """A ring: its segments, and how many of them may be mapped at once."""

    name: str
    segment: int
    capacity: int
    mapped: int

    def parameters(self) -> dict[str, object]:
        """As the benchmarks take them."""
        return {"segment": self.segment, "capacity": self.capacity, "mapped": self.mapped}


LARGE = Shape("64 MiB × 16, all mapped", 64 << 20, 16, 16)
SMALL = Shape("128 KiB × 4000, all mapped", 128 << 10, 4000, 4000)
DEFAULTS = Shape("128 KiB × 4000, 10 mapped (defaults)", 128 << 10, 4000, 10)
SHAPES = (LARGE, SMALL, DEFAULTS)
