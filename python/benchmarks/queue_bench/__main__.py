"""Measures the Python module and other queues: `make bench-python`, or `python -m queue_bench` in python/benchmarks."""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from queue_bench import acknowledged, files, memory, own, plain, redis_server, report, rounds, sqlite
from queue_bench.workload import Subject, Workload

_BATCHES = "1,10,100,1000,10000"
#: Not of the rounds: the time from a push to its handle.
_ACKNOWLEDGED = f"{own.STANDALONE}: acknowledged, batch 1"


def _numbers(text: str) -> list[int]:
    numbers = [int(word) for word in text.split(",")]
    if min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected numbers from 1, with commas between them")
    return numbers


def _positive(text: str) -> int:
    return _numbers(text)[0]


def _regex(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text}: no regular expression: {error}") from None


def parser() -> argparse.ArgumentParser:
    """The options."""
    found = argparse.ArgumentParser(prog="queue_bench", description=__doc__.splitlines()[0])
    found.add_argument("--rounds", type=_positive, default=5, help="the most rounds (%(default)s)")
    found.add_argument("--seconds", type=float, default=0.3, help="of each workload in a round (%(default)s)")
    found.add_argument("--minutes", type=float, default=7.5, help="no round starts that would end later (%(default)s)")
    found.add_argument("--only", type=_regex, default="", help="workloads that match, as --list prints them (all)")
    found.add_argument("--batches", type=_numbers, default=_BATCHES, help="records in a call (%(default)s)")
    found.add_argument("--payloads", type=_numbers, default="100,1024", help="bytes of a record (%(default)s)")
    found.add_argument("--ring", type=_positive, default=256, help="MiB of mmapqueue's ring (%(default)s)")
    found.add_argument("--segment-size", default="1m", help="of mmapqueue's segments (%(default)s)")
    found.add_argument("--spark", action="store_true", help="mmapqueue in a Spark session, too")
    found.add_argument(
        "--directory",
        type=Path,
        default=Path("build/bench/python"),
        help="for the queues, on a real disk (%(default)s)",
    )
    found.add_argument("--json", type=Path, help="a file for the results (python.json in that directory)")
    found.add_argument("--list", action="store_true", help="print the workloads and measure nothing")
    return found


def _present(subjects: list[Subject]) -> tuple[list[Subject], dict[str, str]]:
    """The installed ones, and why the others are missing."""
    present = []
    missing = {}
    for subject in subjects:
        try:
            subject.version()
            present.append(subject)
        except (ImportError, FileNotFoundError) as error:
            missing[subject.name] = str(error)
    return present, missing


def _title(subject: Subject, workload: Workload) -> str:
    operations = ", ".join(step.operation for step in workload.steps if step.operation)
    return f"{subject.name}: {operations}, batch {workload.batch}"


def _measurements(
    subject: Subject, options: argparse.Namespace, scratch: Path, stack: ExitStack
) -> list[rounds.Measurement]:
    """The chosen workloads of a subject; their queues are open until the stack is left."""
    measurements = []
    for payload in options.payloads:
        session = subject.open(Path(tempfile.mkdtemp(dir=scratch)), payload)
        stack.callback(session.close)
        for workload in session.workloads(options.batches):
            if options.only.search(_title(subject, workload)):
                title = _title(subject, workload)
                measurements.append(
                    rounds.Measurement(title, subject.name, payload, workload, session.null, session.room)
                )
        if measurements and not options.list:
            session.warm()
    return measurements


def main(words: list[str] | None = None) -> None:
    """Measures and writes the results."""
    options = parser().parse_args(words)
    end = time.monotonic() + options.minutes * 60
    present, missing = _present(
        [
            *own.subjects(options.ring << 20, options.segment_size, options.spark),
            *plain.subjects(options.ring << 20),
            *memory.SUBJECTS,
            *files.SUBJECTS,
            *sqlite.SUBJECTS,
            *redis_server.SUBJECTS,
        ]
    )
    for name, why in missing.items():
        _tell(f"{name}: not found ({why})")
    options.directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="queues-", dir=options.directory)))
        measurements = {subject: _measurements(subject, options, scratch, stack) for subject in present}
        # Compared measurements are neighbours.
        ordered = sorted(
            itertools.chain(*measurements.values()),
            key=lambda measurement: (measurement.payload, measurement.workload.batch),
        )
        if options.list:
            titles = [measurement.title for measurement in ordered]
            titles += [_ACKNOWLEDGED] * bool(options.only.search(_ACKNOWLEDGED))
            print("\n".join(dict.fromkeys(titles)))
            return
        number = rounds.go(ordered, options.rounds, options.seconds, end, _tell)
        waits = None
        if options.only.search(_ACKNOWLEDGED):
            waits = acknowledged.measure(scratch, number, _tell)
    taken_part = [subject for subject, chosen in measurements.items() if chosen]
    found = report.results(ordered, taken_part, missing, number)
    if waits is not None:
        found["acknowledged"] = waits
    file = options.json or options.directory / "python.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    _tell(f"{number} rounds: {file}")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
