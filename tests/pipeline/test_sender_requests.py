"""Network senders without Spark: cutting of requests and attempts."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmapqueue.pipeline.process.senders._delivery import (
    Delivered,
    GivenUp,
    Outcome,
    Retry,
    Undelivered,
    Waiting,
    deliver,
)
from mmapqueue.pipeline.process.senders._requests import Request, RequestLimits, Row, requests
from pipeline.sending import AGAIN, GIVE_UP, QUICK

ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 40), st.sampled_from("ab")), max_size=60)


def _rows(drawn: list[tuple[int, int, int, str]]) -> list[Row]:
    """Sorted rows: a step of 0 from one row to the next is a further row of one record."""
    rows: list[Row] = []
    for partition in range(3):
        offset = 0
        route = "a"
        for _, step, size, name in [each for each in drawn if each[0] == partition]:
            offset += step
            if step or not rows or rows[-1]["partition"] != partition:
                route = name
            rows.append({"partition": partition, "offset": offset, "size": size, "route": route})
    return rows


def _cut(rows: list[Row], limits: RequestLimits) -> list[Request]:
    return list(
        requests(
            iter(rows),
            queues={0: "q0", 1: "q1", 2: "q2"},
            route=lambda each: str(each["route"]),
            size=lambda each: int(each["size"]),
            limits=lambda _route: limits,
        )
    )


@given(drawn=ROWS, records=st.integers(1, 5), size=st.integers(1, 60))
def test_requests_hold_each_row_once_within_limits_and_have_keys_of_their_own(
    drawn: list[tuple[int, int, int, str]], records: int, size: int
) -> None:
    rows = _rows(drawn)
    cut = _cut(rows, RequestLimits(max_records=records, max_bytes=size))
    held = [each for request in cut for each in request.rows]
    assert sorted(map(id, held)) == sorted(map(id, rows))
    assert len({request.key for request in cut}) == len(cut)
    for request in cut:
        assert {(each["partition"], each["route"]) for each in request.rows} == {(request.partition, request.route)}
        offsets = [each["offset"] for each in request.rows]
        assert offsets == sorted(offsets)
        if len(set(offsets)) > 1:
            before_last = [each for each in request.rows if each["offset"] != offsets[-1]]
            assert len(before_last) < records
            assert sum(each["size"] for each in before_last) <= size
    for partition in range(3):
        for route in "ab":
            own = [each["offset"] for r in cut if (r.partition, r.route) == (partition, route) for each in r.rows]
            assert own == sorted(own)


def test_a_record_is_never_divided() -> None:
    rows = [{"partition": 0, "offset": 7, "size": 9, "route": "a"} for _ in range(10)]
    (request,) = _cut(rows, RequestLimits(max_records=2, max_bytes=10))
    assert (request.key, len(request.rows)) == ("q0/0/7-8", 10)


# ---- attempts


def attempts(
    outcomes: list[Undelivered | None], hold: float = 60.0, earlier: int = 0, **retry: Any
) -> tuple[Outcome, int]:
    made = 0

    async def send() -> None:
        nonlocal made
        made += 1
        outcome = outcomes[min(made, len(outcomes)) - 1]
        if outcome is not None:
            raise outcome

    settings = Retry.model_validate({**QUICK, **retry})
    return asyncio.run(deliver(send, settings, "key", hold=hold, earlier=earlier)), made


NEVER = Undelivered("400", retryable=False)


def test_attempts_end_with_success() -> None:
    assert attempts([AGAIN, AGAIN, None], then="drop") == (Delivered(), 3)


@pytest.mark.parametrize("then", ["drop", "dead_letter"])
def test_the_last_attempt_gives_up(then: str) -> None:
    assert attempts([AGAIN], then=then, max_attempts=4) == (GivenUp(AGAIN), 4)


def test_attempts_of_an_earlier_run_count() -> None:
    assert attempts([AGAIN], then="drop", max_attempts=4, earlier=3) == (GivenUp(AGAIN), 1)


def test_an_error_that_no_attempt_mends_gives_up_at_once() -> None:
    assert attempts([NEVER], then="drop", max_attempts=4) == (GivenUp(NEVER), 1)


def test_block_has_no_last_attempt_of_an_outage() -> None:
    assert attempts([AGAIN] * 40 + [None]) == (Delivered(), 41)


def test_block_gives_up_what_can_never_succeed() -> None:
    assert attempts([AGAIN, NEVER]) == (GivenUp(NEVER), 2)


def test_partial_success_is_never_sent_again() -> None:
    partial = Undelivered("3 rejected", retryable=False, partial=True)
    assert attempts([partial]) == (GivenUp(partial), 1)


def test_a_long_pause_is_left_to_the_driver() -> None:
    asked = Undelivered("429", retryable=True, retry_after=3600.0)
    outcome, made = attempts([asked])
    assert (outcome, made) == (Waiting(asked, 1, 3600.0), 1)


def test_pauses_grow_over_runs() -> None:
    backoff = {"first": "1s", "most": "1h"}
    outcome, _ = attempts([AGAIN], hold=0.0, earlier=6, backoff=backoff)
    assert isinstance(outcome, Waiting)
    assert outcome.attempts == 7
    assert 64 <= outcome.pause <= 65


def test_no_answer_is_a_failed_attempt() -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    retry = Retry.model_validate({**GIVE_UP, "timeout": "1ms"})
    outcome = asyncio.run(deliver(hang, retry, "key", hold=60.0))
    assert isinstance(outcome, GivenUp)
    assert "no answer within 0.001 s" in outcome.error.reason


def test_what_a_client_cannot_make_into_a_request_is_given_up() -> None:
    async def fail() -> None:
        raise ValueError("not a message")

    outcome = asyncio.run(deliver(fail, Retry.model_validate(GIVE_UP), "key"))
    assert isinstance(outcome, GivenUp)
    assert outcome.error.reason == "ValueError: not a message"
