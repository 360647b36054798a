"""`mmapqueue exporter`: the metrics of queues that other processes write."""

from __future__ import annotations

import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

import mmapqueue
from command_line import CommandLine
from conftest import SMALL, Open, Script
from mmapqueue._cli.exporting import Exporter
from mmapqueue._tools.pages import TEXT, Page, address, serve


@contextmanager
def exporter(
    command_line: CommandLine, *arguments: object, end: signal.Signals = signal.SIGTERM, status: int = 0
) -> Iterator[str]:
    """Runs it; its address."""
    process = command_line.start("exporter", *arguments, "--listen", "127.0.0.1:0")
    assert process.stdout is not None
    ready = process.stdout.readline().decode()
    assert ready.startswith("ready: http://127.0.0.1:"), process.communicate()
    yield ready.removeprefix("ready: ").removesuffix("/metrics\n")
    process.send_signal(end)
    _, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert b"Traceback" not in err


def get(url: str) -> tuple[int, str, str]:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            assert answer.headers["Server"] == "mmapqueue"
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read().decode()


def values(text: str, metric: str) -> dict[str, float]:
    """The samples of a metric of queues, by the directory."""
    return {
        each.labels["queue"]: each.value
        for family in parse(text)
        for each in family.samples
        if each.name == f"mmapqueue_{metric}"
    }


def test_it_reads_beside_the_writer(command_line: CommandLine, open_queue: Open, tmp_path: Path) -> None:
    first, second = open_queue(tmp_path / "first", **SMALL), open_queue(tmp_path / "second", **SMALL)
    second.create_consumer("audit")
    with exporter(command_line, first.path, second.path) as url:
        first.push_many([b"one", b"two"])
        status, kind, text = get(f"{url}/metrics")
        assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
        assert values(text, "up") == {first.path: 1, second.path: 1}
        assert values(text, "retained_records") == {first.path: 2, second.path: 0}
        assert values(text, "pushed_records_total") == {first.path: 2, second.path: 0}
        assert values(text, "lag_records") == {second.path: 0}
        assert "fsync" not in text
        assert "redelivered" not in text
        assert get(f"{url}/health") == (200, "text/plain; charset=utf-8", "ok\n")
        assert get(f"{url}/")[0] == 404
        # It holds nothing: the writer may close the queue and delete it.
        first.destroy()
        assert values(get(f"{url}/metrics")[2], "up") == {first.path: 0, second.path: 1}
        status, _, text = get(f"{url}/health")
        assert status == 503
        assert f"there is no queue in {first.path}" in text


def test_ctrl_c_ends_it(command_line: CommandLine, closed: Path) -> None:
    with exporter(command_line, closed, end=signal.SIGINT, status=130) as url:
        assert get(f"{url}/health")[0] == 200


def test_an_address_in_use(command_line: CommandLine, closed: Path) -> None:
    with exporter(command_line, closed) as url:
        listen = url.removeprefix("http://")
        ended = command_line.run("exporter", closed, "--listen", listen)
    assert (ended.status, ended.out) == (1, "")
    assert f"cannot listen on {listen}: Address already in use" in ended.err


def test_a_client_that_breaks_off_is_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    server = serve("exporter", "127.0.0.1", 0, lambda path, accept: Page(200, TEXT, b""))  # noqa: ARG005
    try:
        for error, shown in ((ConnectionResetError(), False), (BrokenPipeError(), False), (ValueError("bug"), True)):
            try:
                raise error
            except (OSError, ValueError):
                server.handle_error(None, ("127.0.0.1", 1))  # type: ignore[arg-type]
            assert ("Traceback" in capsys.readouterr().err) == shown
    finally:
        server.shutdown()
        server.server_close()


