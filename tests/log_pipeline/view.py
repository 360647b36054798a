"""What a running pipeline looks like from outside: rates and lag, on the terminal and as samples for the plot."""

from __future__ import annotations

import contextlib
import json
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table

import mmapqueue
from journal import Follower

#: Seconds over which a rate is taken.
RATE_OVER = 3.0
#: Seconds between two lines where the output is not a terminal.
PLAIN_EVERY = 5.0


@dataclass(frozen=True)
class Sample:
    """The figures of one moment.

    Attributes:
        time: Seconds since 1970.
        lines: Lines that the growing log has.
        accepted: Records of clients that were answered.
        stored: Records that the queue has taken.
        sent: Records that each sender has committed.
    """

    time: float
    lines: int
    accepted: int
    stored: int
    sent: Mapping[str, int]

    def lag(self, sender: str) -> int:
        """Records that a sender has not committed."""
        return max(0, self.stored - self.sent[sender])


class Watch:
    """Looks into a pipeline's queue and checkpoints as any process may, and notes what it sees."""

    def __init__(self, queue: Path, checkpoints: Mapping[str, Path], journals: Sequence[Path], out: Path) -> None:
        self.journals = [Follower(path) for path in journals]
        self._queue_path = queue
        self._queue: mmapqueue.Queue | None = None
        self._checkpoints = checkpoints
        self._out = out.open("a", buffering=1)

    def sample(self, lines: int) -> Sample:
        """The figures now; `lines` is what the growing log has."""
        for journal in self.journals:
            journal.poll()
        sample = Sample(
            time=time.time(),
            lines=lines,
            accepted=sum(journal.accepted for journal in self.journals),
            stored=self._stored(),
            sent={name: committed(path) for name, path in self._checkpoints.items()},
        )
        self._out.write(json.dumps(asdict(sample)) + "\n")
        return sample

    def open_requests(self) -> tuple[int, int]:
        """Requests of clients without an answer, and records in them."""
        waiting = [records for journal in self.journals for records in journal.open.values()]
        return len(waiting), sum(waiting)

    def _stored(self) -> int:
        if self._queue is None:
            with contextlib.suppress(mmapqueue.MmapQueueError):  # not made yet
                self._queue = mmapqueue.Queue(self._queue_path, read_only=True)
        return 0 if self._queue is None else self._queue.stats().end_offset

    def close(self) -> None:
        """Lets the queue go."""
        if self._queue is not None:
            self._queue.close()
        self._out.close()


def committed(checkpoint: Path) -> int:
    """Records that a streaming query has committed, by its checkpoint: the offsets of its last committed batch."""
    batches = _numbers(checkpoint / "commits")
    return offset(checkpoint, max(batches)) if batches else 0


def unfinished(checkpoint: Path) -> int:
    """Records of the micro-batch that a query has begun and not committed; 0 when there is none."""
    begun, done = _numbers(checkpoint / "offsets"), _numbers(checkpoint / "commits")
    if not begun or max(begun) in done:
        return 0
    return offset(checkpoint, max(begun)) - (offset(checkpoint, max(done)) if done else 0)


def offset(checkpoint: Path, batch: int) -> int:
    """The end of a micro-batch, summed over the queue's partitions; 0 when the file is gone or being written."""
    try:
        last = (checkpoint / "offsets" / str(batch)).read_text().splitlines()[-1]
        return sum(json.loads(last).values())
    except (OSError, ValueError, IndexError):
        return 0


def _numbers(directory: Path) -> set[int]:
    return {int(path.name) for path in directory.glob("[0-9]*") if path.name.isdigit()}


class View:
    """Shows samples: a table that changes on a terminal, a line now and then elsewhere."""

    def __init__(self, console: Console, lines: int) -> None:
        self._console = console
        self._lines = lines
        self._recent: deque[Sample] = deque()
        self._doing = ""
        self._usually = ""
        self._since = time.monotonic()
        self._started = time.monotonic()
        self._commits: dict[str, tuple[float, int, float]] = {}
        self._plain_at = 0.0
        self._plain_state: object = None
        self._live = Live(console=console, refresh_per_second=8, transient=True) if console.is_terminal else None

    def __enter__(self) -> View:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def doing(self, text: str, usually: str = "") -> None:
        """Shows the current step, and how long it usually takes."""
        if text == self._doing:
            return
        self._doing, self._usually, self._since = text, usually, time.monotonic()
        self.note(f"{text}: usually {usually}" if usually else text, style="dim")

    def note(self, text: str, style: str = "bold") -> None:
        """Says something once."""
        self._console.print(f"[dim]{time.monotonic() - self._started:6.1f} s[/]  [{style}]{text}[/]", soft_wrap=True)

    def show(self, sample: Sample) -> None:
        """Shows a sample."""
        self._recent.append(sample)
        while self._recent[0].time < sample.time - RATE_OVER:
            self._recent.popleft()
        for name, sent in sample.sent.items():
            before, total, _ = self._commits.setdefault(name, (sample.time, sent, 0.0))
            if sent != total:
                self._commits[name] = sample.time, sent, (sent - total) / max(0.1, sample.time - before)
        if self._live:
            self._live.update(Group(self._table(sample), Spinner("dots", self._step())))
        else:
            self._show_plain(sample)

    def _step(self) -> str:
        waited = f"{time.monotonic() - self._since:.0f} s"
        return f"{self._doing} ({waited}{f', usually {self._usually}' if self._usually else ''})"

    def _show_plain(self, sample: Sample) -> None:
        now, state = time.monotonic(), (sample.stored, *sample.sent.values())
        if now < self._plain_at:
            return
        lags = ", ".join(f"{name} {sample.lag(name):,}" for name in sample.sent)
        figures = f"queue: {sample.stored:,} records, {self._rate('stored'):,.0f}/s; lag: {lags}"
        text = self._step() if state == self._plain_state else figures
        self._plain_at, self._plain_state = now + PLAIN_EVERY, state
        self._console.print(f"[dim]{now - self._started:6.1f} s[/]  {text}", soft_wrap=True, highlight=False)

    def _rate(self, field: str) -> float:
        first, last = self._recent[0], self._recent[-1]
        return float(getattr(last, field) - getattr(first, field)) / max(0.1, last.time - first.time)

    def _rate_sent(self, sender: str) -> float:
        """Rate of the last micro-batch."""
        return self._commits[sender][2]

    def _table(self, sample: Sample) -> Table:
        table = Table(box=None, pad_edge=False)
        table.add_column("", style="bold")
        for column in ("total", "a second", "lag"):
            table.add_column(column, justify="right", min_width=12)
        table.add_row("log lines written", f"{sample.lines:,} of {self._lines:,}", f"{self._rate('lines'):,.0f}")
        table.add_row("client records accepted", f"{sample.accepted:,}", f"{self._rate('accepted'):,.0f}")
        table.add_row("queue: records in", f"{sample.stored:,}", f"{self._rate('stored'):,.0f}")
        for name, sent in sample.sent.items():
            table.add_row(f"sender {name}", f"{sent:,}", f"{self._rate_sent(name):,.0f}", f"{sample.lag(name):,}")
        return table
