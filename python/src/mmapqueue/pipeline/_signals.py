"""The signals that stop a half of a pipeline."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


def stopping() -> tuple[signal.Signals, ...]:
    """SIGTERM, SIGINT, and SIGHUP, which the end of a terminal sends. SIGHUP stays ignored when it is, as by nohup."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        return signal.SIGTERM, signal.SIGINT
    return signal.SIGTERM, signal.SIGINT, signal.SIGHUP


def repeats(number: int) -> bool:
    """Whether a second signal of this number asks for an end at once. A terminal that ends may send SIGHUP twice."""
    return number != signal.SIGHUP


@contextmanager
def children_ignore_hangups() -> Iterator[None]:
    """Processes that are started in the block ignore SIGHUP: they are stopped by their parent."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
