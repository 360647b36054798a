"""The subject, its baselines, and what is measured of them: names in tables, and parameters in the raw results."""

from __future__ import annotations

from typing import NamedTuple

KIB = 1024
#: Pushes a second at which latencies are compared.
RATE = 100_000
#: The payloads of the tables and plots that compare subjects.
PAYLOADS = (100, KIB)

#: Names in tables and plots, in their order, by the names in the raw results.
NAMES = {
    "ring": "roofline",
    "queue": "mmapqueue",
    "chronicle": "Chronicle Queue",
    "bigqueue": "bigqueue",
    "rocksdb": "RocksDB",
    "heap": "ArrayBlockingQueue",
}


class Benchmark(NamedTuple):
    """A JMH benchmark that all subjects run: class and method, and its title in tables."""

    name: str
    title: str

    @property
    def words(self) -> str:
        """The title without symbols, for plots."""
        return "push beside pop" if self == PIPE else self.title

    @property
    def ring(self) -> str:
        """The title, with the state of the ring."""
        return self.title if self.name.startswith("NewRing") else f"{self.title}, recycled ring"


PUSH = Benchmark("PushBenchmark.push", "push")
POP = Benchmark("PopBenchmark.pop", "pop")
PIPE = Benchmark("PipeBenchmark.pipe", "1 + 1 threads")
NEW_PUSH = Benchmark("NewRingBenchmark.push", "push, new ring")
NEW_POP = Benchmark("NewRingBenchmark.pop", "pop, new ring")
NEW_PIPE = Benchmark("NewRingBenchmark.pipe", "1 + 1 threads, new ring")
POP_BATCH = Benchmark("PopBenchmark.popBatch", "pop in batches")
POP_MESSAGE = Benchmark("PopBenchmark.popMessage", "pop as Message")
GET = Benchmark("GetBenchmark.get", "get")
BENCHMARKS = (PUSH, POP, PIPE)
#: In a new ring and in a recycled one, for subjects without any configuration.
UNCONFIGURED = (NEW_PUSH, PUSH, NEW_POP, POP, NEW_PIPE, PIPE)
#: The queue with no key set, in the raw results.
NO_KEYS = "queue+defaults"


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
SATELLITE = Shape("128 KiB × 4000, 10 mapped (Satellite's defaults)", 128 << 10, 4000, 10)
DEFAULTS = Shape("8 MiB × 64, all mapped (defaults)", 8 << 20, 64, 64)
SHAPES = (LARGE, SMALL, SATELLITE)
