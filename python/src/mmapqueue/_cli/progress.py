"""Progress on a terminal, drawn by rich; elsewhere nothing is shown."""

import sys
from types import TracebackType
from typing import Any

from mmapqueue._cli.output import error_console


class Progress:
    """Shows how much of a command is done; `with` removes it at the end.

    Args:
        total: All bytes or records; None where the number is unknown, or comes with the updates.
        in_bytes: Whether progress is measured in bytes.
        of_records: Whether the number of records is shown.
        wanted: Whether to show anything.
    """

    def __init__(
        self, total: int | None = None, *, in_bytes: bool = True, of_records: bool = True, wanted: bool = True
    ) -> None:
        self._total = total
        self._in_bytes = in_bytes
        self._of_records = of_records
        self._wanted = wanted and sys.stderr.isatty()
        self._progress: Any = None
        self._task: Any = None

    def update(self, done: int, total: int | None = None, *, records: int = 0) -> None:
        """Shows how many bytes or records are done, and the number of records."""
        if self._progress is not None:
            whole = self._total if total is None else total
            self._progress.update(self._task, completed=done, total=whole, records=f"{records:,} records")

    def __enter__(self) -> "Progress":
        if self._wanted:
            # Not at the start: its import takes longer than a short command.
            from rich import progress

            columns: list[progress.ProgressColumn] = [progress.BarColumn(), progress.TaskProgressColumn()]
            if self._of_records:
                columns.insert(0, progress.TextColumn("{task.fields[records]}"))
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
