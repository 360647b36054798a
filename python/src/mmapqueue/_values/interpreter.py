"""The Python that this package runs on."""

import sys


def check_gil() -> None:
    """Refuses an interpreter without a global lock (GIL).

    A pop takes a prefetched record from an iterator, and an ack appends to a list, each in one step without a lock:
    the GIL makes them whole.

    Raises:
        ImportError: The GIL is off.
    """
    has_gil = getattr(sys, "_is_gil_enabled", None)  # from Python 3.13 on
    if has_gil is not None and not has_gil():
        raise ImportError(
            "mmapqueue needs the global interpreter lock (GIL): start Python with -X gil=1 or PYTHON_GIL=1"
        )
