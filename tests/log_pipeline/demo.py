"""Runs the pipeline of pipeline.yaml with real logs and real clients, kills both of its halves, and compares exactly.

    python demo.py                                       the text files under /var/log
    python demo.py --logs /var/log/nginx:/srv/app.log    or LOGS=… in the environment

Log files, a file that grows by a million lines and is rotated, an OpenTelemetry client and a SkyWalking agent feed
`mmapqueue gather`; `mmapqueue process` writes Parquet and a second queue. Gather is killed with SIGKILL while clients
wait for answers, process in the middle of a micro-batch. In the end report.py compares both outputs with what went in.
The exit status is 0 only if they are exact.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

import inputs
import report
import services
from compare import File, count_lines
from view import View, Watch, unfinished

#: Seconds that a killed process stays away.
AWAY = 1.5
#: Of the growing file's lines: when gather is killed, and how many wait until process was killed.
KILL_AT, HOLD_AT = 0.25, 0.85
#: Seconds without anything new in the queue, after which the fetcher has read all.
QUIET_SECONDS = 3.0
SENDERS = ("archive", "copy")
#: What is shown while Spark starts, and how long that takes.
STARTING, STARTS_IN = "Spark is starting, the queue takes what comes", "15 to 40 s"


class Run:
    """One run: processes, inputs, and what has happened."""

    def __init__(self, out: Path, options: argparse.Namespace, files: Sequence[Path], view: View) -> None:
        self.out = out
        self.marks: list[dict[str, Any]] = []
        self.gather_kills: list[float] = []
        self.started = time.time()
        self._options = options
        self._view = view
        self._timeout = options.timeout
        self._changed_at = time.monotonic()
        self._last: object = None
        self.log = inputs.GrowingLog(
            out / "input" / "app.log", options.lines, options.lines / options.seconds, int(options.lines * HOLD_AT)
        )
        self.files = [inputs.measure(path) for path in files]
        self._lines_before = sum(file_lines(file) for file in self.files)
        port, metrics = services.free_ports(2)
        self.gather, self.process, *self.clients = services.of_pipeline(out, options, port, metrics, files)
        self.journals = [out / "otel.jsonl", out / "skywalking.jsonl"]
        checkpoints = {name: out / "checkpoints" / name for name in SENDERS}
        self.watch = Watch(out / "queue", checkpoints, self.journals, out / "samples.jsonl")
        self.sample = self.watch.sample(0)

    def carry_out(self) -> None:
        """All of it."""
        self._view.doing("starting gather")
        self.gather.start()
        self.until(lambda: self.gather.said("ready:"))
        self.mark("gather up")
        for client in self.clients:
            client.start()
        self.log.start()
        self.process.start()
        self._view.doing(STARTING, STARTS_IN)
        self.kill_gather()
        self.kill_process()
        self.finish()

    def kill_gather(self) -> None:
        """Kills gather while lines come and clients wait for answers."""
        lines = int(self._options.lines * KILL_AT)
        self.until(lambda: self.sample.stored >= lines and self.watch.open_requests()[0] > 0)
        self.gather_kills.append(self.gather.kill())
        requests, records = self.watch.open_requests()
        self.mark("gather killed")
        self._view.note(f"gather killed with {requests:,} requests ({records:,} records) that had no answer", "red")
        self._pause()
        self.gather.start()
        self.until(lambda: self.gather.said("ready:"))
        self.mark("gather back")
        self._view.note("gather is back; the clients send again what had no answer")

    def kill_process(self) -> None:
        """Kills Spark in the middle of a micro-batch, the second one or a later one."""
        checkpoints = [self.out / "checkpoints" / name for name in SENDERS]

        def open_rows() -> int:
            return max(unfinished(checkpoint) for checkpoint in checkpoints)

        def stopped_within_a_batch() -> bool:
            if open_rows() > 0:
                self.process.signal_all(signal.SIGSTOP)
                if open_rows() > 0:
                    return True
                self.process.signal_all(signal.SIGCONT)  # The batch has ended in between.
            return False

        self.until(lambda: any(self.sample.sent.values()), STARTING, STARTS_IN)
        self._view.note("Spark has committed its first micro-batch")
        self.until(stopped_within_a_batch, "waiting for a micro-batch that is not finished")
        self.process.kill()
        self.mark("process killed")
        self._view.note(f"process killed in a micro-batch of {open_rows():,} records", "red")
        self.log.hold = self._options.lines
        self._pause()
        before = dict(self.sample.sent)
        self.process.start()
        self.until(
            lambda: any(self.sample.sent[name] > before[name] for name in SENDERS),
            "Spark is starting again",
            STARTS_IN,
        )
        self.mark("process back")
        self._view.note("process is back; the micro-batch was run again")

    def finish(self) -> None:
        """Lets the inputs end, then both halves."""
        self.until(
            lambda: self.log.done() and all(client.ended() for client in self.clients), "waiting for the last inputs"
        )
        self.until(self._all_stored, "waiting for the last lines")
        self.gather.stop()
        self.until(self.gather.ended, "stopping gather")
        self.until(lambda: all(self.sample.lag(name) == 0 for name in SENDERS), "waiting for the last micro-batches")
        self.mark("all written")
        self.process.stop()
        self.until(self.process.ended, "stopping process")

    def _all_stored(self) -> bool:
        """Whether the queue has at least what was accepted, and nothing new has come for a while."""
        answered = sum((journal.answered for journal in self.watch.journals), Counter[str]())
        # Logs that come in one stream are one record.
        requests = sum(count for kind, count in answered.items() if kind != "stream logs")
        least = self.log.written + self._lines_before + requests
        return self.sample.stored >= least and time.monotonic() - self._changed_at > QUIET_SECONDS

    def until(self, holds: Callable[[], bool], doing: str = "", usually: str = "") -> None:
        """Waits until something holds. A process that ends with an error, and one that must not end, end the run.

        Raises:
            ServiceError: A process has ended, or nothing has moved for too long.
        """
        if doing:
            self._view.doing(doing, usually)
        while True:
            self.sample = self.watch.sample(self.log.written)
            self._view.show(self.sample)
            if holds():
                return
            for service in (self.gather, self.process, *self.clients):
                service.ended()
            self._check_progress()
            time.sleep(0.05)

    def _check_progress(self) -> None:
        state = self.sample.lines, self.sample.stored, self.sample.accepted, tuple(self.sample.sent.values())
        now = time.monotonic()
        if state != self._last:
            self._last, self._changed_at = state, now
        elif now - self._changed_at > self._timeout:
            raise services.ServiceError(f"nothing has moved for {self._timeout:g} s (see --timeout): {self.sample}")

    def _pause(self) -> None:
        until = time.monotonic() + AWAY
        self.until(lambda: time.monotonic() >= until)

    def mark(self, text: str) -> None:
        """Notes an event for the plot."""
        self.marks.append({"time": time.time(), "text": text})

    def close(self) -> None:
        """Leaves no process, and notes what the report needs."""
        for service in (self.gather, self.process, *self.clients):
            service.kill()
        self.log.stop()
        self.watch.close()
        files = [*self.files, *(inputs.measure(path) for path in self.log.paths)]
        facts = {
            "files": [(str(file.path), file.inode, file.size) for file in files],
            "journals": [str(path) for path in self.journals],
            "gather_kills": self.gather_kills,
            "marks": self.marks,
            "started": self.started,
            "ended": self.sample.time,
        }
        (self.out / "run.json").write_text(json.dumps(facts, indent=1))


def file_lines(file: File) -> int:
    """Lines of a file that was measured."""
    with file.path.open("rb") as opened:
        return count_lines(opened.read(file.size))


def fresh(out: Path) -> None:
    """Makes an empty directory for a run. Only what an earlier run has left is ever removed."""
    marker = out / ".demo"
    if out.exists() and any(out.iterdir()):
        if not marker.exists():
            raise SystemExit(f"demo: {out} holds something else; name another directory with --out")
        shutil.rmtree(out)
    for directory in (out / "logs", out / "input"):
        directory.mkdir(parents=True)
    marker.touch()


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    build = Path(__file__).resolve().parents[2] / "build" / "demo"
    parser = argparse.ArgumentParser(description="Run the log pipeline and check that nothing is lost.")
    parser.add_argument("--logs", default=os.environ.get("LOGS"), help="files and directories, separated by ':'")
    parser.add_argument("--out", type=Path, default=build, help="directory of the run (build/demo)")
    parser.add_argument("--lines", type=int, default=1_000_000, help="lines of the file that grows (1000000)")
    parser.add_argument("--records", type=int, default=100_000, help="logs of the OpenTelemetry client (100000)")
    parser.add_argument("--seconds", type=float, default=20, help="how long the inputs take to come (20)")
    parser.add_argument(
        "--timeout", type=float, default=300, help="give up after this time without progress, in s (300)"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    console = Console()
    out = options.out.absolute()
    fresh(out)
    files, left_out = inputs.find(options.logs)
    for path in left_out:
        console.print(f"[yellow]left out, too large for a demo: {path}; name it with LOGS to take it[/]")
    console.print(
        f"[bold]{len(files)} log files of this machine[/], a log that grows by {options.lines:,} lines and is rotated, "
        f"OpenTelemetry and SkyWalking clients → gather → queue → Spark → Parquet and a second queue",
        soft_wrap=True,
    )
    try:
        with View(console, options.lines) as view:
            run = Run(out, options, files, view)
            try:
                run.carry_out()
            finally:
                run.close()
    except services.ServiceError as failure:
        console.print(str(failure), style="red", markup=False, highlight=False)
        for log in sorted((out / "logs").glob("*.log")):
            console.print(f"log: {log} ({log.stat().st_size} bytes)", markup=False, highlight=False, soft_wrap=True)
        return 1
    console.print("[dim]comparing both outputs with what went in: usually 10 s[/]")
    return report.run(out, console)


if __name__ == "__main__":
    raise SystemExit(main())
