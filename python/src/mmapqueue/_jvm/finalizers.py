"""Closes queues that the program did not close: when they are collected, and at the end of the program.

A finalizer may run within a py4j call of the same thread, and must not use that connection: another thread closes the
queue.
"""

import atexit
import contextlib
import os
import threading
import warnings
import weakref
from collections.abc import Callable
from itertools import count
from typing import Any, Protocol

from mmapqueue._values.errors import Closed, MmapQueueError


class Closeable(Protocol):
    """An object that keeps a queue open."""

    def close_at_exit(self) -> None:
        """Closes the queue, and waits until no thread calls the JVM."""


class _LastReference:
    """Belongs to an owner alone, and ends with it.

    It refers to nothing, so the garbage collector does not track it. When the owner is garbage in a cycle, it ends
    after all finalizers of the cycle have run: those of threads' buffers and of iterators, which put records back.
    """

    __slots__ = ()

    def __del__(self) -> None:
        number = _numbers.pop(id(self), None)
        if number is not None:
            _collected(number)


#: The numbers of tracked owners, by the identity of the last reference, since that may have no attribute.
_numbers: dict[int, int] = {}
_next_number = count()
#: By number: the owner, what closes the queue in the JVM, and the queue's name.
_open: dict[int, tuple[weakref.ref[Closeable], Callable[[], Any], str]] = {}
_pid = os.getpid()
_ending = False


def track(owner: Closeable, close: Callable[[], Any], what: str) -> Callable[[], None]:
    """Closes a queue when its owner is collected or the program ends.

    Args:
        owner: The object that keeps the queue open. It must keep the result, and share it with no other object.
        close: Closes the queue in the JVM; must not refer to the owner.
        what: The queue's name in the warning that it was not closed.

    Returns:
        A function to call once the owner has closed the queue itself.
    """
    last = _LastReference()
    number = next(_next_number)
    _open[number] = (weakref.ref(owner), close, what)
    _numbers[id(last)] = number

    def closed() -> None:
        _numbers.pop(id(last), None)
        _open.pop(number, None)

    return closed


def close_all() -> None:
    """Closes all open queues. One that cannot be closed is recovered at its next open."""
    if _pid != os.getpid():
        return
    _begin_end()
    while _open:
        with contextlib.suppress(KeyError, MmapQueueError):
            reference, close, _ = _open.popitem()[1]
            owner = reference()
            if owner is None:
                close()
            else:
                owner.close_at_exit()


def check() -> None:
    """Raises Closed when the program is ending: a queue opened now would stay open."""
    if _ending:
        raise Closed("the program is ending: no queue can be opened any more")


def _begin_end() -> None:
    """Silences tracebacks of daemon threads from here on, which errors of this package end with the program."""
    global _ending
    if _ending:
        return
    _ending = True
    previous = threading.excepthook

    def hook(arguments: threading.ExceptHookArgs) -> None:
        thread = arguments.thread
        if thread is None or not thread.daemon or not isinstance(arguments.exc_value, MmapQueueError):
            previous(arguments)

    threading.excepthook = hook


def _collected(number: int) -> None:
    entry = _open.get(number)
    if entry is not None and _pid == os.getpid():
        # No thread can be started at the very end; close_all has run by then.
        with contextlib.suppress(RuntimeError):
            threading.Thread(target=_close, args=(number,), name="mmapqueue-close", daemon=True).start()
        # Last, since a filter may turn the warning into an error.
        warnings.warn(f"{entry[2]} was not closed", ResourceWarning, stacklevel=2)


def _close(number: int) -> None:
    entry = _open.pop(number, None)
    if entry is not None:
        with contextlib.suppress(MmapQueueError):
            entry[1]()


def _after_fork_in_child() -> None:
    """Forgets all open queues in a forked child: they belong to the parent."""
    global _pid
    _open.clear()
    _pid = os.getpid()


os.register_at_fork(after_in_child=_after_fork_in_child)
atexit.register(close_all)
