"""Five ways in which Satellite loses events, each shown not to exist here."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

import mmapqueue
from mmapqueue.pipeline._skywalking import LOGS
from mmapqueue.pipeline.event_pb2 import LogList
from mmapqueue.pipeline.process.senders._requests import END
from mmapqueue.pipeline.process.senders._worker import Report, Task
from mmapqueue.pipeline.process.senders.skywalking import SkyWalkingSender
from pipeline.gathering import SECONDS, gathering, request, stored
from pipeline.processing import QUICK, Counts, dead_letters, line, lines, pipeline, process, processing, push
from pipeline.receiving import grpc_receiver, http_receiver, until
from pipeline.test_runner import backend, offsets

COUNT = 30


def committed(directory: Path, consumer: str) -> int:
    """Records that a consumer still holds."""
    with mmapqueue.Queue(directory / "queue", lock_timeout=30, read_only=True) as queue:
        found = queue.consumer_stats()[consumer]
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


def test_3_no_answer_comes_before_the_queue_has_the_event(tmp_path: Path) -> None:
    with gathering(tmp_path) as gather, ThreadPoolExecutor(1) as pool:
        jvm = gather.stop_jvm()
        by_grpc, by_http = gather.export(request("grpc")), pool.submit(gather.post, request("http"))
        # Gather reads and answers on the same connection; only what needs a push waits.
        assert gather.unknown_method() == grpc.StatusCode.UNIMPLEMENTED
        assert not by_grpc.done()
        assert not by_http.done()
        os.kill(jvm, signal.SIGCONT)
        assert by_grpc.result(SECONDS) == b""
        assert by_http.result(SECONDS)[0] == 200
        assert sorted(stored(gather.directory)) == sorted([request("grpc"), request("http")])


def test_3_what_is_not_in_the_queue_was_not_answered(tmp_path: Path) -> None:
    with gathering(tmp_path) as gather, ThreadPoolExecutor(1) as pool:
        assert gather.export(request("answered")).result(SECONDS) == b""
        assert gather.post(request("answered, too"))[0] == 200
        jvm = gather.stop_jvm()
        by_grpc, by_http = gather.export(request("not")), pool.submit(gather.post, request("not either"))
        assert gather.unknown_method() == grpc.StatusCode.UNIMPLEMENTED
        for pid in (gather.pid, jvm):
            os.kill(pid, signal.SIGKILL)
        assert by_grpc.exception(SECONDS).code() == grpc.StatusCode.UNAVAILABLE
        assert isinstance(by_http.exception(SECONDS), OSError)
    assert stored(tmp_path / "queue") == [request("answered"), request("answered, too")]


def test_4_clients_of_a_full_queue_are_refused_and_counted(tmp_path: Path) -> None:
    one = request("x" * 60_000)
    with gathering(tmp_path, capacity="1m") as gather:
        accepted = 0
        refusal = gather.export(one).exception(SECONDS)
        while refusal is None:
            accepted += 1
            refusal = gather.export(one).exception(SECONDS)
        assert accepted > 1
        assert refusal.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        trailers = dict(refusal.trailing_metadata())
        (detail,) = Status.FromString(trailers["grpc-status-details-bin"]).details
        retry = RetryInfo()
        assert detail.Unpack(retry)
        assert retry.retry_delay.ToTimedelta() > timedelta(0)
        status, headers = gather.post(one)
        assert status == 429
        assert int(headers["Retry-After"]) > 0
        assert gather.received() == {"success": accepted, "rejected": 2}
        assert stored(gather.directory) == [one] * accepted


@pytest.mark.parametrize(("then", "status"), [("drop", "dropped"), ("dead_letter", "dead_letter")])
def test_5_an_error_of_the_log_stream_is_no_success(then: str, status: str) -> None:
    def fail(_position: int, context: grpc.ServicerContext) -> None:
        context.abort(grpc.StatusCode.UNAVAILABLE, "storage is away")

    payload = LogList(logs=[b"one", b"two"]).SerializeToString()

    class Row:
        def __init__(self, offset: int) -> None:
            self.offset = offset

        def asDict(self) -> dict[str, Any]:  # noqa: N802
            return {"partition": 0, "offset": self.offset, "content_type": LOGS, "data": payload}

    with grpc_receiver(fail) as (endpoint, receiver):
        sender = SkyWalkingSender.model_validate(
            {"name": "s", "endpoint": endpoint, "retry": {**QUICK, "max_attempts": 3, "then": then}}
        )
        reports: list[Report] = []
        waiting: list[Report] = []
        while not reports or waiting:
            # A task that takes long leaves further attempts to the next one.
            attempts = {each.partition: each.number for each in waiting}
            task = Task(sender, {0: "q"}, {}, attempts, Path("/nowhere"), 0)
            reports = list(task.run([Row(0), Row(END)]))  # type: ignore[list-item]
            waiting = [each for each in reports if each.kind == "waiting"]
    # The stream was read to its end before it failed, so that every write to it had succeeded.
    assert [call.messages for call in receiver.calls] == [[b"one", b"two"]] * 3
    assert [(each.status, each.number) for each in reports if each.kind == "count"] == [(status, 1)]
    letters = [each.offsets for each in reports if each.kind == "refused"]
    assert letters == [(0,)] * (then == "dead_letter")
