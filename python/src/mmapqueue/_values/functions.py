"""Functions that callers give: they must have done their work when they return.

A call of an `async def` makes a coroutine, and a call of a function with `yield` makes a generator: neither runs a line
of it. A record would then count as handled that nothing has handled.
"""

from functools import partial


def eager(what: str, function: object, instead: str) -> None:
    """Checks that a call of a function does its work.

    Args:
        what: The name of the argument, for the error.
        function: A function, a method, a partial, or any other callable.
        instead: What to write in place of a function that the check refuses.

    Raises:
        TypeError: The object cannot be called, or a call only makes a coroutine or a generator.
    """
    # Imported on first use: it is slow to import.
    import inspect

    if not callable(function):
        raise TypeError(f"{what} = {function!r} is invalid; allowed: a function")
    called: object = function
    while isinstance(called, partial):
        called = called.func
    for found in (called, type(called).__call__):
        if inspect.iscoroutinefunction(found):
            kind = "coroutine"
        elif inspect.isgeneratorfunction(found) or inspect.isasyncgenfunction(found):
            kind = "generator"
        else:
            continue
        raise TypeError(f"{what} = {function!r} is invalid: a call of it only makes a {kind}; {instead}")


def unfinished(what: str, function: object, result: object, instead: str) -> TypeError | None:
    """The error for a result that stands for work that was not done; None for any other result.

    Args:
        what: What was called, for the error.
        function: The function that returned it.
        result: The result. A coroutine is closed.
        instead: As for `eager`.
    """
    # Imported on first use: it is slow to import.
    import inspect

    if not (inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result)):
        return None
    if inspect.iscoroutine(result):
        # Otherwise Python warns that nothing has awaited it.
        result.close()
    kind = type(result).__name__
    return TypeError(f"the {what} {function!r} returned a {kind}, and nothing waits for it; {instead}")
