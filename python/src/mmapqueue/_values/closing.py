"""Objects that close themselves at the end of a `with` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import NoReturn

from mmapqueue._values.annotations import Self


class Closing(ABC):
    """An object that holds a connection to a JVM."""

    @abstractmethod
    def close(self) -> None:
        """Closes the object. Idempotent."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self)


def refuse_pickling(owner: object) -> NoReturn:
    """Raises the error of pickling or copying an object that holds a connection to a JVM."""
    raise TypeError(
        f"a {type(owner).__name__} cannot be pickled or copied: it is a connection to a JVM; open the queue where "
        "it is used, and in the tasks of a Spark job use spark.read.format('mmapqueue')"
    )
