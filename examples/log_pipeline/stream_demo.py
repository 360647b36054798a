"""Runs the streaming variant of the log pipeline on this machine's logs, kills both halves, and compares the counts.

    python stream_demo.py                                       the text files under /var/log
    python stream_demo.py --logs /var/log/nginx:/srv/app.log    or LOGS=… in the environment

An agent (agent.py) pushes every line into a queue; two streaming queries (stream_job.py) count them per window of
time and level, into Parquet and into a second queue. Half way the job is killed with SIGKILL in the midst of a batch
and started again, later the agent. At the end stream_report.py counts the lines of the files in plain Python. The
exit status is 0 only if both outputs hold exactly these counts, each once.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

import demo
import inputs
import mmapqueue
import services
from shared import Line, append_status, open_patiently, pack
from stream_job import QUERIES, whole_seconds

#: Keeps all records until the end, to be compared with the files.
KEEPER = "comparison"

#: A record of no file. Its push time closes the windows before it; its own window stays open, so it is never counted.
CLOSING = Line(source="", position=0, line=0, raw=b"")

#: Bytes that a record takes in the queue besides its line and its source's path, at most.
_OVERHEAD = 128


class StreamRun(demo.Run):
    """One run: as that of the other demo, but for what the job is, and how its end is reached."""

    def __init__(self, out: Path, lines: int, options: argparse.Namespace, progress: Progress) -> None:
        super().__init__(out, lines, services.stream_job(out, options.window, options.delay), options, progress)
        self._closing_after = options.window + options.delay
        self._spare_agent = options.spare_agent
        self._capacity = options.capacity

    def acked(self) -> int:
        """Return how many records both queries have done, as the job last said."""
        ends = dict.fromkeys(QUERIES, 0)
        for entry in self.job_status():
            if entry["event"] == "batch":
                ends[entry["query"]] = max(ends[entry["query"]], entry["end"])
        return min(ends.values())

    def at_work(self) -> set[str]:
        """Return the queries that have done a batch."""
        return {entry["query"] for entry in self.job_status() if entry["event"] == "batch"}

    def job_at_work_past(self, offset: int) -> bool:
        """Whether each query is past an offset or at it, and one is in a batch that it has not committed."""
        if self.end() < offset or self.acked() == 0:
            return False
        return any(in_a_batch(self.out / "checkpoints" / query) for query in QUERIES)

    def start_both(self) -> None:
        """Start the job on an empty queue, and the agent when both queries are at work: Spark takes its time.

        A query's first batch is of what there is, even if that is nothing, and the slowest of all.
        """
        with mmapqueue.Queue(None, self.out / "queue", capacity=self._capacity) as queue:
            queue.create_consumer(KEEPER)
        self.start_job()
        self.watch(lambda: self.at_work() == set(QUERIES))
        self.start_agent()

    def start_agent(self) -> None:
        """Start the agent; one that is not killed pushes all."""
        if not self._spare_agent:
            super().start_agent()
            return
        self.agent.start()
        self.note("agent started", mark=False)

    def job_killed(self) -> None:
        """Note which queries the kill left in the midst of a batch, before they are started again."""
        super().job_killed()
        unfinished = [query for query in QUERIES if in_a_batch(self.out / "checkpoints" / query)]
        (self.out / "unfinished.json").write_text(json.dumps(unfinished))

    def carry_out(self) -> None:
        """As in the other demo; without a kill of the agent if told so."""
        if not self._spare_agent:
            super().carry_out()
            return
        self.start_both()
        self.kill_job()
        self.await_job()
        self.finish()

    def close_input(self) -> None:
        """Push a record that is late enough for the windows of all lines to close."""
        self.note("waiting to close the last windows", mark=False)
        self.wait(self._closing_after + 0.1, self.agent)
        with open_patiently(lambda: mmapqueue.Queue(None, self.out / "queue")) as queue:
            queue.push(pack(CLOSING))
            end = queue.stats().end_offset
        append_status(self.out / "agent.jsonl", event="closed", end=end)
        self.note("closing record pushed")


def in_a_batch(checkpoint: Path) -> bool:
    """Whether a query's checkpoint has a batch begun and not committed: the worst moment for a kill."""
    begun, committed = (
        max((int(file.name) for file in (checkpoint / log).glob("[0-9]*") if file.name.isdigit()), default=-1)
        for log in ("offsets", "commits")
    )
    return begun > committed


def capacity(taken: dict[str, inputs.Input]) -> str:
    """Return the capacity of a queue that holds all records until the end, to be compared with the files.

    A consumer that nothing reads keeps them; a pipeline has none.
    """
    size = sum(entry.size + entry.lines * (_OVERHEAD + 2 * len(source)) for source, entry in taken.items())
    return f"{512 + 2 * size // 2**20}m"


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    build = Path(__file__).resolve().parents[2] / "build" / "demo-stream"
    parser = argparse.ArgumentParser(description="Run the streaming log pipeline and check its counts.")
    parser.add_argument("--logs", default=os.environ.get("LOGS"), help="files and directories, separated by ':'")
    parser.add_argument("--out", type=Path, default=build, help="directory of the run (build/demo-stream)")
    parser.add_argument("--seconds", type=float, default=40, help="how long the agent takes to push all lines (40)")
    parser.add_argument("--window", type=whole_seconds, default=5, help="seconds of a window (5)")
    parser.add_argument("--delay", type=whole_seconds, default=20, help="seconds of the watermark's delay (20)")
    parser.add_argument("--spare-agent", action="store_true", help="kill the job alone")
    parser.add_argument(
        "--timeout", type=float, default=180, help="give up when nothing moves for so many seconds (180)"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    console = Console()
    out = options.out.absolute()
    demo.prepare(out)
    taken = demo.take_inputs(out, options.logs, console)
    options.capacity = capacity(taken)
    lines = sum(entry.lines for entry in taken.values())
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    try:
        with (
            Progress(*columns, console=console) as progress,
            demo.running(StreamRun(out, lines, options, progress)) as run,
        ):
            run.carry_out()
    except services.ServiceError as failure:
        return demo.failed(out, failure, console)
    settings = {"window": options.window, "delay": options.delay}
    (out / "settings.json").write_text(json.dumps(settings))
    return demo.compare(out, console, "stream_report.py")


if __name__ == "__main__":
    raise SystemExit(main())