def test_a_queue_that_comes_later_and_one_that_is_replaced(command_line: CommandLine, tmp_path: Path) -> None:
    path = str(tmp_path / "queue")
    with exporter(command_line, path) as url:
        assert values(get(f"{url}/metrics")[2], "up") == {path: 0}
        assert list(tmp_path.iterdir()) == [], "nothing was made"
        with mmapqueue.Queue(path, **SMALL) as queue:
            queue.push_many([b"one", b"two"])
            text = get(f"{url}/metrics")[2]
            assert (values(text, "up"), values(text, "retained_records")) == ({path: 1}, {path: 2})
            queue.destroy()
        with mmapqueue.Queue(path, **SMALL) as queue:
            queue.push(b"one")
            assert values(get(f"{url}/metrics")[2], "retained_records") == {path: 1}


def test_partitions_are_queues(tmp_path: Path) -> None:
    for number in (0, 10, 2):
        with mmapqueue.Queue(tmp_path / f"p={number}", **SMALL) as queue:
            queue.push_many([b"x"] * number)
    (tmp_path / ".staging").mkdir()
    found = Exporter([str(tmp_path)])
    try:
        expected = {str(tmp_path / f"p={number}"): number for number in (0, 2, 10)}
        retained = values(found.metrics(), "retained_records")
        assert retained == expected
        assert list(retained) == list(expected)
    finally:
        found.close()


def test_a_damaged_queue_does_not_hide_the_others(closed: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "meta.dat").write_bytes(b"x" * 4096)
    found = Exporter([str(damaged), str(closed)])
    try:
        text = found.metrics()
        assert values(text, "up") == {str(damaged): 0, str(closed): 1}
        assert values(text, "retained_records").keys() == {str(closed)}
        assert list(found.failures) == [str(damaged)]
    finally:
        found.close()


def test_a_directory_that_cannot_be_read_does_not_hide_the_others(closed: Path, tmp_path: Path) -> None:
    # As one without permission; that would hide nothing from root.
    unreadable = str(tmp_path / ("x" * 300))
    found = Exporter([unreadable, str(closed)])
    try:
        text = found.metrics()
        assert values(text, "up") == {unreadable: 0, str(closed): 1}
        assert values(text, "retained_records").keys() == {str(closed)}
        assert "File name too long" in found.failures[unreadable]
    finally:
        found.close()


def test_a_killed_jvm_is_replaced_at_the_next_scrape(script: Script) -> None:
    script.run(
        """
        import sys
        import mmapqueue
        from mmapqueue._cli.exporting import Exporter
        from mmapqueue._jvm import standalone
        paths = [sys.argv[1] + name for name in ("first", "second")]
        for path in paths:
            mmapqueue.Queue(path, capacity="1m").close()
        found = Exporter(paths)
        found.metrics()
        assert not found.failures
        standalone._running.process.kill()
        standalone._running.process.wait()
        assert found.metrics().count("mmapqueue_up{") == 2
        assert list(found.failures) == paths
        assert all("the JVM that has the queue does not answer" in each for each in found.failures.values())
        found.metrics()
        assert not found.failures
        found.close()
        """,
        f"{script.directory}/",
    )


@pytest.mark.parametrize("listen", ["9465", "localhost", "::1:80", "127.0.0.1:x", "127.0.0.1:65536", ""])
def test_an_invalid_address(listen: str) -> None:
    with pytest.raises(mmapqueue.ConfigError, match="--listen"):
        address("--listen", listen)


def test_an_invalid_option(command_line: CommandLine, closed: Path) -> None:
    ended = command_line.run("exporter", closed, "--listen", "9465")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("mmapqueue: --listen = '9465' is invalid; allowed: HOST:PORT")
    assert command_line.run("exporter").status == 2


@pytest.mark.parametrize(
    ("listen", "shift", "expected"),
    [
        ("127.0.0.1:80", 0, ("127.0.0.1", 80)),
        ("[::1]:80", 2, ("::1", 82)),
        (":80", 0, ("", 80)),
        ("localhost:0", 3, ("localhost", 0)),
    ],
)
def test_addresses(listen: str, shift: int, expected: tuple[str, int]) -> None:
    assert address("listen", listen, shift) == expected
