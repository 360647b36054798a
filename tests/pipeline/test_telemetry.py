"""Telemetry: Satellite's names and labels, and what the pages say."""

import asyncio
import contextlib
import io
import json
import re
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from rich.console import Console

import mmapqueue
from conftest import SMALL, Open
from mmapqueue._cli.screens.pipelines import screen
from mmapqueue.pipeline import _page
from mmapqueue.pipeline._table import lines
from mmapqueue.pipeline._watching import SenderRow, WatchedPipeline
from mmapqueue.pipeline.config import Pipe, Pipeline
from mmapqueue.pipeline.gather.agent import Agent
from mmapqueue.pipeline.gather.fetchers.command import CommandFetcher
from mmapqueue.pipeline.plugins import Host, Receiver, Sender
from mmapqueue.pipeline.process.backlog import Lag, completed_offsets, lags
from mmapqueue.pipeline.telemetry import GatherTelemetry, ProcessTelemetry

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


class Given(Receiver):
    """Puts the records of a test."""

    type: str = "given"
    records: tuple[bytes, ...] = (b"a", b"b")

    async def start(self, host: Host) -> None:
        await host.inbox.put(*self.records)
        with pytest.raises(mmapqueue.TooLarge):
            await host.inbox.put(b"x" * 9000)


class Nowhere(Sender):
    """Sends nothing."""

    type: str = "nowhere"

    def start(self, *_: Any) -> Any:
        raise NotImplementedError


def pipeline(tmp_path: Path, **keys: Any) -> Pipeline:
    fetcher = CommandFetcher(command=("echo", "x"), interval=timedelta(hours=1))
    failing = CommandFetcher(command=("/does/not/exist",), interval=timedelta(hours=1))
    pipe = {
        "name": "logs",
        "queue": {
            "dir": tmp_path / "queue",
            "capacity": 65536,
            **{k: SMALL[k] for k in ("segment_size", "max_event_size")},
        },
        "receivers": (Given(),),
        "fetchers": (fetcher, failing),
        "senders": (Nowhere(name="archive"), Nowhere(name="back.end")),
    }
    return Pipeline(**{"name": "test", "telemetry": {"listen": "127.0.0.1:0"}, "pipes": (pipe,), **keys})


def get(port: int, path: str, accept: str = "") -> tuple[int, str, str]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Accept": accept} if accept else {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.headers["Server"] == "mmapqueue"
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read().decode()


def samples(text: str, parse: Callable[..., Any] = parse_text) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parse(text)
        for sample in family.samples
    }


def labels(**each: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(each.items()))


def gathered(config: Pipeline, look: Callable[[GatherTelemetry, Agent], Awaitable[None]], partition: int = 0) -> None:
    """Runs an agent with telemetry, and looks at it."""

    async def gather() -> None:
        telemetry = GatherTelemetry(config, partition)
        await telemetry.start()
        try:
            async with Agent(config, partition, telemetry) as agent:
                await look(telemetry, agent)
                telemetry.watch(None)
        finally:
            await telemetry.stop()

    asyncio.run(gather())


async def until(telemetry: GatherTelemetry, key: tuple[str, tuple[tuple[str, str], ...]], value: float) -> Samples:
    for _ in range(600):
        _, _, text = await asyncio.to_thread(get, telemetry.port, "/metrics")
        found = samples(text)
        if found.get(key) == value:
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"{key} is {found.get(key)}")


def test_satellites_names_of_gathering(tmp_path: Path) -> None:
    async def look(telemetry: GatherTelemetry, agent: Agent) -> None:
        telemetry.watch(agent)
        await until(telemetry, ("gatherer_fetch_count", labels(pipe="logs", status="fail")), 1)
        found = await until(telemetry, ("gatherer_fetch_count", labels(pipe="logs", status="success")), 1)
        assert found["gatherer_receive_count", labels(pipe="logs", status="success")] == 2
        assert found["gatherer_receive_count", labels(pipe="logs", status="too_large")] == 1
        assert found["pipeline_queue_total_capacity", labels(pipeline="logs")] == 65536
        assert found["pipeline_queue_partition_size", labels(pipeline="logs", partition="0")] > 0
        assert found["grpc_server_connection_count", ()] == 0
        queue = agent.pipes["logs"].queue.path
        assert found["mmapqueue_retained_records", labels(pipe="logs", partition="0", queue=queue)] == 3

    gathered(pipeline(tmp_path), look)


