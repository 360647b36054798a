"""Defers signals: Ctrl-C takes effect between two calls into the JVM, never within one.

An exception from a signal handler within a call would leave an unread answer in py4j's connection, and lose the records
in it; py4j would take it for a broken connection. So signals that arrive during a call of the main thread are handled
at the end of the call: all signals that have a handler in Python, whichever they are. A call waits 0.2 s at most.
"""

# Bypasses functions of `signal` that convert numbers to enums and back, which costs more than the rest of this module.
import _signal  # type: ignore[import-not-found]
import os
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_Handler = Callable[[int, FrameType | None], Any]

#: All signals that may have a handler.
_SIGNALS = tuple(sorted(set(map(int, _signal.valid_signals())) - {int(_signal.SIGKILL), int(_signal.SIGSTOP)}))
_main_thread = threading.main_thread
_get_ident = threading.get_ident
_getsignal = _signal.getsignal
_signal_set = _signal.signal

# The handlers of `_SIGNALS` that the last Shield found, and those of them that are functions, by signal. Most Shields
# find the same ones. For the main thread alone.
_found: list[object] = []
_functions: dict[int, _Handler] = {}
# Whether a Shield of the main thread is up: another Shield within it has nothing to do.
_is_up = False


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
        global _found, _functions, _is_up
        if _is_up or _get_ident() != _main_thread().ident:
            return
        found = list(map(_getsignal, _SIGNALS))
        if found != _found:
            functions = {number: handler for number, handler in zip(_SIGNALS, found, strict=True) if callable(handler)}
            _found, _functions = found, functions
        # Kept: a signal handler may use other handlers, and Shields.
        self._handlers = _functions
        if self._handlers:
            try:
                for number in self._handlers:
                    _signal_set(number, self._note)
                _is_up = True
            except BaseException:
                # A handler that was not replaced yet has raised. No __exit__ follows.
                self._end()
                raise

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._up:
            self._noted[number] = frame
        else:
            # The exception of another handler has kept this one from being restored.
            self._handlers[number](number, frame)

    def __exit__(self, *error: object) -> None:
        if self._handlers:
            self._end()

    def _end(self) -> None:
        global _is_up
        _is_up = False
        try:
            self._restore(list(self._handlers))
        finally:
            # From here on, a handler that could not be restored only calls the one that it replaces.
            self._up = False
            if self._noted:
                self._deliver()

    def _restore(self, left: list[int]) -> None:
        """Restores handlers: all of them, also when one that is restored raises in between."""
        try:
            while left:
                _signal_set(left[-1], self._handlers[left[-1]])
                left.pop()
        finally:
            if left:
                self._restore(left)

    def _deliver(self) -> None:
        number, frame = self._noted.popitem()
        try:
            self._handlers[number](number, frame)
        finally:
            # If one handler raises, the others still run.
            if self._noted:
                self._deliver()


def _after_fork_in_child() -> None:
    """Restores the handlers that a Shield defers: that of the parent's main thread, if another thread has forked."""
    global _is_up
    _is_up = False
    for number in _SIGNALS:
        handler = _getsignal(number)
        while isinstance(shield := getattr(handler, "__self__", None), Shield):
            handler = shield._handlers[number]
            _signal_set(number, handler)


os.register_at_fork(after_in_child=_after_fork_in_child)
