"""Runs the log pipeline on this machine's own logs, kills both of its halves on the way, and counts the lines.

    python demo.py                                       the text files under /var/log
    python demo.py --logs /var/log/nginx:/srv/app.log    or LOGS=… in the environment

An agent (agent.py) pushes every line into a queue; a Spark job (job.py) pops, parses, writes Parquet and acks.
Half way the job is killed with SIGKILL and started again, later the agent, before it has pushed all. At the end
report.py compares what came out with the files. The exit status is 0 only if every line is there, byte for byte and
in order.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

import inputs
import services
from shared import append_status, read_status

#: Seconds that a killed process stays away.
AWAY = 1.5


class Run:
    """One run: the two services, how far they are, and what has been done to them."""

    def __init__(
        self, out: Path, lines: int, job: services.Service, options: argparse.Namespace, progress: Progress
    ) -> None:
        self.agent = services.agent(out, lines / options.seconds, options.capacity)
        self.job = job
        self.lines = lines
        self.out = out
        # The first agent pushes no more than these, so that it is killed before it is done, however slow Spark is.
        self.hold = max(lines // 2 + 1, lines * 9 // 10)
        self._timeout = options.timeout
        self._started = time.monotonic()
        self._events = 0
        self._last_state: object = None
        self._last_change = self._started
        self._progress = progress
        self._pushed = progress.add_task("agent  lines pushed", total=lines)
        self._written = progress.add_task("job    lines done", total=lines)

    def watch(self, until: Callable[[], bool], *expected: services.Service) -> None:
        """Wait until something holds; a service that is not among those expected to end must stay alive."""
        while not until():
            for service in (self.agent, self.job):
                if service.ended() and service not in expected:
                    raise services.ServiceError(f"the {service.name} ended before it was told to")
            end, acked = self.end(), self.acked()
            self._check_progress(end, acked)
            self._show(self._pushed, end)
            self._show(self._written, acked)
            time.sleep(0.03)

    def _check_progress(self, end: int, acked: int) -> None:
        """Raise ServiceError when nothing has moved for too long."""
        state = end, acked, self.starts(self.job_status()), self.agent.runs, self.job.runs, self._events
        now = time.monotonic()
        if state != self._last_state:
            self._last_state, self._last_change = state, now
        elif now - self._last_change > self._timeout:
            raise services.ServiceError(
                f"nothing has moved for {self._timeout:g} s (see --timeout): the agent has pushed {end} of "
                f"{self.lines} lines, the job has done {acked}"
            )

    def _show(self, task: TaskID, offset: int) -> None:
        self._progress.update(task, completed=min(offset, self.lines))

    def note(self, event: str, mark: bool = True) -> None:
        """Tell of an event; with `mark` it also goes into the plot."""
        self._events += 1
        if mark:
            append_status(self.out / "events.jsonl", event=event)
        self._progress.console.print(f"[dim]{time.monotonic() - self._started:5.1f} s[/]  {event}")

    def agent_status(self) -> list[dict[str, Any]]:
        return read_status(self.out / "agent.jsonl")

    def job_status(self) -> list[dict[str, Any]]:
        return read_status(self.out / "job.jsonl")

    def starts(self, status: Sequence[dict[str, Any]]) -> int:
        """Return how often a service has got as far as opening the queue."""
        return sum(entry["event"] == "ready" for entry in status)

    def end(self) -> int:
        """Return the offset where the queue ends, as the agent last said."""
        return max((entry["end"] for entry in self.agent_status() if "end" in entry), default=0)

    def acked(self) -> int:
        """Return how many records are acked, as the job last said."""
        return max((entry["last"] + 1 for entry in self.job_status() if entry["event"] == "acked"), default=0)

    def job_at_work_past(self, offset: int) -> bool:
        """Whether the job has popped a batch beyond an offset, and not acked it: the worst moment for a kill."""
        status = self.job_status()
        return bool(status) and status[-1]["event"] == "popped" and status[-1]["last"] >= offset

    def job_done_with(self, records: int) -> bool:
        """Whether the job has done so many records, and all that there are: no better moment will come."""
        return self.acked() >= max(records, self.end())

    def agent_caught_up(self) -> bool:
        """Whether the agent, in its latest run, has pushed all there is."""
        status = self.agent_status()
        return bool(status) and self.starts(status) == self.agent.runs and status[-1].get("caught_up", False)

    def carry_out(self) -> None:
        """Start both, kill and restart the job, then the agent, and let them finish."""
        self.start_both()
        self.kill_job()
        early = self.await_job(self.end_nears)
        if early:
            self.pause()
        self.kill_agent()
        if not early:
            self.await_job()
        self.finish()

    def start_both(self) -> None:
        """Start the agent, and the job when there is a queue for it."""
        self.start_agent()
        self.watch(lambda: self.starts(self.agent_status()) == 1)
        self.start_job()

    def start_agent(self) -> None:
        """Start the agent for the first time; it waits to be killed before it has pushed all."""
        self.agent.start("--hold", str(self.hold))
        self.note("agent started", mark=False)

    def start_job(self) -> None:
        """Start the job, which takes some seconds."""
        self.job.start()
        self.note("job started; Spark is starting", mark=False)

    def kill_job(self) -> None:
        """Kill the job at work, half way through the lines, and start it again a moment later."""
        self.watch(lambda: self.job_at_work_past(self.lines // 2) or self.job_done_with(self.hold))
        self.job.kill()
        self.job_killed()
        self.pause()
        self.start_job()

    def job_killed(self) -> None:
        """What is to note of the kill before the job is started again."""
        self.note("job killed")

    def await_job(self, unless: Callable[[], bool] = lambda: False) -> bool:
        """Wait for the job that was started again, or for something else; return whether the job is back."""
        self.watch(lambda: self._job_back() or unless())
        if self._job_back():
            self.note("job back")
            return True
        return False

    def end_nears(self) -> bool:
        """Whether the agent has pushed what it pushes before it is killed: Spark may be slow to start."""
        return self.end() >= self.hold

    def kill_agent(self) -> None:
        """Kill the agent, and start it again a moment later."""
        self.agent.kill()
        self.note("agent killed")
        self.pause()
        self.agent.start()
        self.watch(lambda: self.starts(self.agent_status()) == 2)
        self.note("agent back")

    def finish(self) -> None:
        """Let the agent push the rest and the job do the rest."""
        self.watch(self.agent_caught_up)
        self.agent.stop()
        self.watch(self.agent.ended, self.agent)
        self.note("agent done", mark=False)
        self.close_input()
        (self.out / "done").touch()
        self.watch(self.job.ended, self.agent, self.job)
        self.note("job done", mark=False)

    def close_input(self) -> None:
        """What is still to do when the agent has ended, before the job is told that all is in."""

    def _job_back(self) -> bool:
        return self.starts(self.job_status()) == 2

    def pause(self) -> None:
        """Leave a killed process away for a while."""
        self.wait(AWAY)

    def wait(self, seconds: float, *expected: services.Service) -> None:
        """Wait for a time in which nothing need move."""
        until = time.monotonic() + seconds

        def is_over() -> bool:
            self._last_change = time.monotonic()
            return self._last_change >= until

        self.watch(is_over, *expected)


def prepare(out: Path) -> None:
    """Make an empty directory for a run; only what an earlier run has left is ever removed."""
    marker = out / "inputs.json"
    if out.exists() and any(out.iterdir()):
        if not marker.exists():
            raise SystemExit(f"demo: {out} holds something else; name another directory with --out")
        shutil.rmtree(out)
    (out / "logs").mkdir(parents=True)


def take_inputs(out: Path, places: str | None, console: Console) -> dict[str, inputs.Input]:
    """Find and measure the log files, and say what is taken."""
    files, left_out = inputs.find(places)
    taken = {str(path): inputs.measure(path) for path in files}
    inputs.save(out / "inputs.json", taken)
    lines, size = sum(entry.lines for entry in taken.values()), sum(entry.size for entry in taken.values())
    if not lines:
        raise SystemExit("demo: the files named hold no lines")
    console.print(f"[bold]{lines:,} lines[/] ({size / 1e6:,.1f} MB) of {len(taken)} files, as they are now")
    for path in left_out:
        console.print(f"[yellow]left out, too large for a demo: {path}; name it with LOGS to take it[/]")
    return taken


def compare(out: Path, console: Console, script: str = "report.py") -> int:
    """Run the report and return its exit status; the JVM's own remarks go to a log file."""
    log = out / "logs" / "report.log"
    console.print("[dim]comparing; Spark is starting once more[/]")
    with log.open("wb") as errors:
        command = [sys.executable, str(Path(__file__).with_name(script)), "--out", str(out)]
        status = subprocess.run(command, stderr=errors, env=services.environment()).returncode
    if status:
        console.print(f"[red]The comparison ended with status {status}; its log is {log}[/]")
    return status