def test_figures_of_consumers(tmp_path: Path) -> None:
    async def look(telemetry: GatherTelemetry, agent: Agent) -> None:
        telemetry.watch(agent)
        queue = agent.pipes["logs"].queue
        await asyncio.to_thread(queue.create_consumer, "archive")
        await asyncio.to_thread(queue.push_many, [b"x" * 100] * 10)
        of_queue = {"pipe": "logs", "partition": "0", "queue": queue.path}
        of_consumer = labels(consumer="archive", **of_queue)
        found = await until(telemetry, ("gatherer_fetch_count", labels(pipe="logs", status="success")), 1)
        records = queue.end_offset() - queue.first_offset()
        found = await until(telemetry, ("mmapqueue_lag_records", of_consumer), records)
        assert found["mmapqueue_lag_bytes", of_consumer] > 1000
        assert found["mmapqueue_oldest_unacked_age_seconds", of_consumer] > 0
        assert found["mmapqueue_mapped_bytes", labels(**of_queue)] > 0
        assert found["mmapqueue_unsynced_bytes", labels(**of_queue)] >= 0
        assert found["mmapqueue_pushed_records_total", labels(**of_queue)] == records

    gathered(pipeline(tmp_path), look)


def test_both_formats_have_the_same_names(tmp_path: Path) -> None:
    async def look(telemetry: GatherTelemetry, agent: Agent) -> None:
        telemetry.watch(agent)
        await until(telemetry, ("gatherer_fetch_count", labels(pipe="logs", status="success")), 1)
        _, text_type, text = await asyncio.to_thread(get, telemetry.port, "/metrics", "text/plain")
        _, open_type, opened = await asyncio.to_thread(get, telemetry.port, "/metrics", OPENMETRICS)
        assert text_type.startswith("text/plain")
        assert open_type.startswith("application/openmetrics-text")
        key = ("gatherer_receive_count", labels(pipe="logs", status="success"))
        assert samples(text)[key] == samples(opened, parse_openmetrics)[key] == 2

    gathered(pipeline(tmp_path), look)


def test_ready_and_health_of_gathering(tmp_path: Path) -> None:
    async def look(telemetry: GatherTelemetry, agent: Agent) -> None:
        async def page(path: str) -> tuple[int, str]:
            status, _, text = await asyncio.to_thread(get, telemetry.port, path)
            return status, text

        assert await page("/ready") == (503, "the receivers have not started yet\n")
        assert await page("/health") == (200, "ok\n")
        telemetry.watch(agent)
        assert await page("/ready?verbose") == (200, "ok\n")
        assert await page("/health") == (200, "ok\n")
        assert (await page("/other"))[0] == 404
        inbox: Any = agent.pipes["logs"].inbox
        real, inbox._queue = inbox._queue, SimpleNamespace(push_many=no_space)
        direct, inbox._direct = inbox._direct, None
        with pytest.raises(mmapqueue.MmapQueueError):
            await inbox.put(b"x")
        assert await page("/ready") == (
            503,
            "pipe logs: events cannot be stored: MmapQueueError: No space left on device\n",
        )
        inbox._queue, inbox._direct = real, direct
        await inbox.put(b"x")
        assert await page("/ready") == (200, "ok\n")
        telemetry.refused_count("web")("tls")
        _, _, text = await asyncio.to_thread(get, telemetry.port, "/metrics")
        assert samples(text)["server_refused_count", labels(server="web", reason="tls")] == 1
        await asyncio.to_thread(agent.pipes["logs"].queue.close)
        status, text = await page("/health")
        assert (status, text[:11]) == (503, "pipe logs: ")
        assert (await page("/metrics"))[0] == 200

    gathered(pipeline(tmp_path), look)


