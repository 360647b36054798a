"""Logging in threads whose work goes on, whatever a handler of the log raises."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def printing_errors() -> Iterator[None]:
    """A block that logs. An error of a log handler is printed, as `logging` prints those of its own handlers."""
    try:
        yield
    except Exception:
        if logging.raiseExceptions and sys.stderr is not None:
            traceback.print_exc()
