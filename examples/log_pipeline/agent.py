"""A log agent: follows files and pushes each of their lines into a queue.

It runs without Spark, and needs nothing of the job that reads: while the job is away the queue keeps the
lines, and when the queue is full the agent waits.

    python agent.py --queue /var/spool/logs --state /var/spool/logs.json /var/log/dpkg.log /var/log/syslog

Lines go in at least once. What has been pushed is safe from a kill at once; how far each file has been read
is written down a moment later. An agent killed in between pushes some lines again when it is restarted, and
the reader drops those by (source, position). The other order, noting first and pushing later, would lose
lines instead.

It follows growth, not rotation: a file that shrinks ends the agent with an error.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import mmapqueue
from shared import Line, append_status, open_patiently, pack

#: Longest piece that is pushed as one record; of a longer line every piece is a record of its own.
MAX_PIECE = 16 * 1024

#: Most lines that are pushed at once.
MAX_BATCH = 5000

STATUS_PERIOD = 0.1


class Place(NamedTuple):
    """How far a file has been read: bytes, and whole lines."""

    position: int = 0
    line: int = 0


class Tail:
    """Reads one file from a place onwards, whole lines only.

    A last line without its end is still being written, so it is left for later; but where a limit (a size
    in bytes) is given, the file is read up to there and no further, and what stands before it is taken.
    """

    def __init__(self, source: str, place: Place, limit: int | None = None) -> None:
        self.source = source
        self.place = place
        self._limit = limit
        if Path(source).stat().st_size < place.position:
            raise SystemExit(f"agent: {source} is shorter than what was read of it: rotated or cut")
        self._file = Path(source).open("rb")  # noqa: SIM115 - open as long as the file is followed
        self._file.seek(place.position)

    def close(self) -> None:
        self._file.close()

    @property
    def caught_up(self) -> bool:
        """Whether the limit has been reached; never true without one."""
        return self._limit is not None and self.place.position >= self._limit

    def read(self, count: int) -> list[Line]:
        """Return up to `count` further lines, fewer where the file has no more."""
        lines: list[Line] = []
        while len(lines) < count and not self.caught_up:
            position, number = self.place
            room = MAX_PIECE if self._limit is None else min(MAX_PIECE, self._limit - position)
            raw = self._file.readline(room)
            whole = raw.endswith(b"\n")
            if not whole and len(raw) < room:  # the end of the file, perhaps in the midst of a line
                self._file.seek(position)
                break
            lines.append(Line(self.source, position, number + 1, raw))
            self.place = Place(position + len(raw), number + 1 if whole else number)
        return lines


class Pace:
    """Says how many lines are due, so that no more than `rate` lines a second go in (0: as fast as can be)."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._started = time.monotonic()
        self._taken = 0

    def due(self) -> int:
        """Return how many lines may be read now."""
        if not self._rate:
            return MAX_BATCH
        elapsed = time.monotonic() - self._started
        return min(MAX_BATCH, int(elapsed * self._rate) - self._taken)

    def take(self, count: int) -> None:
        """Note that `count` lines have been read."""
        self._taken += count


def load_state(path: Path) -> dict[str, Place]:
    """Return how far each source has been read; nothing at the first start."""
    if not path.exists():
        return {}
    return {source: Place(*place) for source, place in json.loads(path.read_text()).items()}


def save_state(path: Path, places: dict[str, Place]) -> None:
    """Replace the state file in one step, so that a kill leaves the old one or the new one, never half."""
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w") as file:
        json.dump(places, file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def next_lines(tails: Sequence[Tail], count: int) -> list[Line]:
    """Return up to `count` lines, an equal share of each file as long as it has some."""
    lines: list[Line] = []
    waiting = list(tails)
    while waiting and len(lines) < count:
        share = max(1, (count - len(lines)) // len(waiting))
        for tail in list(waiting):
            taken = tail.read(min(share, count - len(lines)))
            lines += taken
            if not taken:
                waiting.remove(tail)
    return lines


def push_all(queue: mmapqueue.Queue, lines: Sequence[Line], stop: threading.Event) -> bool:
    """Push the lines, waiting as long as the queue is full. False: told to stop before all were in."""
    records = [pack(line) for line in lines]
    while records:
        try:
            queue.push_many(records, timeout=1.0)
            records = []
        except mmapqueue.Full as full:
            if stop.is_set():
                return False
            records = records[full.pushed :]
    return True


def follow(queue: mmapqueue.Queue, tails: Sequence[Tail], options: argparse.Namespace, stop: threading.Event) -> None:
    """Push what the files hold, and what they grow by, until told to stop."""
    pace = Pace(options.rate)
    saved = reported = time.monotonic()
    unsaved = True
    pushed = 0
    while not stop.is_set():
        due = pace.due() if options.hold is None else min(pace.due(), options.hold - pushed)
        lines = next_lines(tails, due)
        if lines:
            if not push_all(queue, lines, stop):
                return  # part of these lines is not in: the state must not say it is
            pace.take(len(lines))
            pushed += len(lines)
            unsaved = True
        now = time.monotonic()
        if unsaved and now - saved >= options.save_every:
            # After a power cut the state must not be ahead of the queue: the queue goes to disk first.
            queue.flush()
            save_state(options.state, {tail.source: tail.place for tail in tails})
            saved, unsaved = now, False
        if now - reported >= STATUS_PERIOD:
            report(options.status, queue, tails, pushed)
            reported = now
        if not lines:
            stop.wait(0.02)
    queue.flush()
    save_state(options.state, {tail.source: tail.place for tail in tails})
    report(options.status, queue, tails, pushed)


def report(status: Path | None, queue: mmapqueue.Queue, tails: Sequence[Tail], pushed: int) -> None:
    """Say how far this agent is: lines pushed since its start, and where the queue ends."""
    caught_up = all(tail.caught_up for tail in tails)
    append_status(status, event="pushed", pushed=pushed, end=queue.stats().end_offset, caught_up=caught_up)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Push the lines of log files into a queue.")
    parser.add_argument("files", nargs="*", help="files to follow")
    parser.add_argument("--queue", required=True, help="directory of the queue; this process is its writer")
    parser.add_argument("--capacity", default="512m", help="size of the queue (default 512m)")
    parser.add_argument("--state", required=True, type=Path, help="where to remember how far the files are read")
    parser.add_argument("--save-every", type=float, default=1.0, help="seconds between two notes of that (1)")
    parser.add_argument("--limits", type=Path, help='JSON, {"file": {"size": bytes}}: read so far, no further')
    parser.add_argument("--rate", type=float, default=0, help="lines a second; 0, the default: no bound")
    parser.add_argument("--hold", type=int, help="push so many records, then wait to be ended (default: no such end)")
    parser.add_argument("--status", type=Path, help="JSON lines to append the progress to")
    options = parser.parse_args(arguments)
    if not options.files and not options.limits:
        parser.error("name files to follow, or --limits")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())

    limits = json.loads(options.limits.read_text()) if options.limits else {}
    places = load_state(options.state)
    tails = [Tail(file, places.get(file, Place())) for file in options.files]
    tails += [Tail(file, places.get(file, Place()), entry["size"]) for file, entry in limits.items()]

    def open_queue() -> mmapqueue.Queue:
        return mmapqueue.Queue(None, options.queue, capacity=options.capacity)

    with open_patiently(open_queue) as queue:
        append_status(options.status, event="ready")
        follow(queue, tails, options, stop)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
