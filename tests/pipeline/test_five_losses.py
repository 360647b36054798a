"""Five ways in which Satellite loses events, each shown not to exist here."""

import asyncio
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import grpc
import pytest

import mmapqueue
from conftest import Open, fill
from mmapqueue.pipeline import Event
from mmapqueue.pipeline.event_pb2 import LogList
from mmapqueue.pipeline.gather.inbox import Full, QueueInbox
from mmapqueue.pipeline.process.columns import LOGS
from mmapqueue.pipeline.process.senders._worker import Report, Task
from mmapqueue.pipeline.process.senders.skywalking import SkyWalkingSender
from pipeline.processing import QUICK, Counts, dead_letters, line, lines, pipeline, process, processing, push
from pipeline.receiving import grpc_receiver, http_receiver, until
from pipeline.test_runner import backend, offsets

COUNT = 30


def committed(directory: Path, consumer: str) -> int:
    """Records that a consumer still holds."""
    with mmapqueue.Queue(None, directory / "queue", lock_timeout=30, read_only=True) as queue:
        (found,) = (each for each in queue.consumer_stats() if each.name == consumer)
        return found.lag_records


def test_1_a_batch_is_not_acked_when_forwarder_and_fallback_both_fail(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", lines(COUNT))
    # The dead-letter queue cannot be made either.
    (tmp_path / "dead").write_text("in the way")
    down = [True]
    with http_receiver(lambda _position, _request: 500 if down[0] else 200) as receiver:
        retry = {**QUICK, "max_attempts": 1, "then": "dead_letter"}
        configured = pipeline(tmp_path, backend(receiver.url, retry=retry))
        with pytest.raises(RuntimeError, match=r"p\.backend"):
            process(spark, configured)
        refused = len(receiver.requests)
        assert refused > 0
        assert committed(tmp_path, "backend") == COUNT
        (tmp_path / "dead").unlink()
        process(spark, configured)
        assert len(receiver.requests) == 2 * refused
    assert sorted(each.data for each in dead_letters(tmp_path)) == sorted(line(i) for i in range(COUNT))


def test_2_failed_events_are_never_taken_for_handled(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", lines(COUNT))
    down = [True]
    counts = Counts()
    # No fallback is configured: the default is to try on.
    with http_receiver(lambda _position, _request: 500 if down[0] else 200) as receiver:
        configured = pipeline(tmp_path, backend(receiver.url), dead_letter=False)
        with processing(spark, configured, counts):
            until(lambda: len(receiver.requests) > 5, "no attempts")
            assert not receiver.taken
            down[0] = False
            until(lambda: len(offsets(receiver.taken)) == COUNT, "not everything is sent")
        assert offsets(receiver.taken) == list(range(COUNT))
    assert set(counts.counted) <= {("p", "backend", "success")}


class Gated:
    """A queue whose pushes wait."""

    def __init__(self, queue: mmapqueue.Queue) -> None:
        self._queue = queue
        self.asked = threading.Event()
        self.gate = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)

    def push_many(self, *arguments: Any, **options: Any) -> Any:
        self.asked.set()
        assert self.gate.wait(60)
        return self._queue.push_many(*arguments, **options)


def test_3_no_answer_comes_before_the_queue_has_the_event(open_queue: Open) -> None:
    queue = open_queue()
    gated = Gated(queue)

    async def receive() -> None:
        inbox = QueueInbox(gated)  # type: ignore[arg-type]
        answer = asyncio.create_task(inbox.put(b"event"))
        assert await asyncio.to_thread(gated.asked.wait, 60)
        assert not answer.done()
        assert queue.end_offset() == 0
        gated.gate.set()
        await answer
        assert queue.get(0).data == b"event"
        await inbox.close()

    asyncio.run(receive())


def test_4_a_client_is_told_of_a_full_queue(small_queue: mmapqueue.Queue) -> None:
    fill(small_queue)
    end = small_queue.end_offset()
    counted: Counter[str] = Counter()

    async def receive() -> None:
        inbox = QueueInbox(small_queue, count=lambda status, records: counted.update({status: records}))
        try:
            with pytest.raises(Full) as refused:
                await inbox.put(b"x" * 500)
            assert refused.value.retry_after > 0
        finally:
            await inbox.close()

    asyncio.run(receive())
    assert (counted, small_queue.end_offset()) == ({"rejected": 1}, end)


@pytest.mark.parametrize(("then", "status"), [("drop", "dropped"), ("dead_letter", "dead_letter")])
def test_5_an_error_of_the_log_stream_is_no_success(then: str, status: str) -> None:
    def fail(_position: int, context: grpc.ServicerContext) -> None:
        context.abort(grpc.StatusCode.UNAVAILABLE, "storage is away")

    payload = LogList(logs=[b"one", b"two"]).SerializeToString()

    class Row:
        def asDict(self) -> dict[str, Any]:  # noqa: N802
            return {"partition": 0, "offset": 0, "content_type": LOGS, "data": payload}

    with grpc_receiver(fail) as (endpoint, receiver):
        sender = SkyWalkingSender.model_validate(
            {"name": "s", "endpoint": endpoint, "retry": {**QUICK, "max_attempts": 3, "then": then}}
        )
        reports: list[Report] = list(Task(sender, "p", {0: "q"}, {}, {}).run([Row()]))  # type: ignore[list-item]
    # The stream was read to its end before it failed, so that every write to it had succeeded.
    assert [call.messages for call in receiver.calls] == [[b"one", b"two"]] * 3
    assert [(each.status, each.number) for each in reports if each.kind == "count"] == [(status, 1)]
    letters = [Event.FromString(each.value) for each in reports if each.kind == "letter"]
    assert [list(each.log_list.logs) for each in letters] == [[b"one", b"two"]] * (then == "dead_letter")
