"""Defers signals: Ctrl-C takes effect between two calls into the JVM, never within one.

An exception from a signal handler within a call would leave an unread answer in py4j's connection, and lose the records
in it. So signals that arrive during a call of the main thread are handled at the end of the call. A call waits 0.2 s at
most.
"""

# Bypasses functions of `signal` that convert numbers to enums and back, which costs more than the rest of this module.
import _signal  # type: ignore[import-not-found]
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_Handler = Callable[[int, FrameType | None], Any]

#: The signals that end or interrupt programs.
_SIGNALS = tuple(
    int(getattr(_signal, name))
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGUSR1", "SIGUSR2")
    if hasattr(_signal, name)
)
_main_thread = threading.main_thread
_get_ident = threading.get_ident
_getsignal = _signal.getsignal
_signal_set = _signal.signal


class Shield:
    """Context manager that defers signals to its end. For one use by one thread.

    Installs a Python handler, in the main thread alone: Python runs signal handlers in no other thread.
    """

    __slots__ = ("_handlers", "_noted", "_up")

    def __init__(self) -> None:
        self._handlers: dict[int, _Handler] = {}
        self._noted: dict[int, FrameType | None] = {}
        self._up = True

    def __enter__(self) -> None:
        if _get_ident() == _main_thread().ident:
            for number in _SIGNALS:
                handler = _getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
                    _signal_set(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._up:
            self._noted[number] = frame
        else:
            # A signal arrived while __exit__ restored the handlers.
            self._handlers[number](number, frame)

    def __exit__(self, *error: object) -> None:
        self._up = False
        if self._handlers:
            try:
                for number, handler in self._handlers.items():
                    _signal_set(number, handler)
            finally:
                if self._noted:
                    self._deliver()

    def _deliver(self) -> None:
        number, frame = self._noted.popitem()
        try:
            self._handlers[number](number, frame)
        finally:
            # If one handler raises, the others still run.
            if self._noted:
                self._deliver()
