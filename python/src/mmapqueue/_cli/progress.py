"""A progress bar on a terminal: tqdm's if installed, else a percentage. Writes nothing elsewhere."""

from types import TracebackType
from typing import Any, TextIO


class ProgressBar:
    """Shows the progress of a tool; `with` ends its line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = -1
        self._bar: Any = None
        self._wanted = stream.isatty()

    def update(self, done: int, total: int) -> None:
        """Shows `done` of `total` bytes."""
        if not self._wanted or total <= 0:
            return
        if self._shown < 0:
            self._bar = _tqdm(self._stream, total)
        percent = done * 100 // total
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
        elif percent != self._shown:
            self._stream.write(f"\r{percent:3} %")
            self._stream.flush()
        self._shown = percent

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._shown >= 0:
            self._stream.write("\n")


def _tqdm(stream: TextIO, total: int) -> Any:
    try:
        from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return None
    return tqdm(total=total, unit="B", unit_scale=True, unit_divisor=1024, file=stream)
