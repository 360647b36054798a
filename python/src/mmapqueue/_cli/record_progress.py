"""What a terminal shows while records are written or read."""

import sys
from types import TracebackType
from typing import Any

from mmapqueue._cli.output import error_console


class RecordProgress:
    """Shows on a terminal how many records were handled; `with` removes it at the end.

    Args:
        total: All bytes, or all records; None where they are unknown.
        in_bytes: Whether progress is measured in bytes.
        wanted: Whether to show anything.
    """

    def __init__(self, total: int | None, *, in_bytes: bool, wanted: bool = True) -> None:
        self._total = total
        self._wanted = wanted and sys.stderr.isatty()
        self._in_bytes = in_bytes
        self._progress: Any = None
        self._task: Any = None

    def update(self, records: int, done: int) -> None:
        """Shows the number of records, and how much of the total is done."""
        if self._progress is not None:
            self._progress.update(self._task, completed=done, records=f"{records:,} records")

    def __enter__(self) -> "RecordProgress":
        if self._wanted:
            from rich import progress

            columns = [progress.TextColumn("{task.fields[records]}"), progress.BarColumn()]
            if self._in_bytes:
                columns += [progress.DownloadColumn(binary_units=True), progress.TransferSpeedColumn()]
            # Else rich would print on stderr what is written to stdout.
            self._progress = progress.Progress(*columns, console=error_console(), transient=True, redirect_stdout=False)
            self._task = self._progress.add_task("", total=self._total, records="0 records")
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()
