"""Fetchers of Prometheus metrics and of commands."""

import asyncio
import gzip
import sys
import zlib
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web

import mmapqueue
from conftest import eventually, has_ended
from mmapqueue.pipeline import Event, EventType
from mmapqueue.pipeline._event import encode as real_encode
from mmapqueue.pipeline.gather.fetchers import _period, command, prometheus
from mmapqueue.pipeline.gather.fetchers._exposition import check
from mmapqueue.pipeline.gather.fetchers._period import every
from mmapqueue.pipeline.gather.fetchers.command import CommandFetcher
from mmapqueue.pipeline.gather.fetchers.prometheus import PrometheusFetcher
from mmapqueue.pipeline.plugins import Duration, Fetcher
from pipeline.tailing import FakeHost, MemoryInbox

METRICS = b'# HELP up Up.\n# TYPE up gauge\nup{job="a"} 1\n'
OPENMETRICS = b"# TYPE up gauge\nup 1.0\n# EOF\n"
SECONDS = 60
SHORT = timedelta(milliseconds=10)


class Notes(FakeHost):
    """A host that says when something was stored or counted."""

    def __init__(self, inbox: MemoryInbox) -> None:
        super().__init__(inbox)
        self._changed = asyncio.Event()
        put = inbox.put

        async def put_and_tell(*records: bytes) -> None:
            await put(*records)
            self._changed.set()

        inbox.put = put_and_tell  # type: ignore[method-assign]

    def count(self, status: str, number: int) -> None:
        super().count(status, number)
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await asyncio.wait_for(self._changed.wait(), SECONDS)
            self._changed.clear()

    @property
    def events(self) -> list[Event]:
        return [Event.FromString(record) for record in self.inbox.records]

    @property
    def failures(self) -> int:
        return sum(number for status, number in self.counted if status == "fail")


def run(fetcher: Fetcher, until: Callable[[Notes], Any], inbox: MemoryInbox | None = None) -> Notes:
    """Runs a fetcher until a condition holds; returns what it did."""

    async def fetch() -> Notes:
        host = Notes(inbox or MemoryInbox())
        task = asyncio.create_task(fetcher.run(host))
        waiting = asyncio.create_task(host.until(lambda: until(host)))
        await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
        task.cancel()
        waiting.cancel()
        ended, _ = await asyncio.gather(task, waiting, return_exceptions=True)
        if isinstance(ended, Exception):
            raise ended
        return host

    return asyncio.run(fetch())


def scrape(
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    until: Callable[[Notes], Any],
    inbox: MemoryInbox | None = None,
    paths: tuple[str, ...] = ("/metrics",),
    **options: Any,
) -> tuple[Notes, str]:
    """Runs a fetcher of a server's paths; returns what it did, and the server's URL."""

    async def both() -> tuple[Notes, str]:
        app = web.Application()
        app.router.add_get("/{path:.*}", handler)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        fetcher = PrometheusFetcher(targets=tuple(url + path for path in paths), **{"interval": SHORT, **options})
        host = Notes(inbox or MemoryInbox())
        task = asyncio.create_task(fetcher.run(host))
        waiting = asyncio.create_task(host.until(lambda: until(host)))
        await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
        task.cancel()
        waiting.cancel()
        ended, _ = await asyncio.gather(task, waiting, return_exceptions=True)
        await runner.cleanup()
        if isinstance(ended, Exception):
            raise ended
        return host, url

    return asyncio.run(both())


# ---- Prometheus


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (METRICS, "text/plain; version=0.0.4; charset=utf-8"),
        (OPENMETRICS, "application/openmetrics-text; version=1.0.0; charset=utf-8"),
    ],
)
def test_a_scrape_is_one_event_as_it_came(body: bytes, content_type: str) -> None:
    asked: list[web.Request] = []

    async def metrics(request: web.Request) -> web.Response:
        asked.append(request)
        packed = gzip.compress(body)
        return web.Response(body=packed, headers={"Content-Type": content_type, "Content-Encoding": "gzip"})

    host, url = scrape(metrics, lambda host: len(host.events) > 2, headers={"Authorization": "Bearer x"}, timeout="60s")
    event = host.events[0]
    assert (event.type, event.data, event.content_type) == (EventType.METRICS, body, content_type)
    assert event.source == f"{url}/metrics"
    assert int(event.meta["scrape_ms"]) >= 0
    assert asked[0].headers["Authorization"] == "Bearer x"
    assert asked[0].headers["Accept"].startswith("application/openmetrics-text")
    assert asked[0].headers["X-Prometheus-Scrape-Timeout-Seconds"] == "60"
    assert host.failures == 0


