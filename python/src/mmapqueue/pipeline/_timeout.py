"""`asyncio.timeout`, also for Python 3.10.

`asyncio.wait_for` must not be used in its place: before Python 3.12 it drops a cancellation that comes together with
the result, and the task goes on.
"""

import sys

if sys.version_info >= (3, 11):
    from asyncio import timeout
else:
    from async_timeout import timeout

__all__ = ["timeout"]
