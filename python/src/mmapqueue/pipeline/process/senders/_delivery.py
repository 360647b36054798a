"""Delivery of one request: attempts, back-off, and what becomes of a request that cannot be delivered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, model_validator
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_never,
    wait_exponential_jitter,
)
from tenacity.stop import stop_base
from tenacity.wait import wait_base

from mmapqueue.pipeline.plugins import Duration, Options

_LOG = logging.getLogger("mmapqueue.pipeline.senders")
_DEFAULT_ATTEMPTS = 5


class Backoff(Options):
    """Pauses between attempts. Each is twice the one before, plus a random part of up to `first`.

    Attributes:
        first: The first pause.
        most: The longest pause. A pause that the receiver asks for is kept even if it is longer.
    """

    first: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(seconds=1)
    most: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(seconds=30)

    @model_validator(mode="after")
    def _check(self) -> Backoff:
        if self.first > self.most:
            raise ValueError(f"first = {self.first.total_seconds()} s exceeds most = {self.most.total_seconds()} s")
        return self


class Retry(Options):
    """What is done when a request fails.

    Attributes:
        max_attempts: Attempts for a request, the first included; 5 when None. Refused with `then: block`, which has no
            last attempt.
        backoff: Pauses between attempts.
        timeout: Time that one attempt may take.
        then: After the last attempt, or at once after an error that no further attempt can mend: `block` tries on with
            the longest pause, `dead_letter` stores the rows in the pipe's dead-letter queue, `drop` counts them.
    """

    max_attempts: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    backoff: Backoff = Backoff()
    timeout: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(seconds=10)
    then: Literal["block", "dead_letter", "drop"] = "block"

    @model_validator(mode="after")
    def _check(self) -> Retry:
        if self.then == "block" and self.max_attempts is not None:
            raise ValueError("max_attempts has no effect with then: block; set then: dead_letter or drop, or leave it out")
        return self


class Undelivered(Exception):
    """A request was not delivered.

    Attributes:
        reason: What went wrong, with the receiver's words.
        retryable: Whether a further attempt may succeed.
        retry_after: Seconds that the receiver asks to wait; 0 when it does not.
        partial: The receiver took the request and refused some of it. It must not be sent again.
    """

    def __init__(self, reason: str, *, retryable: bool, retry_after: float = 0.0, partial: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retryable = retryable
        self.retry_after = retry_after
        self.partial = partial


class _Pause(wait_base):
    """Exponential; not shorter than the receiver asks for; the longest one after an error that is not retryable."""

    def __init__(self, backoff: Backoff) -> None:
        first, most = backoff.first.total_seconds(), backoff.most.total_seconds()
        self._exponential = wait_exponential_jitter(initial=first, max=most, jitter=first)
        self._most = most

    def __call__(self, retry_state: RetryCallState) -> float:
        error = retry_state.outcome.exception() if retry_state.outcome else None
        if isinstance(error, Undelivered):
            if not error.retryable:
                return self._most
            return max(float(self._exponential(retry_state)), error.retry_after)
        return float(self._exponential(retry_state))


async def deliver(send: Callable[[], Awaitable[None]], retry: Retry, key: str) -> Undelivered | None:
    """Sends a request until it is delivered or given up.

    Args:
        send: One attempt. Raises `Undelivered`. Cancelled when it takes longer than `retry.timeout`.
        retry: How often, and with which pauses.
        key: Idempotency key of the request, for the log.

    Returns:
        None when the request was delivered, else why it was given up. With `then: block` the only reason is `partial`.
    """
    blocks = retry.then == "block"
    stop: stop_base = stop_never if blocks else stop_after_attempt(retry.max_attempts or _DEFAULT_ATTEMPTS)
    retrying = AsyncRetrying(
        stop=stop,
        wait=_Pause(retry.backoff),
        retry=retry_if_exception(
            lambda error: isinstance(error, Undelivered) and not error.partial and (blocks or error.retryable)
        ),
        before_sleep=lambda state: _log(state, key),
        reraise=True,
    )
    try:
        async for attempt in retrying:
            with attempt:
                await _attempt(send, retry.timeout)
    except Undelivered as error:
        return error
    return None


async def _attempt(send: Callable[[], Awaitable[None]], timeout: timedelta) -> None:
    try:
        await asyncio.wait_for(send(), timeout.total_seconds())
    except (TimeoutError, asyncio.TimeoutError):
        raise Undelivered(f"no answer within {timeout.total_seconds():g} s", retryable=True) from None


def _log(state: RetryCallState, key: str) -> None:
    error = state.outcome.exception() if state.outcome else None
    _LOG.warning(
        "request %s: attempt %d failed: %s; next attempt in %.1f s", key, state.attempt_number, error, state.upcoming_sleep
    )