def test_failures_are_counted_and_stop_no_other_target() -> None:
    async def metrics(request: web.Request) -> web.Response:
        if request.path == "/good":
            return web.Response(body=METRICS)
        if request.path == "/hangs":
            await asyncio.sleep(SECONDS)
        if request.path == "/large":
            return web.Response(body=METRICS * 100)
        if request.path == "/no-metrics":
            return web.Response(body=b"<html>\n")
        return web.Response(status=500)

    paths = ("/good", "/hangs", "/large", "/no-metrics", "/fails")
    host, url = scrape(
        metrics, lambda host: host.failures >= 12 and len(host.events) > 2, paths=paths, timeout="50ms", max_size=1000
    )
    assert {event.source for event in host.events} == {f"{url}/good"}
    # Not one of the formats: the event says how it is read, and what the target said.
    assert {event.content_type for event in host.events} == {"text/plain; version=0.0.4"}
    assert {event.meta["content_type"] for event in host.events} == {"application/octet-stream"}


def test_a_content_type_that_is_not_utf8_stops_no_target() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        media = b"text/\xff" if asked.startswith(b"GET /odd") else b"text/plain"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: %s; version=0.0.4\r\nContent-Length: " % media)
        writer.write(b"%d\r\nConnection: close\r\n\r\n%s" % (len(METRICS), METRICS))
        writer.close()

    async def both() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        host = Notes(MemoryInbox())
        fetcher = PrometheusFetcher(
            targets=(f"{url}/odd", f"{url}/good"), interval=SHORT, timeout=timedelta(seconds=60)
        )
        task = asyncio.create_task(fetcher.run(host))
        waiting = asyncio.create_task(host.until(lambda: len({each.source for each in host.events}) == 2))
        await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
        assert not task.done(), task.exception()
        types = {each.source: (each.content_type, each.meta.get("content_type")) for each in host.events}
        assert types == {
            f"{url}/odd": ("text/plain; version=0.0.4", "text/\ufffd; version=0.0.4"),
            f"{url}/good": ("text/plain; version=0.0.4", None),
        }
        assert host.failures == 0
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        server.close()
        await server.wait_closed()

    asyncio.run(both())


