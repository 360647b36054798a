"""Verify and repair, for a queue that no process has open. Both run in a JVM."""

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mmapqueue._jvm import bridge, heap, names
from mmapqueue._jvm.answers import named
from mmapqueue._jvm.calls import Call
from mmapqueue._jvm.signals import Shield
from mmapqueue._tools.reports import ConsumerState, Finding, FindingKind, RepairReport, VerifyReport
from mmapqueue._values.arguments import absolute
from mmapqueue._values.errors import MmapQueueError
from mmapqueue._values.functions import eager

#: The maximum wait of one call in the JVM in ms, and so the period of progress reports.
_SLICE_MILLIS = 100
#: The maximum wait for the end of a cancelled job in s.
_CANCEL_SECONDS = 10

Progress = Callable[[int, int], object]


def verify(path: str | os.PathLike[str], *, spark: object = None, progress: Progress | None = None) -> VerifyReport:
    """Verifies a queue directory that no process writes. Changes nothing. Thread-safe.

    Reads the meta page, the consumers' pages, and each record with its checksum, from the log start to the log end.
    Ctrl-C, or an exception of `progress`, ends it.

    Args:
        path: The queue's directory.
        spark: A SparkSession or SparkContext, to use its JVM; None to use a JVM that this process starts.
        progress: Called with the bytes of segments that were read and the bytes to read, about ten times a second.

    Returns:
        The report.

    Raises:
        ConfigError: The path is empty, or not UTF-8.
        Locked: A process writes the queue; `pid` is the process's number.
        NotFound: The directory has no queue.
        MmapQueueError: The directory cannot be read.
    """
    return _verified(run(spark, "verify", (absolute("path", path),), progress))


def repair(
    path: str | os.PathLike[str],
    *,
    to: str | os.PathLike[str] | None = None,
    spark: object = None,
    in_place: bool = False,
    reset_clock: bool = False,
    progress: Progress | None = None,
) -> RepairReport:
    """Repairs a damaged queue, in a copy or in place, so that it can be opened, read and written. Thread-safe.

    Intact records keep their offsets. Consumers keep their positions; a consumer at a lost record resumes at the next
    intact record. Ctrl-C, or an exception of `progress`, ends it while it reads. Once it writes, it completes: the
    exception is raised then, after 10 s at the latest.

    Args:
        path: The queue's directory.
        to: The directory of the copy, which must be empty or not exist. The queue itself is not changed then.
        spark: As for `verify`.
        in_place: Whether to change the queue itself. Overwritten bytes are lost.
        reset_clock: Whether to set timestamps that are ahead of this machine's clock to now.
        progress: As for `verify`.

    Returns:
        The report: changes and lost records.

    Raises:
        ValueError: Neither `to` nor in_place is given, or both are.
        ConfigError: A path is empty, or not UTF-8.
        Locked: A process has the queue open.
        NotFound: The directory has no queue.
        MmapQueueError: The queue is of format version 1 or cannot be repaired, or `to` is not empty.
    """
    if (to is None) != in_place:
        raise ValueError("either to=… or in_place=True is needed, not both")
    target = "" if to is None else absolute("to", to)
    arguments = (absolute("path", path), target, "true" if reset_clock else "false")
    return _repaired(run(spark, "repair", arguments, progress))


def run(spark: object, tool: str, arguments: tuple[str, ...], progress: Progress | None) -> Any:
    """Runs a tool in the JVM, and returns its report. The first argument is the queue's directory.

    Ctrl-C, and any other exception of a signal handler or of `progress`, cancels the job.
    """
    if progress is not None:
        eager("progress", progress, "a tool waits for it")
    if spark is None:
        heap.reserve(arguments[0])
    start = Call(bridge.class_of(spark, names.JOB), tool, "s" * len(arguments))
    job: Any = None
    try:
        with Shield():
            job = start.within(*arguments)
        is_over, done, total = Call(job, "isOver", "i"), Call(job, "done", ""), Call(job, "total", "")
        while not is_over(_SLICE_MILLIS):
            if progress is not None:
                progress(int(done()), int(total()))
    except BaseException:
        if job is not None:
            _cancel(job)
        raise
    answer = json.loads(Call(job, "result", "")())
    if progress is not None:
        progress(int(total()), int(total()))
    return answer


def _cancel(job: Any) -> None:
    """Cancels a job, and waits for its end: a repair or a resize that already changes files completes."""
    with suppress(MmapQueueError):  # The JVM has ended.
        Call(job, "cancel", "")()
        is_over = Call(job, "isOver", "i")
        deadline = time.monotonic() + _CANCEL_SECONDS
        while not is_over(_SLICE_MILLIS) and time.monotonic() < deadline:
            pass


def _verified(answer: Any) -> VerifyReport:
    """The report of a verification, from the answer of the JVM."""
    fields = named(answer)
    consumers = [ConsumerState(**named(each)) for each in fields.pop("consumers")]
    return VerifyReport(consumers=consumers, findings=_findings(fields.pop("findings")), **fields)


def _repaired(answer: Any) -> RepairReport:
    return RepairReport(answer["path"], _verified(answer["before"]), answer["actions"], _findings(answer["lost"]))


def _findings(answer: Any) -> list[Finding]:
    return [Finding(kind=FindingKind(each.pop("kind")), **named(each)) for each in answer]
