"""The signals that stop or reload a half of a pipeline."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def stopping() -> tuple[signal.Signals, ...]:
    """SIGTERM and SIGINT."""
    return signal.SIGTERM, signal.SIGINT


def reloading() -> tuple[signal.Signals, ...]:
    """SIGHUP, which stays ignored when it is, as by nohup."""
    return () if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else (signal.SIGHUP,)


def has_terminal() -> bool:
    """Whether this process has a controlling terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def hangups(reload: Callable[[], None], stop: Callable[[], None]) -> Callable[[], None]:
    """The handler of SIGHUP: reloads, but stops when it comes with the end of the terminal."""
    had_terminal = has_terminal()

    def handle() -> None:
        if had_terminal and not has_terminal():
            stop()
        else:
            reload()

    return handle


@contextmanager
def hangups_held() -> Iterator[None]:
    """SIGHUP waits from here on until `release_hangups`, also in processes that are started in the block.

    It would end a process that has no handler yet. For the main thread, before there are others.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP,))
    try:
        yield
    finally:
        release_hangups()


def release_hangups() -> None:
    """Takes SIGHUP, also one that has waited since the start. For the main thread, when it has a handler."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGHUP,))


@contextmanager
def children_ignore_hangups() -> Iterator[None]:
    """Processes that are started in the block ignore SIGHUP: they are stopped by their parent.

    This process loses a SIGHUP in the block, unless it is held: a signal that waits is lost at the beginning alone.
    """
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