def test_an_error_that_no_one_expects_stops_no_other_target(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def encode(**event: Any) -> bytes:
        if event["source"].endswith("/odd"):
            raise RuntimeError("odd")
        return real_encode(**event)

    monkeypatch.setattr(prometheus, "encode", encode)

    async def metrics(_: web.Request) -> web.Response:
        return await _response(METRICS)

    host, url = scrape(metrics, lambda host: host.failures > 1 and host.events, paths=("/odd", "/good"))
    assert {event.source for event in host.events} == {f"{url}/good"}
    assert f"{url}/odd cannot be scraped" in caplog.text


def test_targets_that_do_not_answer_take_no_connection_of_others() -> None:
    async def metrics(request: web.Request) -> web.Response:
        if request.path.startswith("/hangs"):
            await asyncio.sleep(SECONDS)
        return await _response(METRICS)

    paths = (*(f"/hangs/{number}" for number in range(120)), "/good")
    host, url = scrape(metrics, lambda host: host.events or host.failures, paths=paths, timeout="60s")
    assert {event.source for event in host.events} == {f"{url}/good"}


async def _response(body: bytes, **headers: str) -> web.Response:
    return web.Response(body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_an_answer_that_is_cut_inside_its_compression_is_a_failure(
    encoding: str, caplog: pytest.LogCaptureFixture
) -> None:
    whole = METRICS * 100
    packed = (gzip.compress if encoding == "gzip" else zlib.compress)(whole)

    async def metrics(request: web.Request) -> web.Response:
        body = packed if request.path == "/whole" else packed[: len(packed) // 2]
        return await _response(body, Content_Type="text/plain; version=0.0.4", Content_Encoding=encoding)

    for validate in (True, False):
        host, url = scrape(
            metrics,
            lambda host: host.failures > 1 and host.events,
            paths=("/cut", "/whole"),
            validate_format=validate,
        )
        assert {(event.source, event.data) for event in host.events} == {(f"{url}/whole", whole)}
        assert f"{url}/cut cannot be scraped: the body is truncated: its {encoding} data has no end" in caplog.text


def test_an_answer_may_not_grow_beyond_the_limit() -> None:
    async def metrics(_: web.Request) -> web.Response:
        return await _response(gzip.compress(METRICS * 10_000), Content_Encoding="gzip")

    host, _ = scrape(metrics, lambda host: host.failures > 1, max_size="64k")
    assert host.events == []


@pytest.mark.parametrize(
    ("body", "content_type", "reason"),
    [
        (b"", "text/plain; version=0.0.4", "it has no samples"),
        (b"\n# only a comment\n", "text/plain; version=0.0.4", "it has no samples"),
        (b"# EOF\n", "application/openmetrics-text; version=1.0.0", "it has no samples"),
        (b"", "application/openmetrics-text; version=1.0.0", "it is truncated: its last line is not # EOF"),
        (b"up 1\n", "application/openmetrics-text; version=1.0.0", "it is truncated: its last line is not # EOF"),
        (b"<html>\n", "text/html", "line 1 is not a sample: '<html>'"),
        (b'up{a="b} 1\n', "text/plain", "line 1 is not a sample: 'up{a=\"b} 1'"),
        (b"up \xff\n", "text/plain", "codec can't decode byte 0xff"),
    ],
)
def test_answers_without_metrics_are_failures(
    body: bytes, content_type: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def metrics(_: web.Request) -> web.Response:
        return await _response(body, Content_Type=content_type)

    host, _ = scrape(metrics, lambda host: host.failures > 1 or host.events)
    assert host.events == []
    assert any(reason in message for message in caplog.messages)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\n# TYPE a gauge\na 2\n# EOF\n", "application/openmetrics-text"),
        (
            b'# TYPE a counter\na_total{x="1"} 1 # {trace="t"} 0.5 1.5\na_total{x="1"} 2\n# EOF\n',
            "application/openmetrics-text",
        ),
        (b'  up { a = "\\"," , } +Inf 1234 \r\n# anything\n\nx:y NaN', "text/plain; version=0.0.4"),
    ],
)
def test_what_prometheus_takes_is_stored(body: bytes, content_type: str) -> None:
    async def metrics(_: web.Request) -> web.Response:
        return await _response(body, Content_Type=content_type)

    host, _ = scrape(metrics, lambda host: host.failures > 1 or host.events)
    assert host.events[0].data == body


@pytest.mark.parametrize(
    "body", [b'a{b="c"' + b" " * 200_000 + b"x", b"a " + b"1" * 200_000 + b"x", b'a{b="' + b'\\"' * 200_000]
)
@pytest.mark.parametrize("openmetrics", [True, False])
def test_a_line_without_end_is_checked_in_linear_time(body: bytes, openmetrics: bool) -> None:
    # In quadratic time this takes hours.
    with pytest.raises(ValueError, match="line 1 is not a sample"):
        check(body + b"\n# EOF\n", openmetrics=openmetrics)


def test_answers_that_are_no_metrics_may_pass() -> None:
    async def text(_: web.Request) -> web.Response:
        return web.Response(body=b"<html>\n", content_type="text/html")

    host, _ = scrape(text, lambda host: host.events, validate_format=False)
    assert host.events[0].data == b"<html>\n"


def test_nobody_listens() -> None:
    host = run(
        PrometheusFetcher(targets=("http://127.0.0.1:1/metrics",), interval=SHORT), lambda host: host.failures > 2
    )
    assert host.events == []


class FullInbox(MemoryInbox):
    """Refuses the first events."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error: Exception | None = error

    async def put(self, *records: bytes) -> None:
        error, self.error = self.error, None
        if error is not None:
            raise error
        await super().put(*records)


@pytest.mark.parametrize("error", [mmapqueue.Full("full"), mmapqueue.TooLarge("too large")])
def test_what_is_not_stored_stops_nothing(error: Exception) -> None:
    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=METRICS)

    host, _ = scrape(metrics, lambda host: host.events, FullInbox(error))
    assert host.events[0].data == METRICS
    host = run(CommandFetcher(command=("echo", "x"), interval=SHORT), lambda host: host.events, FullInbox(error))
    assert host.events[0].data == b"x\n"


def test_a_closed_inbox_ends_fetchers() -> None:
    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=METRICS)

    with pytest.raises(mmapqueue.Closed):
        scrape(metrics, lambda _: False, FullInbox(mmapqueue.Closed("closed")))
    with pytest.raises(mmapqueue.Closed):
        run(CommandFetcher(command=("echo", "x")), lambda _: False, FullInbox(mmapqueue.Closed("closed")))


# ---- commands


def python(code: str, *arguments: str, **options: Any) -> CommandFetcher:
    return CommandFetcher(command=(sys.executable, "-c", code, *arguments), **{"interval": SHORT, **options})


def test_a_cancellation_that_comes_with_the_end_of_the_command_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async def cancelled() -> bool:
        fetching = asyncio.create_task(CommandFetcher(command=("true",)).run(Notes(MemoryInbox())))
        ended = command._Run.connection_lost

        def end_and_cancel(self: command._Run, error: Exception | None) -> None:
            ended(self, error)
            fetching.cancel()

        monkeypatch.setattr(command._Run, "connection_lost", end_and_cancel)
        # Otherwise it waits for its next run, in a minute.
        await asyncio.wait({fetching}, timeout=30)
        return fetching.cancelled()

    assert asyncio.run(cancelled())


def test_output_is_one_event(tmp_path: Path) -> None:
    code = "import os, sys; print(os.getcwd()); print(os.environ['X'], 'HOME' in os.environ); sys.exit(3)"
    host = run(python(code, directory=tmp_path, environment={"X": "y"}), lambda host: len(host.events) > 1)
    event = host.events[0]
    assert (event.type, event.content_type) == (EventType.LOGGING, "text/plain")
    assert event.data == f"{tmp_path}\ny True\n".encode()
    assert dict(event.meta) == {"exit_status": "3"}
    assert event.source.startswith(f"{sys.executable} -c import os")
    assert event.name == Path(sys.executable).name
    assert host.failures >= 1


def test_each_line_is_an_event() -> None:
    host = run(CommandFetcher(command=("printf", "a\\n\\nb"), lines=True), lambda host: len(host.events) > 2)
    assert [event.data for event in host.events] == [b"a", b"", b"b"]


def test_a_timeout_kills_the_group(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    # Its child holds the pipe open, and would write after it.
    code = "import subprocess, sys; subprocess.run(['sh', '-c', 'echo $$ >> ' + sys.argv[1] + '; sleep 100'])"
    pids = tmp_path / "pids"
    run(python(code, str(pids), timeout="2s"), lambda host: host.failures > 0 and pids.exists())
    for pid in map(int, pids.read_text().split()):
        # A signal takes effect a moment later.
        assert eventually(partial(has_ended, pid))
    assert "killed after timeout = 2 s" in caplog.text


def test_too_much_output(caplog: pytest.LogCaptureFixture) -> None:
    host = run(python("while True: print('x' * 1000)", max_size=5000), lambda host: host.failures > 1)
    assert host.events == []
    assert "max_size = 5000 bytes" in caplog.text


def test_standard_error_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    run(python("import sys; print('y' * 100_000, file=sys.stderr); print('x')"), lambda host: host.events)
    assert "yyy" in caplog.text
    assert len(caplog.text) < 20_000


def test_a_program_that_does_not_exist() -> None:
    host = run(CommandFetcher(command=("/does/not/exist",), interval=SHORT), lambda host: host.failures > 1)
    assert host.events == []


def test_runs_do_not_overlap(tmp_path: Path) -> None:
    # Fails if the file of another run exists. The pause is the load: a run that takes longer than the interval.
    code = (
        "import os, sys, time; os.close(os.open(sys.argv[1], os.O_CREAT | os.O_EXCL)); time.sleep(0.1);"
        "os.unlink(sys.argv[1]); print('x')"
    )
    host = run(python(code, str(tmp_path / "running")), lambda host: len(host.events) > 2)
    assert {event.meta["exit_status"] for event in host.events} == {"0"}


def test_moments_that_have_passed_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    async def pause(seconds: float) -> None:
        nonlocal now
        now += seconds

    # A clock that moves with pauses alone.
    fake = SimpleNamespace(get_running_loop=lambda: SimpleNamespace(time=lambda: now), sleep=pause)
    monkeypatch.setattr(_period, "asyncio", fake)

    async def moments() -> list[int]:
        found = []
        interval: Duration = CommandFetcher(command=("x",), interval=timedelta(seconds=20)).interval
        async for number in every(interval):
            assert now == number * 20
            found.append(number)
            if len(found) == 4:
                return found
            await pause((50, 0, 19)[len(found) - 1])
        return found

    assert asyncio.run(moments()) == [0, 3, 4, 5]


@pytest.mark.parametrize(
    "options",
    [
        {"targets": []},
        {"targets": ["localhost:9100"]},
        {"targets": ["ftp://host/x"]},
        {"targets": ["http://h/x"], "interval": "0s"},
    ],
)
def test_prometheus_options_that_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        PrometheusFetcher(**options)


@pytest.mark.parametrize("options", [{"command": []}, {"command": ["x"], "timeout": 5}, {"command": "df -P"}])
def test_command_options_that_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        CommandFetcher(**options)
