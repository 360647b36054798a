"""Functions of other modules as filters."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from mmapqueue._values.annotations import DataFrame
from mmapqueue.pipeline.plugins import Filter

_REFERENCE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def python(frame: DataFrame, function: str, arguments: Mapping[str, Any] | None = None) -> DataFrame:
    """Calls a function of a module with the DataFrame, and returns its result.

    Args:
        frame: The rows.
        function: "package.module:function", as Python's path finds it.
        arguments: Keyword arguments.

    Raises:
        ValueError: The name has another form, or the function does not exist.
        TypeError: The function did not return a DataFrame.
    """
    found = load(function)
    made = found(frame, **(arguments or {}))
    if not hasattr(made, "isStreaming"):
        raise TypeError(f"{function} returned {type(made).__name__}; allowed: a DataFrame")
    return made


def load(function: str) -> Callable[..., DataFrame]:
    """The function of a name "package.module:function".

    Raises:
        ValueError: The name has another form, or the function does not exist.
    """
    if not _REFERENCE.fullmatch(function):
        raise ValueError(f"{function!r} is not a name of a function; allowed: package.module:function")
    module, name = function.split(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"there is no function {function}: {error}") from error
    if not callable(found):
        raise ValueError(f"{function} is a {type(found).__name__}; allowed: a function")
    result: Callable[..., DataFrame] = found
    return result


def _reference(function: str) -> str:
    if not _REFERENCE.fullmatch(function):
        raise ValueError(f"{function!r} is not a name of a function; allowed: package.module:function")
    return function


class PythonFilter(Filter):
    """Calls a function of your own: a DataFrame in, a DataFrame out.

    Attributes:
        function: `package.module:function`, as Python's path finds it.
        arguments: The function's keyword arguments.
    """

    type: Literal["python"] = "python"
    function: Annotated[str, AfterValidator(_reference)]
    arguments: dict[str, Any] = Field(default_factory=dict)

    def apply(self, events: DataFrame) -> DataFrame:
        """The function's result."""
        return python(events, self.function, self.arguments)
