"""Measures workloads in rounds: a round measures each once, so a slow minute of the machine affects all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from queue_bench.workload import Step, Workload, times

#: Long enough to time, and too short for the machine to change.
_CYCLE_SECONDS = 0.02
_MOST_RECORDS = 200_000
_GROWTH = 8
#: Null calls before and after each step: as many as the step's own, within these limits. Every few milliseconds the
#: scheduler moves both ends of a connection to one processor or to two, which changes a call's duration threefold: too
#: few null calls would meet another decision than the step.
_LEAST_NULL_CALLS, _MOST_NULL_CALLS = 25, 200


@dataclass
class Figures:
    """One operation of one workload, round by round; each figure is the median over the cycles of a round.

    Attributes:
        us_per_call: Microseconds of a call.
        null_calls: Duration of a call in null calls made just before and after it; empty without any.
    """

    us_per_call: list[float] = field(default_factory=list)
    null_calls: list[float] = field(default_factory=list)


@dataclass
class Measurement:
    """A workload of a subject, and its figures so far.

    Attributes:
        title: Name for --only and --list.
        subject: Name of the subject.
        payload: Bytes of a record.
        workload: The workload.
        null: The null call that calls are compared with, if the subject has one.
        room: The maximum number of bytes of records in the queue at once.
        figures: By operation.
        null_us: Microseconds of the null calls, round by round.
    """

    title: str
    subject: str
    payload: int
    workload: Workload
    null: Callable[[], object] | None
    room: int
    figures: dict[Step, Figures] = field(default_factory=dict)
    null_us: list[float] = field(default_factory=list)
    _calls: int = 1
    _grown: bool = False
    _was_long: bool = False
    _step_seconds: float = 0.0

    def __post_init__(self) -> None:
        self._whole = self.workload.whole

    def measure(self, seconds: float) -> None:
        """Repeats the workload for `seconds`, once at least, and adds the figures of a round."""
        taken: dict[Step, list[tuple[float, float | None]]] = {}
        nulls: list[float] = []
        end = time.perf_counter() + seconds
        while True:
            self._step_seconds = 0.0
            cycle, cycle_nulls = self._cycle()
            ready = self._grown or time.perf_counter() > end
            self._grow(self._step_seconds)
            if ready:
                nulls += cycle_nulls
                for step, timed in cycle:
                    taken.setdefault(step, []).append(timed)
                if time.perf_counter() > end:
                    break
        for step, each in taken.items():
            figures = self.figures.setdefault(step, Figures())
            figures.us_per_call.append(statistics.median(us for us, _ in each))
            ratios = [ratio for _, ratio in each if ratio is not None]
            if ratios:
                figures.null_calls.append(statistics.median(ratios))
        if nulls:
            self.null_us.append(statistics.median(nulls))

    def _cycle(self) -> tuple[list[tuple[Step, tuple[float, float | None]]], list[float]]:
        found: list[tuple[Step, tuple[float, float | None]]] = []
        null_calls = max(_LEAST_NULL_CALLS, min(_MOST_NULL_CALLS, self._calls))
        nulls = [_null_us(self.null, null_calls)] if self.null else []
        for step in self.workload.steps:
            start = time.perf_counter_ns()
            step.run(self._calls)
            nanoseconds = time.perf_counter_ns() - start
            self._step_seconds += nanoseconds / 1e9
            us = nanoseconds / self._calls / 1000
            ratio = None
            if self.null:
                nulls.append(_null_us(self.null, null_calls))
                ratio = 2 * us / (nulls[-2] + nulls[-1])
            if step.operation:
                found.append((step, (us, ratio)))
        if self._whole:
            whole = sum(us for _, (us, _) in found)
            found.append((self._whole, (whole, whole / statistics.mean(nulls) if nulls else None)))
        self.workload.verify(self._calls)
        return found, nulls

    # Short steps get more calls, as far as the queue has room. Null calls do not count. One long cycle proves nothing:
    # a pause of the machine in a cycle of few calls would leave it at these.
    def _grow(self, seconds: float) -> None:
        if self._grown:
            return
        batch = self.workload.batch
        most = max(1, min(_MOST_RECORDS, self.room // self.payload) // batch)
        is_long = seconds >= _CYCLE_SECONDS / 2
        if self._calls >= most or (is_long and self._was_long):
            self._grown = True
        elif not is_long:
            self._calls = min(most, max(self._calls + 1, int(self._calls * min(_GROWTH, _CYCLE_SECONDS / seconds))))
        self._was_long = is_long


def _null_us(null: Callable[[], object], calls: int) -> float:
    run = times(null)
    start = time.perf_counter_ns()
    run(calls)
    return (time.perf_counter_ns() - start) / calls / 1000


def go(
    measurements: list[Measurement], rounds: int, seconds: float, deadline: float, tell: Callable[[str], None]
) -> int:
    """Measures in rounds, forth and back in turn.

    Args:
        measurements: The measurements of a round.
        rounds: The most rounds.
        seconds: Duration of each measurement in a round, if one cycle is not longer.
        deadline: After the first, no round starts that would probably end later: seconds of `time.monotonic`.
        tell: Prints progress.

    Returns:
        The number of rounds.
    """
    longest = 0.0
    for number in range(rounds):
        start = time.monotonic()
        if number and start + longest > deadline:
            return number
        tell(f"round {number + 1} of {rounds}: {len(measurements)} workloads")
        order: Iterable[Measurement] = reversed(measurements) if number % 2 else measurements
        for measurement in order:
            measurement.measure(seconds)
        longest = max(longest, time.monotonic() - start)
    return rounds
