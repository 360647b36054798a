"""Queues with the interfaces of other queues, on the disk.

`Queue` has the interface of the standard `queue.Queue`, `FifoDiskQueue` that of queuelib's. Both store objects or bytes
in a directory that `mmapqueue.Queue` opens, too.

    from mmapqueue.compat import Queue

    queue = Queue(maxsize=1000, path="jobs")
    queue.put({"url": "https://example.org"})
    job = queue.get()
    queue.task_done()

`Empty`, `Full` and, from Python 3.13 on, `ShutDown` are those of the module `queue`.
"""

from queue import Empty, Full

from mmapqueue._values.errors import ShutDown
from mmapqueue.compat._fifo_disk_queue import FifoDiskQueue
from mmapqueue.compat._queue import Queue

__all__ = ["Empty", "FifoDiskQueue", "Full", "Queue", "ShutDown"]

# Tracebacks and help name the public classes by the module from which users import them.
for _type in (FifoDiskQueue, Queue):
    _type.__module__ = __name__
del _type
