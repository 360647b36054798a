"""A task of a network sender: finished requests, and where a later run continues."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mmapqueue.pipeline.process.senders._delivery import Undelivered
from mmapqueue.pipeline.process.senders._requests import END, CutOff, Row
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


def run(
    done: dict[int, int],
    attempts_: dict[int, int],
    rows: list[Row],
    notes: Path = Path("/nowhere"),
    batch: int = 0,
    settled: frozenset[str] = frozenset(),
    **options: Any,
) -> list[Report]:
    sender = Recorded.model_validate({"name": "s", "url": "http://h/", **options})
    task = Task(sender, {0: "q0", 1: "q1"}, done, attempts_, notes, batch, settled)
    ended = [*rows, {"partition": 0, "offset": END}]
    return list(task.run(SparkRow(each) for each in ended))  # type: ignore[misc]


def labels(reports: list[Report]) -> frozenset[str]:
    return frozenset(each.status for each in reports if each.kind == "settled")


@pytest.mark.parametrize("parallel", [1, 3])
def test_a_task_that_waits_goes_on_where_it_was(parallel: int) -> None:
    rows = [row(i) for i in range(5)] + [{**row(i), "partition": 1} for i in range(3)]
    _FAILING.keys.clear()
    _FAILING.fail = lambda key: Undelivered("429", retryable=True, retry_after=99.0) if key == "q0/0/2-3" else None
    reports = run({}, {}, rows, parallel=parallel)
    # What was sent beside the request that waits.
    beside = parallel - 1
    settled = labels(reports)
    assert [(each.kind, each.status, each.partition, each.number) for each in reports if each.kind != "settled"] == [
        ("count", "success", -1, 2 + beside),
        ("done", "", 0, 2),
        ("waiting", "request q0/0/2-3: 429", 0, 1),
    ]
    assert reports[-1].pause == 99.0
    _FAILING.keys.clear()
    _FAILING.fail = lambda _key: None
    reports = run({0: 2}, {0: 1}, rows, parallel=parallel, settled=settled)
    after = ["q0/0/3-4", "q0/0/4-5"][beside:]
    assert sorted(_FAILING.keys) == ["q0/0/2-3", *after, "q1/1/0-1", "q1/1/1-2", "q1/1/2-3"]
    assert [(each.kind, each.status, each.partition, each.number) for each in reports] == [
        ("count", "success", -1, 6 - beside),
        ("done", "", 0, 5),
        ("done", "", 1, 3),
    ]


@pytest.mark.parametrize("all_of", [0, 1])
def test_a_request_is_not_sent_with_a_part_of_its_rows(all_of: int) -> None:
    """Spark ends the input of a task that it cancels as if it had no more rows."""
    _FAILING.keys.clear()
    _FAILING.fail = lambda _key: None
    sender = Recorded.model_validate({"name": "s", "url": "http://h/", "body": "ndjson", "request": {"max_records": 2}})
    task = Task(sender, {0: "q0", 1: "q1"}, {}, {}, Path("/nowhere"), 0)
    rows = [row(i, json="{}") for i in range(3)]
    if all_of:
        rows += [{"partition": 0, "offset": END}, {**row(0, json="{}"), "partition": 1}]
    with pytest.raises(CutOff):
        list(task.run(SparkRow(each) for each in rows))  # type: ignore[misc]
    assert _FAILING.keys == ["q0/0/0-2", "q0/0/2-3"][: 1 + all_of]


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


@pytest.mark.parametrize("killed", [False, True])
def test_halves_that_were_taken_are_not_sent_again_with_one_that_waits(tmp_path: Path, killed: bool) -> None:
    _FAILING.keys.clear()
    away = [True]

    def fail(key: str) -> Undelivered | None:
        if key == "q0/0/0-2":
            return Undelivered("400", retryable=False, divisible=True)
        return Undelivered("429", retryable=True, retry_after=99.0) if key == "q0/0/1-2" and away[0] else None

    _FAILING.fail = fail
    options: dict[str, Any] = {"body": "ndjson", "request": {"max_records": 2}, "notes": tmp_path}
    rows = [row(0, json="{}"), row(1, json="{}")]
    reports = run({}, {}, rows, **options)
    assert [(each.kind, each.number) for each in reports] == [("settled", 0), ("count", 1), ("waiting", 1)]
    assert reports[-1].status == "request q0/0/1-2: 429"
    away[0] = False
    # After a kill there are only the notes.
    reports = run({}, {}, rows, **options) if killed else run({}, {0: 1}, rows, settled=labels(reports), **options)
    assert [(each.kind, each.number) for each in reports] == [("count", 1 + killed), ("done", 1)]
    assert _FAILING.keys == ["q0/0/0-2", "q0/0/0-1", "q0/0/1-2", "q0/0/0-2", "q0/0/1-2"]


def test_a_dead_letter_beside_a_request_that_waits_is_written_once() -> None:
    _FAILING.keys.clear()
    partial = Undelivered("1 rejected", retryable=False, partial=True)
    waits = Undelivered("429", retryable=True, retry_after=99.0)
    _FAILING.fail = lambda key: {"q0/0/0-1": waits, "q0/0/1-2": partial}.get(key)
    rows = [row(0), row(1)]
    reports = run({}, {}, rows, parallel=2)
    assert [each.kind for each in reports] == ["refused", "settled", "count", "waiting"]
    _FAILING.fail = lambda _key: None
    reports = run({}, {0: 1}, rows, parallel=2, settled=labels(reports))
    assert [(each.kind, each.number) for each in reports] == [("count", 1), ("done", 2)]
    assert _FAILING.keys == ["q0/0/0-1", "q0/0/1-2", "q0/0/0-1"]


@pytest.mark.parametrize("parallel", [1, 3])
def test_a_repeated_batch_skips_what_it_had_finished(tmp_path: Path, parallel: int) -> None:
    rows = [row(i) for i in range(5)] + [{**row(i), "partition": 1} for i in range(3)]
    _FAILING.keys.clear()
    # A dead letter is stored after the task only.
    _FAILING.fail = lambda key: Undelivered("400", retryable=False) if key == "q0/0/1-2" else None
    run({}, {}, rows, tmp_path, 7, parallel=parallel)
    _FAILING.keys.clear()
    reports = run({}, {}, rows, tmp_path, 7, parallel=parallel)
    assert _FAILING.keys == ["q0/0/1-2"]
    assert [(each.kind, each.status, each.partition, each.number) for each in reports] == [
        ("refused", "400", 0, 0),
        ("count", "success", -1, 7),
        ("count", "dead_letter", -1, 1),
        ("done", "", 0, 5),
        ("done", "", 1, 3),
    ]


def test_what_was_finished_is_known_at_every_moment(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    def fail(_key: str) -> Undelivered | None:
        # What was answered before, and was not the last one, is in the file.
        written = (tmp_path / "0").read_text().splitlines()[1:] if (tmp_path / "0").exists() else []
        noted.append([each.split()[0] for each in written])
        if len(_FAILING.keys) == 4:
            raise Killed
        return None

    noted: list[list[str]] = []
    _FAILING.keys.clear()
    _FAILING.fail = fail
    with pytest.raises(Killed):
        run({}, {}, [row(i) for i in range(6)], tmp_path)
    assert noted == [_FAILING.keys[:sent] for sent in range(4)]
    _FAILING.fail = lambda _key: None
    run({}, {}, [row(i) for i in range(6)], tmp_path)
    assert _FAILING.keys == [f"q0/0/{i}-{i + 1}" for i in (0, 1, 2, 3, 3, 4, 5)]


@pytest.mark.parametrize(
    ("batch", "rows", "torn"),
    [
        pytest.param(8, [row(0), row(1)], 0, id="another batch"),
        pytest.param(7, [row(0), {**row(1), "data": b"longer than it was"}], 0, id="another content"),
        pytest.param(7, [row(0), row(1)], 1, id="a torn line"),
    ],
)
def test_what_was_not_finished_is_sent(tmp_path: Path, batch: int, rows: list[Row], torn: int) -> None:
    _FAILING.fail = lambda _key: None
    run({}, {}, [row(0), row(1)], tmp_path, 7)
    text = (tmp_path / "0").read_text()
    (tmp_path / "0").write_text(text[: len(text) - torn])
    _FAILING.keys.clear()
    run({}, {}, rows, tmp_path, batch)
    assert _FAILING.keys[-1] == "q0/0/1-2"
    assert len(_FAILING.keys) == (2 if batch == 8 else 1)
    # A torn line does not spoil the one that comes after it.
    _FAILING.keys.clear()
    run({}, {}, rows, tmp_path, batch)
    assert _FAILING.keys == []