def no_space(*_: Any, **__: Any) -> int:
    raise mmapqueue.MmapQueueError("No space left on device")


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def free_ports() -> int:
    """The first of four free ports, below those that the system gives to connections."""
    return next(port for port in range(20_000, 30_000, 4) if all(map(is_free, range(port, port + 4))))


def test_each_process_has_a_port(tmp_path: Path) -> None:
    port = free_ports()
    config = pipeline(tmp_path, telemetry={"listen": f"127.0.0.1:{port}"}, gather={"processes": 3})

    async def look(telemetry: GatherTelemetry, agent: Agent) -> None:
        telemetry.watch(agent)
        assert telemetry.port == port + 2
        _, _, text = await asyncio.to_thread(get, telemetry.port, "/metrics")
        found = samples(text)
        assert found["gatherer_receive_count", labels(pipe="logs", status="success")] == 2
        assert ("pipeline_queue_partition_size", labels(pipeline="logs", partition="2")) in found
        # Fetchers run in the first process alone.
        assert not [name for name, _ in found if name == "gatherer_fetch_count"]

    gathered(config, look, partition=2)
    with ProcessTelemetry(config) as telemetry:
        assert telemetry.port == port + 3


@pytest.mark.parametrize("request_line", [b"POST /metrics HTTP/1.1", b"BAD\x01 /metrics HTTP/1.1", b"\0\1\2"])
def test_no_answer_says_what_the_server_is_made_with(tmp_path: Path, request_line: bytes) -> None:
    def ask(port: int) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(request_line + b"\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return b"".join(iter(lambda: connection.recv(4096), b""))

    async def look(telemetry: GatherTelemetry, _agent: Agent) -> None:
        answer = await asyncio.to_thread(ask, telemetry.port)
        assert answer.startswith((b"HTTP/1.1 405", b"HTTP/1.0 400"))
        assert b"\r\nServer: mmapqueue\r\n" in answer

    gathered(pipeline(tmp_path), look)


def test_ports_end() -> None:
    config = Pipeline.model_validate(
        {
            "name": "x",
            "telemetry": {"listen": "127.0.0.1:65535"},
            "pipes": ({"name": "a", "queue": {"dir": "q"}, "senders": (Nowhere(name="b"),)},),
        }
    )
    with pytest.raises(ValueError, match="process 1 would listen on port 65536"):
        ProcessTelemetry(config).start()


def test_an_address_in_use_is_named_with_its_key(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        refused = f"telemetry.listen: cannot listen on 127.0.0.1:{port}: Address already in use"
        config = pipeline(tmp_path, telemetry={"listen": f"127.0.0.1:{port}"})
        with pytest.raises(OSError, match=re.escape(refused)):
            asyncio.run(GatherTelemetry(config, 0).start())
        config = pipeline(tmp_path, telemetry={"listen": f"127.0.0.1:{port - 1}"})
        with pytest.raises(OSError, match=re.escape(refused)):
            ProcessTelemetry(config).start()


def test_nothing_is_served_without_telemetry(tmp_path: Path) -> None:
    config = pipeline(tmp_path, telemetry=None)

    async def look(telemetry: GatherTelemetry, agent: Agent) -> None:
        telemetry.watch(agent)
        with pytest.raises(RuntimeError):
            assert telemetry.port

    gathered(config, look)
    with ProcessTelemetry(config) as telemetry, pytest.raises(RuntimeError):
        assert telemetry.port


# ---- processing


def started(name: str | None, run: str = "r1") -> Any:
    return SimpleNamespace(name=name, runId=run)


def terminated(run: str, exception: str) -> Any:
    return SimpleNamespace(runId=run, exception=exception)


def progressed(name: str | None, records: int, rows: int = -1, run: str = "r1") -> Any:
    source = {"numInputRows": records}
    progress = {"name": name, "runId": run, "batchDuration": 400, "sources": [source], "sink": {"numOutputRows": rows}}
    return SimpleNamespace(progress=SimpleNamespace(json=json.dumps(progress)))


def test_progress_of_spark_3(tmp_path: Path) -> None:
    event = progressed("logs.archive", 100)
    progress = json.loads(event.progress.json)
    del progress["batchDuration"]
    event.progress.json = json.dumps({**progress, "durationMs": {"addBatch": 200, "triggerExecution": 300}})
    with ProcessTelemetry(pipeline(tmp_path)) as telemetry:
        telemetry.started(started("logs.archive"))
        telemetry.progressed(event)
        found = samples(get(telemetry.port, "/metrics")[2])
    assert found["sender_batch_seconds_sum", labels(pipe="logs", sender="archive")] == 0.3
    assert found["sender_output_count", labels(pipe="logs", status="success", type="archive")] == 100


def test_rows_that_come_too_late_for_a_filter_are_counted(tmp_path: Path) -> None:
    event = progressed("logs.archive", 100, rows=93)
    progress = json.loads(event.progress.json)
    operators = [{"operatorName": "dedupeWithinWatermark", "numRowsDroppedByWatermark": each} for each in (0, 7)]
    event.progress.json = json.dumps({**progress, "stateOperators": operators})
    with ProcessTelemetry(pipeline(tmp_path)) as telemetry:
        telemetry.started(started("logs.archive"))
        telemetry.progressed(event)
        found = samples(get(telemetry.port, "/metrics")[2])
    assert found["sender_output_count", labels(pipe="logs", status="success", type="archive")] == 93
    assert found["sender_output_count", labels(pipe="logs", status="dropped", type="archive")] == 7


def test_satellites_names_of_processing(tmp_path: Path) -> None:
    with ProcessTelemetry(pipeline(tmp_path)) as telemetry:
        # Spark reports late what an earlier query of this name has done.
        telemetry.progressed(progressed("logs.archive", 7, run="r0"))
        for name, run in (("logs.archive", "r1"), ("logs.back.end", "r2"), ("other", "r3"), (None, "r4")):
            telemetry.started(started(name, run))
        telemetry.progressed(progressed("logs.archive", 7, run="r0"))
        telemetry.progressed(progressed("logs.archive", 100))
        telemetry.progressed(progressed("logs.archive", 10, rows=25))
        telemetry.progressed(progressed("logs.archive", 0))
        telemetry.progressed(progressed("other", 1, run="r3"))
        telemetry.progressed(progressed(None, 1, run="r4"))
        # This one counts by itself.
        telemetry.sender_output("logs", "back.end", "success", 3)
        telemetry.sender_output("logs", "back.end", "failure", 2)
        telemetry.progressed(progressed("logs.back.end", 5, run="r2"))
        _, _, text = get(telemetry.port, "/metrics")
        found = samples(text)
        sent = {key: value for key, value in found.items() if key[0] == "sender_output_count"}
        assert sent == {
            ("sender_output_count", labels(pipe="logs", status="success", type="archive")): 125,
            ("sender_output_count", labels(pipe="logs", status="success", type="back.end")): 3,
            ("sender_output_count", labels(pipe="logs", status="failure", type="back.end")): 2,
        }
        assert found["queue_output_count", labels(pipe="logs", status="success")] == 115
        archive = labels(pipe="logs", sender="archive")
        assert found["sender_batch_seconds_count", archive] == 2
        assert found["sender_batch_seconds_sum", archive] == 0.8


def test_ready_and_health_of_processing(tmp_path: Path) -> None:
    with ProcessTelemetry(pipeline(tmp_path)) as telemetry:

        def page(path: str) -> tuple[int, str]:
            status, _, text = get(telemetry.port, path)
            return status, text

        assert page("/health") == (200, "ok\n")
        assert page("/ready") == (503, "queries that are not running: logs.archive, logs.back.end\n")
        telemetry.started(started("logs.archive", "r1"))
        telemetry.started(started("logs.back.end", "r2"))
        telemetry.started(started(None, "r3"))
        assert page("/ready") == (200, "ok\n")
        telemetry.terminated(terminated("r2", "lost"))
        telemetry.terminated(terminated("r3", "not ours"))
        assert page("/ready") == (503, "queries that are not running: logs.back.end\nlogs.back.end: lost\n")
        assert page("/nothing")[0] == 404
        assert (
            samples(get(telemetry.port, "/metrics")[2])["queue_output_count", labels(pipe="logs", status="failure")]
            == 1
        )


@pytest.mark.parametrize("ended_first", [True, False])
def test_a_sender_that_a_reload_removes_is_not_waited_for(tmp_path: Path, ended_first: bool) -> None:
    before = pipeline(tmp_path)
    (pipe,) = before.pipes
    after = before.model_copy(update={"pipes": (pipe.model_copy(update={"senders": pipe.senders[:1]}),)})
    with ProcessTelemetry(before) as telemetry:
        telemetry.started(started("logs.archive", "r1"))
        telemetry.started(started("logs.back.end", "r2"))
        telemetry.sender_waiting("logs", "back.end", "away")
        # The end of a query that waits is an exception, of which Spark tells later.
        if ended_first:
            telemetry.terminated(terminated("r2", "logs.back.end is being stopped"))
            telemetry.change(after)
        else:
            telemetry.change(after)
            telemetry.terminated(terminated("r2", "logs.back.end is being stopped"))
        telemetry.sender_waiting("logs", "back.end", "away")
        assert get(telemetry.port, "/ready")[0] == 200
        # It comes back.
        telemetry.change(before)
        telemetry.started(started("logs.back.end", "r3"))
        assert get(telemetry.port, "/ready")[0] == 200


class Elsewhere(Nowhere):
    """A sender of another type."""

    type: str = "elsewhere"


def test_a_sender_that_a_reload_gives_another_type_is_counted(tmp_path: Path) -> None:
    before = pipeline(tmp_path)
    (pipe,) = before.pipes
    senders = (Elsewhere(name="archive"), pipe.senders[1])
    after = before.model_copy(update={"pipes": (pipe.model_copy(update={"senders": senders}),)})
    with ProcessTelemetry(before) as telemetry:
        for name, run in (("archive", "r1"), ("back.end", "r2")):
            telemetry.started(started(f"logs.{name}", run))
            telemetry.sender_output("logs", name, "success", 1)
        telemetry.change(after)
        telemetry.progressed(progressed("logs.archive", 10))
        telemetry.progressed(progressed("logs.back.end", 10, run="r2"))
        found = samples(get(telemetry.port, "/metrics")[2])
    assert found["sender_output_count", labels(pipe="logs", status="success", type="archive")] == 11
    assert found["sender_output_count", labels(pipe="logs", status="success", type="back.end")] == 1


def complete(pipe: Pipe, sender: str, batch: int, offsets: str, *, committed: bool = True) -> None:
    """As Spark leaves the checkpoint of a query after a micro-batch."""
    for directory in ("offsets", "commits") if committed else ("offsets",):
        path = pipe.checkpoint(sender) / directory
        path.mkdir(parents=True, exist_ok=True)
        (path / str(batch)).write_text(f"v1\n{{}}\n{offsets}")


def test_lags_are_those_of_the_queue_and_the_checkpoint(open_queue: Open, tmp_path: Path) -> None:
    queue = open_queue(tmp_path / "queue")
    pipe = pipeline(tmp_path).pipes[0]

    def reading(_: Path) -> Any:
        return contextlib.nullcontext(queue)

    queue.push_many([b"x" * 100] * 10)
    assert lags(pipe, reading) == {}
    queue.create_consumer("archive")
    queue.create_consumer("back.end")
    whole = lags(pipe, reading)["archive"]
    assert (whole.records, whole.bytes >= 1000, whole.seconds > 0) == (10, True, True)
    # A micro-batch that is planned and not completed is not read.
    complete(pipe, "archive", 0, '{"0":4}')
    complete(pipe, "archive", 1, '{"0":9}', committed=False)
    part = lags(pipe, reading)["archive"]
    assert (part.records, part.bytes) == (6, round(whole.bytes * 0.6))
    assert 0 < part.seconds < 3600
    # The last completed micro-batch is not acked: an idle sender does not lag.
    complete(pipe, "archive", 1, '{"0":10}')
    assert lags(pipe, reading)["archive"] == Lag(0, 0, 0.0)
    assert lags(pipe, reading)["back.end"].records == 10
    queue.push(b"y")
    assert lags(pipe, reading)["archive"].records == 1


def test_offsets_of_several_sources_and_partitions(tmp_path: Path) -> None:
    pipe = pipeline(tmp_path).pipes[0]
    assert completed_offsets(pipe.checkpoint("archive")) == {}
    complete(pipe, "archive", 9, '{"0":1}')
    complete(pipe, "archive", 10, '{"0":7,"1":3}\n-\n{"0":5,"1":4}')
    assert completed_offsets(pipe.checkpoint("archive")) == {0: 5, 1: 3}


def test_a_sender_without_progress_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    behind = {("logs", "archive"): Lag(0, 0, 0.0), ("logs", "back.end"): Lag(0, 0, 0.0)}
    with ProcessTelemetry(pipeline(tmp_path), clock=lambda: now[0]) as telemetry:
        monkeypatch.setattr(telemetry, "lags", lambda: behind)

        def page() -> tuple[int, str]:
            status, _, text = get(telemetry.port, "/ready")
            return status, text

        for run, name in enumerate(("logs.archive", "logs.back.end")):
            telemetry.started(started(name, str(run)))
        # An idle sender is ready.
        now[0] += 1000
        assert page() == (200, "ok\n")
        behind["logs", "archive"] = Lag(7, 700, 1.0)
        now[0] += 299
        assert page() == (200, "ok\n")
        now[0] += 2
        assert page() == (503, "logs.archive: no progress for 301 s while records wait\n")
        telemetry.progressed(progressed("logs.archive", 1, run="0"))
        assert page() == (200, "ok\n")
        # A receiver that is away is told at once, and until it is back.
        telemetry.sender_waiting("logs", "back.end", "request q/0/0-1: 503\nGone; attempt 3")
        assert page() == (503, "logs.back.end: request q/0/0-1: 503 Gone; attempt 3\n")
        telemetry.sender_waiting("logs", "back.end", None)
        assert page() == (200, "ok\n")
        # A query that fails again and again runs in between.
        telemetry.terminated(terminated("0", "too large\nstack"))
        telemetry.started(started("logs.archive", "2"))
        assert page() == (503, "logs.archive: too large\n")
        telemetry.progressed(progressed("logs.archive", 1, run="2"))
        assert page() == (200, "ok\n")
        # Without records that wait, the last failure says nothing any more.
        telemetry.terminated(terminated("2", "disk full"))
        telemetry.started(started("logs.archive", "3"))
        behind["logs", "archive"] = Lag(0, 0, 0.0)
        assert page() == (200, "ok\n")


def test_top_of_a_pipeline(tmp_path: Path) -> None:
    config = pipeline(tmp_path, telemetry={"listen": f"127.0.0.1:{free_ports()}"})
    watched = WatchedPipeline("shop.yaml", config)

    async def sampled() -> list[SenderRow]:
        await asyncio.to_thread(watched.sample)
        return watched.rows()

    async def look(telemetry: GatherTelemetry, agent: Agent) -> None:
        archive, backend = await sampled()
        assert archive.state.startswith("the receivers have not started yet; process does not answer at http://127.")
        assert archive.lag_records is None
        # There is no rate before the second sample.
        assert (archive.received_per_second, archive.sent_per_second) == (None, None)
        assert [line[1].text for line in lines(watched)] == ["-", ""]
        telemetry.watch(agent)
        await until(telemetry, ("gatherer_fetch_count", labels(pipe="logs", status="success")), 1)
        # The fetchers may have been faster than the first sample.
        telemetry.receive_count("logs")("success", 7)
        with ProcessTelemetry(config) as process:
            process.started(started("logs.archive", "r1"))
            process.progressed(progressed("logs.archive", 100))
            process.sender_output("logs", "archive", "damaged", 2)
            process.sender_output("logs", "archive", "failure", 9)
            archive, backend = await sampled()
            assert (archive.pipe, archive.received, archive.refused) == ("logs", 10, 1)
            assert archive.received_per_second is not None
            assert archive.received_per_second > 0
            # Process has answered once.
            assert (archive.sent_per_second, backend.sent_per_second) == (None, None)
            # No consumer lags yet.
            assert archive.queued is None
            assert archive.fill is not None
            assert 0 < archive.fill < 1
            assert (archive.sender, archive.sent, archive.given_up, archive.state) == ("archive", 100, 2, "ok")
            assert (backend.sender, backend.sent, backend.state) == ("back.end", 0, "is not running")
            process.started(started("logs.back.end", "r2"))
            process.sender_output("logs", "archive", "success", 50)
            process.sender_waiting("logs", "back.end", "connection refused: port 4317")
            archive, backend = await sampled()
            assert archive.sent_per_second is not None
            assert archive.sent_per_second > 0
            assert backend.sent_per_second == 0
            assert (archive.state, backend.state) == ("ok", "connection refused: port 4317")
            assert watched.as_object()["processes"] == {
                "gather": "ok",
                "process": "logs.back.end: connection refused: port 4317",
            }
            text = Console(width=120, file=io.StringIO(), record=True)
            text.print(screen(watched, 120, 1.0))
            assert re.search(r"logs .* 1 .*archive .* 150 .*\n +back\.end", text.export_text(clear=False))
            assert "logs.back.end  connection refused: port 4317" in text.export_text()
            # Each process serves the same as a page.
            for port in (telemetry.port, process.port):
                status, content_type, page = await asyncio.to_thread(get, port, "/")
                assert (status, content_type) == (200, "text/html; charset=utf-8")
                assert "<td class=figure>150</td>" in page.replace('"', "")
                assert "Rates come with the next sample." in page
                assert "/s</td>" not in page
                with pytest.MonkeyPatch.context() as patched:
                    patched.setattr(_page, "_FRESH", 0.0)
                    _, _, second = await asyncio.to_thread(get, port, "/")
                assert "Rates are of the last " in second
                assert "<td class=figure>0/s</td>" in second.replace('"', "")
                assert "<dt>logs.back.end</dt><dd class=bad>connection refused: port 4317</dd>" in page

    gathered(config, look)


def test_top_counts_repeated_events_and_dead_letters(tmp_path: Path) -> None:
    config = pipeline(tmp_path, telemetry={"listen": f"127.0.0.1:{free_ports()}"})
    watched = WatchedPipeline("shop.yaml", config)

    async def look(telemetry: GatherTelemetry, agent: Agent) -> None:
        telemetry.watch(agent)
        queue = agent.pipes["logs"].queue
        await asyncio.to_thread(queue.create_consumer, "archive")
        await asyncio.to_thread(queue.push_many, [b"x"] * 4)
        await until(telemetry, ("gatherer_fetch_count", labels(pipe="logs", status="success")), 1)
        telemetry.receive_count("logs")("repeated", 5)
        telemetry.receive_count("logs")("no_records", 1)
        with ProcessTelemetry(config) as process:
            for status in ("success", "dead_letter", "dropped", "repeated"):
                process.sender_output("logs", "archive", status, 2)
            process.sender_output("logs", "dead_letter", "undecodable", 3)
            process.sender_output("logs", "back.end", "undecodable", 1)
            await asyncio.to_thread(watched.sample)
        archive, backend, undecodable = watched.rows()
        assert (archive.received, archive.received_again, archive.refused) == (3, 5, 1)
        assert archive.queued == queue.end_offset() - queue.first_offset()
        assert (archive.sent, archive.sent_again, archive.dead_letters, archive.given_up) == (2, 2, 2, 4)
        assert (backend.dead_letters, backend.given_up) == (0, 1)
        assert (undecodable.sender, undecodable.dead_letters, undecodable.given_up) == ("dead_letter", 3, 3)

    gathered(config, look)


def test_the_page_escapes_what_others_have_written(tmp_path: Path) -> None:
    config = pipeline(tmp_path, name="a", telemetry={"listen": f"127.0.0.1:{free_ports()}"})
    with ProcessTelemetry(config) as process:
        for name in ("archive", "back.end"):
            process.started(started(f"logs.{name}", name))
        process.sender_waiting("logs", "archive", "400 <script>alert(1)</script> & more")
        _, _, page = get(process.port, "/")
    assert "400 &lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in page
    assert "<script" not in page
    # The process that does not answer is named.
    assert "<dt>gather</dt><dd class=bad>gather does not answer at http://127." in page


def test_the_page_shows_the_configuration_of_the_last_reload(tmp_path: Path) -> None:
    config = pipeline(tmp_path, telemetry={"listen": f"127.0.0.1:{free_ports()}"})
    with ProcessTelemetry(config) as process:
        assert ">back.end</td>" in get(process.port, "/")[2]
        pipe = config.pipes[0].model_copy(update={"senders": (Nowhere(name="other"),)})
        process.change(config.model_copy(update={"pipes": (pipe,)}))
        page = get(process.port, "/")[2]
        assert ">other</td>" in page
        assert ">back.end</td>" not in page


def test_the_page_needs_an_address(tmp_path: Path) -> None:
    with ProcessTelemetry(pipeline(tmp_path)) as process:
        status, _, text = get(process.port, "/")
        assert status == 503
        assert "telemetry.listen: 127.0.0.1:0 is invalid" in text


@pytest.mark.parametrize("telemetry", [None, {"listen": "127.0.0.1:0"}])
def test_top_needs_an_address(tmp_path: Path, telemetry: dict[str, str] | None) -> None:
    with pytest.raises(mmapqueue.ConfigError, match=r"shop\.yaml: telemetry"):
        WatchedPipeline("shop.yaml", pipeline(tmp_path, telemetry=telemetry))


def test_top_adds_up_the_processes(tmp_path: Path) -> None:
    config = pipeline(tmp_path, telemetry={"listen": f"127.0.0.1:{free_ports()}"}, gather={"processes": 2})
    watched = WatchedPipeline("shop.yaml", config)

    async def look(telemetry: GatherTelemetry, agent: Agent) -> None:
        telemetry.watch(agent)
        other = GatherTelemetry(config, 0)
        await other.start()
        try:
            other.receive_count("logs")("success", 5)
            other.refused_count("grpc")("unauthenticated")
            await asyncio.to_thread(watched.sample)
        finally:
            await other.stop()
        assert watched.rows()[0].received == 7
        assert watched.servers() == {"grpc unauthenticated": 1}
        assert watched.states()["gather process 1"] == "ok"

    gathered(config, look, partition=1)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsender_output", id="cut off"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html></html>", id="another program"),
        pytest.param(b"220 mail ready\r\n", id="no HTTP"),
    ],
)
def test_top_goes_on_beside_what_is_no_answer(tmp_path: Path, answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        watched = WatchedPipeline("shop.yaml", pipeline(tmp_path, telemetry={"listen": f"127.0.0.1:{port}"}))

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection = server.accept()[0]
                    with connection:
                        connection.recv(1000)
                        connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        watched.sample()
        server.shutdown(socket.SHUT_RDWR)
    assert watched.states()["gather"].startswith(f"gather does not answer with metrics at http://127.0.0.1:{port}: ")
    assert [row.sent for row in watched.rows()] == [0, 0]
