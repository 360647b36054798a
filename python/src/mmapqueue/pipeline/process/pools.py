"""Spark's fair scheduler: one pool for each query, all with equal shares of the cores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import quoteattr

#: Property with the file that describes the pools. Spark reads it once, when the session is created.
FILE = "spark.scheduler.allocation.file"
_POOL = "<pool name={name}><schedulingMode>FIFO</schedulingMode><weight>1</weight><minShare>0</minShare></pool>"


@contextmanager
def pools(names: Iterable[str]) -> Iterator[str]:
    """The URI of a file that describes pools. The file is deleted at the end of the block.

    Args:
        names: Names of the pools. Spark logs a warning for each job of a pool that it does not know.
    """
    described = "".join(_POOL.format(name=quoteattr(name)) for name in names)
    with TemporaryDirectory(prefix="mmapqueue-pools-") as directory:
        file = Path(directory) / "pools.xml"
        file.write_text(f"<allocations>{described}</allocations>\n")
        yield file.as_uri()
