"""The benchmark of the pipeline: its figures of generators and servers."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "python" / "benchmarks"))

from pipeline_bench import __main__ as bench
from pipeline_bench import article, kills, loads, report, rounds, tools
from pipeline_bench.bare import EXPORT
from pipeline_bench.processes import Memory, Server, disk_bytes, free_port, memory
from pipeline_bench.subjects import Collector, Gather, Persistent, Subject, bare

#: A server that accepts connections and, like the other ones, has a child.
_SERVER = """
import socket, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
time.sleep(600)
"""
#: A generator that reports 7 accepted requests of 100 logs, and appends 700 000 bytes to the file.
_LOAD = """\
#!{python}
import json, pathlib, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if "{file}":
    with open("{file}", "ab") as file:
        file.write(bytes(700_000))
if "-accepted" in words:
    pathlib.Path(words["-accepted"]).write_text("\\n".join(f"0000{{i:08x}}" for i in range(7)))
print(json.dumps(dict(accepted_requests=7, accepted_logs=700, refused_requests=0, failed_requests={failed},
    seconds=2.0, latency_ms={{"p50": 1.0, "p99": 2.0, "p99.9": 3.0, "max": 4.0}})))
"""


#: Of a generator: returns when the server has been killed.
_UNTIL_KILLED = """\
import contextlib, socket
with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(words["-port"]))) as connection:
    connection.recv(1)
"""


@dataclass(frozen=True)
class Fake(Persistent):
    """A server that stores nothing and has files."""

    name: str = "fake"
    protocol: str = "grpc"
    keeps: str = "nothing"

    def version(self) -> str:
        return "1"

    def start(self, directory: Path) -> Server:
        self.data(directory).mkdir(exist_ok=True)
        port = free_port()
        return Server([sys.executable, "-c", _SERVER, str(port)], port, directory / "log")

    def data(self, directory: Path) -> Path:
        return directory / "data"

    def kept(self, directory: Path) -> Iterator[str]:
        # The last request is lost, the first one came twice.
        assert directory.is_dir()
        return (f"0000{request:08x}-{log:04x}" for request in [0, *range(6), 9] for log in range(100))


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts a script in the scratch of the generator, which Go would have to build."""

    def make(failed: int = 0, file: str = "") -> None:
        script = tmp_path / "load"
        script.write_text(_LOAD.format(python=sys.executable, failed=failed, file=file))
        script.chmod(0o755)
        monkeypatch.setattr(tools.Tools, "load", lambda _self: script)

    return make


# Programs


def test_without_go_programs_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for build in (tools.Tools(tmp_path).load, tools.Tools(tmp_path).telemetrygen, tools.Tools(tmp_path).collector):
        with pytest.raises(tools.MissingError, match="Go is not on PATH"):
            build()


def test_a_failed_build_raises_with_its_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho one >&2\necho 403 Forbidden >&2\nexit 1\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(tools.MissingError, match=r"^go install failed: 403 Forbidden$"):
        tools.Tools(tmp_path / "peers").telemetrygen()


def test_without_a_generator_main_exits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="no load generator: Go is not on PATH"):
        bench.main(["--directory", str(tmp_path / "bench"), "--peers", str(tmp_path / "peers")])
    assert not (tmp_path / "bench").exists()


# Processes


def test_kill_ends_the_server_and_its_children(tmp_path: Path) -> None:
    server = Fake().start(tmp_path)
    try:
        server.ready()
        pids = server.processes()
        assert len(pids) == 2
        both, first = memory(pids), memory(pids[:1])
        assert both.resident == both.anonymous + both.file + both.shared
        assert both.anonymous > first.anonymous > 1 << 20
        assert both.file > 1 << 20
        assert server.cpu_seconds() > 0
    finally:
        server.kill()
    end = time.monotonic() + 10
    while any(_alive(pid) for pid in pids):  # A dead child stays until its new parent has waited for it.
        assert time.monotonic() < end
        time.sleep(0.01)


def _alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_a_server_that_ends_raises_with_its_log(tmp_path: Path) -> None:
    server = Server([sys.executable, "-c", "raise SystemExit('no such port')"], free_port(), tmp_path / "log")
    with pytest.raises(RuntimeError, match=r"ended:\nno such port"):
        server.ready()


def test_an_ended_process_has_no_memory() -> None:
    assert memory([1 << 30]) == Memory()


