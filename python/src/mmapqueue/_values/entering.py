"""Calls under asyncio whose result is entered: `await call()`, or `async with call() as result`."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

Entered = TypeVar("Entered", bound=AbstractAsyncContextManager[Any])


class Entering(Coroutine[Any, Any, Entered]):
    """The coroutine of a call, which `async with` awaits and enters. Its errors say what was left out."""

    def __init__(self, call: str, coroutine: Coroutine[Any, Any, Entered]) -> None:
        self.__name__ = self.__qualname__ = call
        self._coroutine = coroutine
        self._entered: Entered | None = None

    def send(self, value: Any) -> Any:
        """As of the call's coroutine."""
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        """As of the call's coroutine."""
        return self._coroutine.throw(*error)

    def close(self) -> None:
        """As of the call's coroutine."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Entered]:
        return self._coroutine.__await__()

    async def __aenter__(self) -> Entered:
        entered = self._entered = await self._coroutine
        await entered.__aenter__()
        return entered

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._entered is not None
        return await self._entered.__aexit__(kind, error, trace)

    def __enter__(self) -> NoReturn:
        self.close()
        raise TypeError(f"{self.__name__}() is entered with `async with`, not with `with`")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Never called, since `__enter__` raises."""

    # For type checkers, a class with any attribute would be a generator, too: they would not infer the types of tasks.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(f"{self.__name__}() is a coroutine without {name!r}; its result comes by `await`")
