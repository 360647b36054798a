"""Delivery of one request: attempts, back-off, and the treatment of a request that cannot be delivered."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, model_validator
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_any,
    stop_before_delay,
    stop_never,
)
from tenacity.wait import wait_base

from mmapqueue._values.texts import printable
from mmapqueue.pipeline._timeout import timeout
from mmapqueue.pipeline.config._problems import without_user
from mmapqueue.pipeline.plugins import Duration, Options

_LOG = logging.getLogger("mmapqueue.pipeline.senders")
_DEFAULT_ATTEMPTS = 5
#: With this exponent of 2, any first pause exceeds any maximum pause.
_EXPONENTS = 60
#: Seconds for which a task keeps a core while it waits between attempts. Longer pauses are waited for in the driver.
HOLD = 5.0
#: The maximum pause in seconds, which every clock takes.
_LONGEST = 1e9


class Backoff(Options):
    """Pauses between attempts. Each is twice the previous one, plus a random part of up to `first`.

    Attributes:
        first: The first pause.
        most: The maximum pause. A pause that the receiver requests is kept even if it is longer.
    """

    first: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(seconds=1)
    most: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(seconds=30)

    @model_validator(mode="after")
    def _check(self) -> Backoff:
        if self.first > self.most:
            raise ValueError(f"first = {self.first.total_seconds()} s exceeds most = {self.most.total_seconds()} s")
        return self


class Retry(Options):
    """The treatment of a request that fails.

    Attributes:
        max_attempts: Attempts for a request, the first included; 5 when None. Refused with `then: block`, which has no
            last attempt.
        backoff: Pauses between attempts.
        timeout: The maximum duration of one attempt.
        then: After the last attempt of an outage: `block` tries on with the maximum pause, `dead_letter` stores the
            rows in the pipe's dead-letter queue, `drop` counts them.
        refused: At once after an error that no further attempt can mend: `dead_letter` or `drop`, as above.
    """

    max_attempts: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    backoff: Backoff = Backoff()
    timeout: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(seconds=10)
    then: Literal["block", "dead_letter", "drop"] = "block"
    refused: Literal["dead_letter", "drop"] = "dead_letter"

    @property
    def dead_letters(self) -> bool:
        """Whether rows may become dead letters."""
        return "dead_letter" in (self.then, self.refused)

    @model_validator(mode="after")
    def _check(self) -> Retry:
        if self.then == "block" and self.max_attempts is not None:
            raise ValueError(
                "max_attempts has no effect with then: block; set then: dead_letter or drop, or leave it out"
            )
        return self


class Undelivered(Exception):
    """A request was not delivered.

    Attributes:
        reason: The reason, with the receiver's message; on one line, without control characters and passwords of URLs.
        retryable: Whether it is an outage, so that a further attempt may succeed. Otherwise the rows are refused.
        retry_after: Seconds that the receiver asks to wait; 0 for none.
        partial: The receiver took the request and rejected some of it. It must not be sent again.
        divisible: The request was refused for its content: without some of its rows it may succeed.
    """

    def __init__(
        self,
        reason: str,
        *,
        retryable: bool,
        retry_after: float = 0.0,
        partial: bool = False,
        divisible: bool = False,
    ) -> None:
        # It goes to logs, in which a receiver must not write lines.
        self.reason = printable(without_user(reason))
        super().__init__(self.reason)
        self.retryable = retryable
        self.retry_after = min(retry_after, _LONGEST)
        self.partial = partial
        self.divisible = divisible


class Delivered(NamedTuple):
    """A request was delivered."""


class GivenUp(NamedTuple):
    """No further attempt is made.

    Attributes:
        error: The last error.
    """

    error: Undelivered


class Waiting(NamedTuple):
    """The next attempt is due after a pause for which a task must not wait.

    Attributes:
        error: The last error.
        attempts: Attempts made so far.
        pause: Seconds until the next attempt.
    """

    error: Undelivered
    attempts: int
    pause: float


Outcome = Delivered | GivenUp | Waiting


class _Pause(wait_base):
    """Exponential; not shorter than the receiver asks for."""

    def __init__(self, backoff: Backoff, earlier: int) -> None:
        self._first, self._most = backoff.first.total_seconds(), backoff.most.total_seconds()
        self._earlier = earlier

    def __call__(self, retry_state: RetryCallState) -> float:
        error = retry_state.outcome.exception() if retry_state.outcome else None
        least = error.retry_after if isinstance(error, Undelivered) else 0.0
        attempt = min(self._earlier + retry_state.attempt_number, _EXPONENTS)
        doubled = self._first * 2.0 ** (attempt - 1)
        return max(min(doubled + random.uniform(0, self._first), self._most), least)


async def deliver(
    send: Callable[[], Awaitable[None]], retry: Retry, key: str, *, earlier: int = 0, hold: float = HOLD
) -> Outcome:
    """Attempts to deliver a request.

    Args:
        send: One attempt. Raises `Undelivered`. Cancelled when it takes longer than `retry.timeout`.
        retry: The number of attempts, and the pauses.
        key: Idempotency key of the request, for the log.
        earlier: The number of attempts made before this call.
        hold: The maximum duration of this call in seconds, apart from its last attempt.

    Returns:
        `GivenUp` after an error that no attempt can mend, and after the last attempt. With `then: block`, no attempt is
        the last one.
    """
    most = None if retry.then == "block" else retry.max_attempts or _DEFAULT_ATTEMPTS
    pause = _Pause(retry.backoff, earlier)
    attempts = earlier

    def mendable(error: BaseException) -> bool:
        return isinstance(error, Undelivered) and error.retryable

    def log(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        _LOG.warning("request %s: attempt %d: %s; next attempt in %.1f s", key, attempts, error, state.upcoming_sleep)

    retrying = AsyncRetrying(
        stop=stop_any(stop_before_delay(hold), stop_never if most is None else stop_after_attempt(most - earlier)),
        wait=pause,
        retry=retry_if_exception(mendable),
        before_sleep=log,
        reraise=True,
    )
    try:
        async for attempt in retrying:
            attempts += 1
            with attempt:
                await _attempt(send, retry.timeout)
    except Undelivered as error:
        if not mendable(error) or (most is not None and attempts >= most):
            return GivenUp(error)
        return Waiting(error, attempts, attempt.retry_state.upcoming_sleep)
    return Delivered()


async def _attempt(send: Callable[[], Awaitable[None]], limit: timedelta) -> None:
    try:
        async with timeout(limit.total_seconds()):
            await send()
    except (TimeoutError, asyncio.TimeoutError):
        raise Undelivered(f"no answer within {limit.total_seconds():g} s", retryable=True) from None
    except Undelivered:
        raise
    except Exception as error:
        # The payload cannot become a request: the same rows would fail again.
        raise Undelivered(f"{type(error).__name__}: {error}", retryable=False, divisible=True) from error