def test_disk_bytes_are_those_of_blocks(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with (tmp_path / "a" / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    (tmp_path / "full").write_bytes(bytes(100_000))
    assert 100_000 <= disk_bytes(tmp_path) < 1 << 20


def test_a_bare_server_answers_and_writes_ids(tmp_path: Path) -> None:
    grpc = pytest.importorskip("grpc")
    for kind in ("grpc-aio", "grpc-threads"):
        port, ids = free_port(), tmp_path / kind
        server = bare(kind, port, tmp_path / "log", ids)
        try:
            server.ready()
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                export = channel.unary_unary(EXPORT)
                assert export(b"..id=00010000000a-0000 x id=00010000000a-0001 y") == b""
                with pytest.raises(grpc.RpcError, match="UNIMPLEMENTED"):
                    channel.unary_unary("/other.Service/Export")(b"")
        finally:
            server.kill()
        assert ids.read_text() == "00010000000a-0000\n00010000000a-0001\n"


# Loads


def test_telemetrygen_is_counted_by_its_log() -> None:
    exported = '2026-01-01T00:00:0{}Z\tDEBUG\tlogs/worker.go:146\texported batched logs\t{{"worker": 5, "count": {}}}\n'
    log = (
        "2026-01-01T00:00:01.500Z\tINFO\tlogs/logs.go:34\tstarting the logs generator with configuration\t{}\n"
        + exported.format("2.000", 100)
        + '2026-01-01T00:00:02.500Z\tINFO\tlogs/worker.go:118\tlogs generated\t{"worker": 5, "logs": 150}\n'
        + exported.format("3.500", 50)
    )
    sent = loads.parse_telemetrygen(log)
    assert (sent.requests, sent.logs, sent.seconds, sent.logs_per_second) == (2, 150, 2.0, 75.0)
    with pytest.raises(RuntimeError, match="exported nothing:\nconnection refused"):
        loads.parse_telemetrygen("connection refused")


def test_a_failed_generator_raises_with_its_output(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"sh ended with status 3:\nout\nerror"):
        loads.run(["/bin/sh", "-c", "echo out; echo error >&2; exit 3"], tmp_path / "log")


# Configurations


def test_gather_and_collector_have_equal_limits(tmp_path: Path) -> None:
    gather: Any = Gather("two", "http", processes=2, capacity=8 << 30).configuration(tmp_path, 4318)
    assert gather["gather"] == {"processes": 2}
    assert gather["pipes"][0]["queue"]["capacity"] == 4 << 30
    assert gather["servers"][0]["type"] == "http"
    collector: Any = Collector(tools.Tools(tmp_path)).configuration(tmp_path, 4317, 9)
    assert gather["servers"][0]["listen"] == "127.0.0.1:4318"
    receiver = collector["receivers"]["otlp"]["protocols"]["grpc"]
    assert receiver["endpoint"] == "127.0.0.1:4317"
    assert receiver["max_recv_msg_size_mib"] << 20 == gather["servers"][0]["max_message_size"]
    assert collector["exporters"]["otlp_grpc"]["sending_queue"]["storage"] in collector["extensions"]


def test_compared_measurements_are_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    bench.main(
        ["--list", "--parts", "rates", "--only", "^(mmapqueue gather|bare grpc.aio|bare aiohttp):", "--batches", "1,10"]
    )
    assert capsys.readouterr().out.splitlines() == [
        f"{subject}: {load}, batch {batch}"
        for subjects in (["mmapqueue gather", "bare grpc.aio"], ["bare aiohttp"])
        for load in rounds.LOADS
        for batch in (1, 10)
        for subject in subjects
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--parts", "rates,speed"], "speed: expected some of rates, kills, article"),
        (["--batches", "0"], "0: expected numbers from 1"),
        (["--seconds", "-1"], "-1: expected a number above 0"),
        (["--only", "("], "no regular expression"),
    ],
)
def test_bad_options_raise(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        bench.main([*words, "--list"])
    assert exit_.value.code == 2
    assert told in capsys.readouterr().err


# Measuring


def test_a_run_in_its_shortest_form(
    tmp_path: Path, load: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    load()
    monkeypatch.setattr(bench, "subjects", lambda _tools: [Fake(), Absent()])
    words = ["--rounds", "2", "--seconds", "1", "--loads", "load", "--batches", "100", "--parts", "rates,article"]
    bench.main([*words, "--directory", str(tmp_path / "bench"), "--peers", str(tmp_path / "peers")])
    found = json.loads((tmp_path / "bench/pipeline.json").read_text())
    (row,) = found["results"]
    assert row["logs_per_second"] == [350.0, 350.0]
    assert (row["subject"], row["protocol"], row["load"], row["batch"]) == ("fake", "grpc", "load", 100)
    assert [len(row[member]) for member in ("cpu_us_per_log", "memory", "disk_bytes_per_log", "latency_ms")] == [2] * 4
    assert found["article"][0]["logs_per_second"] == 350.0
    assert found["article"][0]["lost_requests"] is None
    assert (found["rounds"], found["kills"]) == (2, [])
    assert (found["versions"], found["missing"]) == ({"fake": "1"}, {"absent": "there is none"})
    assert "absent: not measured, there is none" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "bench").iterdir()] == ["pipeline.json"]


@dataclass(frozen=True)
class Absent(Subject):
    """A subject that is not installed."""

    name: str = "absent"
    protocol: str = "grpc"
    keeps: str = ""

    def version(self) -> str:
        raise tools.MissingError("there is none")

    def start(self, directory: Path) -> Server:
        raise NotImplementedError(directory)


def test_disk_bytes_are_the_growth_of_the_files(tmp_path: Path, load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    data.mkdir()
    load(file=str(data / "log"))
    monkeypatch.setattr(Fake, "data", lambda _self, _directory: data)
    measurement = rounds.Measurement(Fake(), "load", 100)
    rounds.measure(measurement, rounds.Setting(tools.Tools(tmp_path), tmp_path, 1, 1))
    (grown,) = measurement.disk_bytes_per_log
    assert grown == pytest.approx(1000, rel=0.02)


def test_refused_requests_fail_the_measurement(tmp_path: Path, load: Any) -> None:
    load(failed=2)
    measurement = rounds.Measurement(Fake(), "load", 100)
    with pytest.raises(RuntimeError, match=r"fake: load, batch 100: 0 requests refused, 2 failed"):
        rounds.measure(measurement, rounds.Setting(tools.Tools(tmp_path), tmp_path, 1, 1))
    assert measurement.logs_per_second == []
    assert list(tmp_path.glob("server-*")) == []


# Kills


def test_kills_compare_log_by_log() -> None:
    kept = ["a-0000", "a-0001", "b-0000", "b-0000", "b-0000", "c-0000"]
    assert kills.compare(["a", "b"], 2, kept) == kills.Left(accepted=4, lost=1, repeated=2, unanswered=1)


def test_a_killed_server_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "load"
    text = _LOAD.format(python=sys.executable, failed=1, file="")
    script.write_text(text.replace('if "-acc', f'{_UNTIL_KILLED}if "-acc'))
    script.chmod(0o755)
    monkeypatch.setattr(tools.Tools, "load", lambda _self: script)
    monkeypatch.setattr(kills, "_LEAST", 0.0)
    monkeypatch.setattr(kills, "_MOST", 0.0)

    def command(binary: Path, server: Server, *_: object) -> list[str]:
        return [str(binary), "-accepted", _accepted(tmp_path), "-port", str(server.port)]

    monkeypatch.setattr(loads, "load_command", command)
    left = kills.kill(Fake(), tools.Tools(tmp_path), tmp_path, 100, random.Random(1))
    assert left == kills.Left(accepted=700, lost=100, repeated=100, unanswered=100)
    assert list(tmp_path.glob("killed-*")) == []


def _accepted(directory: Path) -> str:
    (scratch,) = directory.glob("killed-*")
    return str(scratch / "accepted")


# Reports


def test_results_have_loss_and_memory() -> None:
    sustained = article.Sustained(
        loads.Sent(9, 900, 2.0, latency_ms=_LATENCY), 0.5, Memory(3 << 20, 4 << 20, 1 << 20), 2, 7
    )
    row = report.article_result(Fake(), 1000, 100_000, sustained)
    left = [kills.Left(10, 1, 0, 2), kills.Left(20, 2, 3, 0)]
    killed = report.kill_result(Fake(), 100, left)
    assert (killed["kills"], killed["accepted"], killed["lost"], killed["repeated"], killed["unanswered"]) == (
        2,
        30,
        3,
        3,
        2,
    )
    assert (row["logs_per_second"], row["lost_requests"], row["memory"]) == (
        450.0,
        2,
        {"anonymous": 3 << 20, "file": 4 << 20, "shared": 1 << 20},
    )


_LATENCY = {"p50": 1.0, "p99": 2.0, "p99.9": 3.0, "max": 4.0}
