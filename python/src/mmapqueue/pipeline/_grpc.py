"""gRPC without its handlers of forks: `from mmapqueue.pipeline._grpc import grpc`, in place of `import grpc`.

They print a line each time that a process with a server starts another program. They serve children that use gRPC
without an exec, and the collector has none.
"""

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SWITCH = "GRPC_ENABLE_FORK_SUPPORT"


@contextmanager
def _switched_off() -> "Iterator[None]":
    """The library reads the variable when it is imported. Other programs, such as those of fetchers, do not get it."""
    if _SWITCH in os.environ:
        yield
        return
    os.environ[_SWITCH] = "0"
    try:
        yield
    finally:
        del os.environ[_SWITCH]


with _switched_off():
    import grpc
    import grpc.aio

__all__ = ["grpc"]
