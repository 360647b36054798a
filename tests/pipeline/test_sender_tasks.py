"""A task of a network sender: finished requests, and where a later run continues."""

from collections.abc import Callable
from typing import Any

import pytest

from mmapqueue.pipeline.process.senders._delivery import Undelivered
from mmapqueue.pipeline.process.senders._requests import Row
from mmapqueue.pipeline.process.senders._worker import Report, Task
from mmapqueue.pipeline.process.senders.http import HttpSender
from pipeline.sending import AGAIN, GIVE_UP, row


class Recorded(HttpSender):
    """Fails as the test sets it."""

    def client(self) -> Any:
        return _FAILING


class _Failing:
    def __init__(self) -> None:
        self.keys: list[str] = []
        self.fail: Callable[[str], Undelivered | None] = lambda _key: None

    async def close(self) -> None:
        pass

    async def send(self, route: str, rows: list[Row], key: str) -> None:  # noqa: ARG002
        self.keys.append(key)
        error = self.fail(key)
        if error is not None:
            raise error


_FAILING = _Failing()


class SparkRow:
    """As much of Spark's Row as tasks need."""

    def __init__(self, values: Row) -> None:
        self.values = values

    def asDict(self) -> Row:  # noqa: N802
        return self.values


def run(done: dict[int, int], attempts_: dict[int, int], rows: list[Row], **options: Any) -> list[Report]:
    sender = Recorded.model_validate({"name": "s", "url": "http://h/", **options})
    task = Task(sender, {0: "q0", 1: "q1"}, done, attempts_)
    return list(task.run(SparkRow(each) for each in rows))  # type: ignore[misc]


@pytest.mark.parametrize("parallel", [1, 3])
def test_a_task_that_waits_goes_on_where_it_was(parallel: int) -> None:
    rows = [row(i) for i in range(5)] + [{**row(i), "partition": 1} for i in range(3)]
    _FAILING.keys.clear()
    _FAILING.fail = lambda key: Undelivered("429", retryable=True, retry_after=99.0) if key == "q0/0/2-3" else None
    reports = run({}, {}, rows, parallel=parallel)
    assert [(each.kind, each.status, each.partition, each.number) for each in reports] == [
        ("count", "success", -1, 2),
        ("done", "", 0, 2),
        ("waiting", "request q0/0/2-3: 429", 0, 1),
    ]
    assert reports[-1].pause == 99.0
    _FAILING.keys.clear()
    _FAILING.fail = lambda _key: None
    reports = run({0: 2}, {0: 1}, rows, parallel=parallel)
    # With several requests at a time some may be sent again.
    assert set(_FAILING.keys) == {"q0/0/2-3", "q0/0/3-4", "q0/0/4-5", "q1/1/0-1", "q1/1/1-2", "q1/1/2-3"}
    assert len(_FAILING.keys) == 6 or parallel > 1
    assert [(each.kind, each.status, each.partition, each.number) for each in reports] == [
        ("count", "success", -1, 6),
        ("done", "", 0, 5),
        ("done", "", 1, 3),
    ]


def test_attempts_go_on_counting_and_end_in_a_dead_letter() -> None:
    _FAILING.keys.clear()
    _FAILING.fail = lambda _key: AGAIN
    reports = run({}, {0: 2}, [row(4)], retry={**GIVE_UP, "then": "dead_letter"})
    assert len(_FAILING.keys) == 1
    assert reports[0] == Report("refused", "503", 0, offsets=(4,))


def test_a_request_that_is_refused_for_its_content_is_sent_in_halves() -> None:
    _FAILING.keys.clear()

    def fail(key: str) -> Undelivered | None:
        first, end = map(int, key.rpartition("/")[2].split("-"))
        return Undelivered("400", retryable=False, divisible=True) if first <= 5 < end else None

    _FAILING.fail = fail
    reports = run({}, {}, [row(i, json="{}") for i in range(8)], body="ndjson", request={"max_records": 8})
    sent = ["q0/0/0-8", "q0/0/0-4", "q0/0/4-8", "q0/0/4-6", "q0/0/4-5", "q0/0/5-6", "q0/0/6-8"]
    assert _FAILING.keys == sent
    assert [(each.kind, each.status, each.number, each.offsets) for each in reports] == [
        ("refused", "400", 0, (5,)),
        ("count", "success", 7, ()),
        ("count", "dead_letter", 1, ()),
        ("done", "", 1, ()),
    ]


def test_halves_that_wait_are_sent_again_with_their_request() -> None:
    _FAILING.keys.clear()
    away = [True]

    def fail(key: str) -> Undelivered | None:
        if key == "q0/0/0-2":
            return Undelivered("400", retryable=False, divisible=True)
        return Undelivered("429", retryable=True, retry_after=99.0) if key == "q0/0/1-2" and away[0] else None

    _FAILING.fail = fail
    options: dict[str, Any] = {"body": "ndjson", "request": {"max_records": 2}}
    (waiting,) = run({}, {}, [row(0, json="{}"), row(1, json="{}")], **options)
    assert (waiting.kind, waiting.status, waiting.number) == ("waiting", "request q0/0/1-2: 429", 1)
    away[0] = False
    reports = run({}, {0: 1}, [row(0, json="{}"), row(1, json="{}")], **options)
    assert [(each.kind, each.number) for each in reports] == [("count", 2), ("done", 1)]
    assert _FAILING.keys == ["q0/0/0-2", "q0/0/0-1", "q0/0/1-2"] * 2
