"""Measures what the arguments say: `make bench-python`, or `python -m queue_bench` in python/benchmarks."""

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

from queue_bench import files, memory, own, redis_server, report, rounds, sqlite
from queue_bench.course import Contender, Course

_BATCHES = "1,10,100,1000,10000"


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
    """What can be said."""
    found = argparse.ArgumentParser(prog="queue_bench", description=__doc__.splitlines()[0])
    found.add_argument("--rounds", type=_positive, default=5, help="how often all is gone through (%(default)s)")
    found.add_argument("--seconds", type=float, default=0.3, help="of each course in a round (%(default)s)")
    found.add_argument(
        "--minutes", type=float, default=7.5, help="no round is begun that would end later (%(default)s)"
    )
    found.add_argument(
        "--only", type=_regex, default="", help="courses whose 'contender: operations, batch N' matches (all)"
    )
    found.add_argument("--batches", type=_numbers, default=_BATCHES, help="records in a call (%(default)s)")
    found.add_argument("--payloads", type=_numbers, default="100,1024", help="bytes of a record (%(default)s)")
    found.add_argument("--ring", type=_positive, default=256, help="MiB of mmapqueue's ring (%(default)s)")
    found.add_argument("--segment-size", default="1m", help="of mmapqueue's segments (%(default)s)")
    found.add_argument("--spark", action="store_true", help="mmapqueue in a Spark session, too")
    found.add_argument(
        "--directory", type=Path, default=Path("build/bench/python"), help="where to work, on a real disk (%(default)s)"
    )
    found.add_argument("--json", type=Path, help="a file for the results (python.json in that directory)")
    found.add_argument("--list", action="store_true", help="print the courses and measure nothing")
    return found


def _present(contenders: list[Contender]) -> tuple[list[Contender], dict[str, str]]:
    """Those that are installed, and why the others are not there."""
    present = []
    missing = {}
    for contender in contenders:
        try:
            contender.version()
            present.append(contender)
        except (ImportError, FileNotFoundError) as error:
            missing[contender.name] = str(error)
    return present, missing


def _title(contender: Contender, course: Course) -> str:
    operations = ", ".join(step.operation for step in course.steps if step.operation)
    return f"{contender.name}: {operations}, batch {course.batch}"


def _cells(contender: Contender, options: argparse.Namespace, scratch: Path, stack: ExitStack) -> list[rounds.Cell]:
    """The courses of a contender that are wanted; what they need is open until the stack is left."""
    cells = []
    for payload in options.payloads:
        session = contender.open(Path(tempfile.mkdtemp(dir=scratch)), payload)
        stack.callback(session.close)
        for course in session.courses(options.batches):
            if options.only.search(_title(contender, course)):
                title = _title(contender, course)
                cells.append(rounds.Cell(title, contender.name, payload, course, session.null, session.room))
        if cells and not options.list:
            session.warm()
    return cells


def main(words: list[str] | None = None) -> None:
    """Measures, prints a table and writes the results."""
    options = parser().parse_args(words)
    end = time.monotonic() + options.minutes * 60
    present, missing = _present(
        [
            *own.contenders(options.ring << 20, options.segment_size, options.spark),
            *memory.CONTENDERS,
            *files.CONTENDERS,
            *sqlite.CONTENDERS,
            *redis_server.CONTENDERS,
        ]
    )
    for name, why in missing.items():
        _tell(f"{name}: not found ({why})")
    before = report.machine()
    options.directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="queues-", dir=options.directory)))
        cells = {contender: _cells(contender, options, scratch, stack) for contender in present}
        # Those that are compared stand side by side.
        ordered = sorted(itertools.chain(*cells.values()), key=lambda cell: (cell.payload, cell.course.batch))
        if options.list:
            print("\n".join(dict.fromkeys(cell.title for cell in ordered)))
            return
        number = rounds.go(ordered, options.rounds, options.seconds, end, _tell)
    taken_part = [contender for contender, chosen in cells.items() if chosen]
    found = report.results(ordered, taken_part, missing, number, before)
    file = options.json or options.directory / "python.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(report.table(found))
    print(f"\nMedians of {number} rounds; raw results: {file}")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