def failed(out: Path, failure: services.ServiceError, console: Console) -> int:
    """Say what has failed, and where the logs are; return the exit status."""
    console.print(str(failure), style="red", markup=False, highlight=False)
    for log in sorted((out / "logs").glob("*.log")):
        console.print(f"log: {log} ({log.stat().st_size} bytes)", markup=False, highlight=False, soft_wrap=True)
    return 1


@contextmanager
def running(run: Run) -> Iterator[Run]:
    """Leave no process behind, however the run ends."""
    try:
        yield run
    finally:
        for service in (run.agent, run.job):
            if service.running:
                service.kill()


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    build = Path(__file__).resolve().parents[2] / "build" / "demo"
    parser = argparse.ArgumentParser(description="Run the log pipeline and check that no line is lost.")
    parser.add_argument("--logs", default=os.environ.get("LOGS"), help="files and directories, separated by ':'")
    parser.add_argument("--out", type=Path, default=build, help="directory of the run (build/demo)")
    parser.add_argument("--seconds", type=float, default=40, help="how long the agent takes to push all lines (40)")
    parser.add_argument("--capacity", default="512m", help="size of the queue (512m)")
    parser.add_argument(
        "--timeout", type=float, default=180, help="give up when nothing moves for so many seconds (180)"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    console = Console()
    out = options.out.absolute()
    prepare(out)
    taken = take_inputs(out, options.logs, console)
    lines = sum(entry.lines for entry in taken.values())
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    try:
        with (
            Progress(*columns, console=console) as progress,
            running(Run(out, lines, services.job(out), options, progress)) as run,
        ):
            run.carry_out()
    except services.ServiceError as failure:
        return failed(out, failure, console)
    return compare(out, console)


if __name__ == "__main__":
    raise SystemExit(main())
