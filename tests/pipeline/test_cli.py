import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

import conftest
import mmapqueue
from mmapqueue._cli.collector import EXTRA
from mmapqueue._cli.main import main
from mmapqueue.pipeline import Event
from mmapqueue.pipeline._signals import children_ignore_hangups
from mmapqueue.pipeline.process.runner import _reloaded_by
from pipeline.configuring import SPARK, pipeline

_EXPORT = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
_SECONDS = 120.0

CONFIG = """\
name: shop
gather: {{processes: {processes}, stop_within: 1s}}
servers: [{{name: grpc, type: grpc, listen: "127.0.0.1:0"}}]
pipes:
  - name: logs
    queue: {{dir: q, capacity: 32m, segment_size: 8m}}
    receivers: [{{type: otlp, server: grpc}}]
"""


@contextlib.contextmanager
def running(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-m", "mmapqueue", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ready(process: "subprocess.Popen[str]") -> str:
    """The address of the server."""
    stdout: Any = process.stdout
    line = stdout.readline()
    found = re.fullmatch(r"ready: grpc (127\.0\.0\.1:[1-9][0-9]*)\n", line)
    assert found, (line, _rest(process.stderr))
    return found[1]


def _rest(stream: "IO[str] | None") -> str:
    return stream.read() if stream else ""


def export(address: str, request: bytes) -> None:
    with grpc.insecure_channel(address) as channel:
        call = channel.unary_unary(_EXPORT)
        assert call(request, timeout=_SECONDS, wait_for_ready=True) == b""


def a_request(text: str) -> bytes:
    request = ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add().log_records.add().body.string_value = text
    return request.SerializeToString()


def stored(directory: Path) -> list[bytes]:
    with mmapqueue.Queue(directory, lock_timeout=_SECONDS) as queue:
        return [Event.FromString(message.data).data for message in queue.pop_many(1_000_000)]


def config(tmp_path: Path, processes: int = 1) -> str:
    file = tmp_path / "shop.yaml"
    file.write_text(CONFIG.format(processes=processes))
    return str(file)


def partitions(pid: int) -> list[int]:
    """The processes of single partitions that a supervisor has started and that are running."""
    found = []
    for child in conftest.children(pid):
        with contextlib.suppress(OSError):
            if b"--partition" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(child)
    return found


def gone(pids: list[int]) -> bool:
    return not any(map(conftest.is_running, pids))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_gather_says_ready_takes_events_and_stops(number: signal.Signals, tmp_path: Path) -> None:
    request = a_request("hello")
    with running("gather", config(tmp_path)) as process:
        export(ready(process), request)
        process.send_signal(number)
        assert process.wait(_SECONDS) == 0
    assert stored(tmp_path / "q") == [request]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_hangup_is_ignored_when_it_was_ignored_at_the_start(tmp_path: Path, processes: int) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        # As nohup does it: the child inherits that.
        with running("gather", config(tmp_path, processes)) as process:
            address = ready(process)
            process.send_signal(signal.SIGHUP)
            export(address, a_request("after"))
            process.send_signal(signal.SIGTERM)
            assert process.wait(_SECONDS) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_process_reloads_by_a_hangup() -> None:
    reloads: list[int] = []
    before = signal.getsignal(signal.SIGHUP)
    with _reloaded_by(lambda: reloads.append(1)):
        os.kill(os.getpid(), signal.SIGHUP)
        assert conftest.eventually(lambda: reloads == [1], _SECONDS)
        with children_ignore_hangups():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    assert signal.getsignal(signal.SIGHUP) == before


def test_events_that_were_accepted_survive_kill_9(tmp_path: Path) -> None:
    requests = [a_request(str(number)) for number in range(20)]
    with running("gather", config(tmp_path)) as process:
        address = ready(process)
        for request in requests:
            export(address, request)
        process.kill()
        process.wait(_SECONDS)
    assert stored(tmp_path / "q") == requests


def test_check_ends_quietly_when_its_reader_does() -> None:
    code = "import sys, mmapqueue._cli.main as c; sys.exit(c.main(['check', '--schema']))"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.close()
    assert (process.wait(_SECONDS), _rest(process.stderr)) == (141, "")
    assert process.stderr is not None
    process.stderr.close()


def test_check_says_once_that_its_output_cannot_be_written() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "mmapqueue", "check", "--schema"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (1, "mmapqueue: No space left on device\n")


def test_gather_ends_when_its_jvm_is_killed(tmp_path: Path) -> None:
    request = a_request("hello")
    with running("gather", config(tmp_path)) as process:
        export(ready(process), request)
        (jvm,) = conftest.children(process.pid)
        os.kill(jvm, signal.SIGKILL)
        assert process.wait(_SECONDS) == 1
        assert "the JVM that has the queue" in _rest(process.stderr).splitlines()[-1]
    assert stored(tmp_path / "q") == [request]


def test_several_processes_share_a_port_and_a_killed_one_comes_back(tmp_path: Path) -> None:
    with running("gather", config(tmp_path, processes=2)) as process:
        address = ready(process)
        first = partitions(process.pid)
        assert len(first) == 2
        os.kill(first[0], signal.SIGKILL)
        assert conftest.eventually(lambda: gone(first[:1]) and len(partitions(process.pid)) == 2, _SECONDS)
        requests = [a_request(str(number)) for number in range(10)]
        for request in requests:
            export(address, request)
        process.send_signal(signal.SIGTERM)
        assert process.wait(_SECONDS) == 0
    assert gone(first)
    taken = [each for partition in range(2) for each in stored(tmp_path / f"q/p={partition}")]
    assert sorted(taken) == sorted(requests)


def test_several_processes_reload(tmp_path: Path) -> None:
    file = config(tmp_path, processes=2)
    with running("gather", file) as process:
        address = ready(process)
        pids = sorted(partitions(process.pid))
        text = Path(file).read_text()
        Path(file).write_text(text.replace("{type: otlp, server: grpc}", "{type: otlp, server: grpc, signals: [logs]}"))
        ended = subprocess.run(
            [sys.executable, "-m", "mmapqueue", "reload", file], capture_output=True, text=True, timeout=_SECONDS
        )
        assert ended.returncode == 0, ended.stderr
        found = re.findall(r"gather-[01] \(process ([0-9]+)\): reloaded\n", ended.stdout)
        assert sorted(map(int, found)) == pids
        # The supervisor passes a hangup on to both, and they go on.
        process.send_signal(signal.SIGHUP)
        export(address, a_request("after"))
        assert sorted(partitions(process.pid)) == pids
        process.send_signal(signal.SIGTERM)
        assert process.wait(_SECONDS) == 0


def test_a_restart_replaces_one_process_after_the_other(tmp_path: Path) -> None:
    file = config(tmp_path, processes=2)
    with running("gather", file) as process:
        address = ready(process)
        before = partitions(process.pid)
        requests = [a_request(str(number)) for number in range(5)]
        ended = subprocess.Popen(
            [sys.executable, "-m", "mmapqueue", "restart", file],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        # One of them takes requests at any time.
        while ended.poll() is None:
            requests.append(a_request(str(len(requests))))
            export(address, requests[-1])
        out, err = ended.communicate(timeout=_SECONDS)
        assert (ended.returncode, out) == (0, f"process {process.pid}: all children restarted\n"), err
        assert gone(before)
        assert len(partitions(process.pid)) == 2
        for request in requests[:5]:
            export(address, request)
        process.send_signal(signal.SIGTERM)
        assert process.wait(_SECONDS) == 0
    taken = [each for partition in range(2) for each in stored(tmp_path / f"q/p={partition}")]
    assert sorted(taken) == sorted(requests)


def test_nothing_to_restart(tmp_path: Path) -> None:
    file = config(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-m", "mmapqueue", "restart", file], capture_output=True, text=True, timeout=_SECONDS
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"mmapqueue: no process runs {file} as `mmapqueue run`")


def test_children_end_with_their_parent(tmp_path: Path) -> None:
    with running("gather", config(tmp_path, processes=2)) as process:
        ready(process)
        before = partitions(process.pid)
        process.kill()
        process.wait(_SECONDS)
        assert conftest.eventually(lambda: gone(before), _SECONDS)


def test_a_port_in_use_is_one_line(tmp_path: Path) -> None:
    file = config(tmp_path)
    with running("gather", file) as first:
        address = ready(first)
        Path(file).write_text(
            CONFIG.format(processes=1).replace("127.0.0.1:0", address).replace("dir: q", "dir: other")
        )
        with running("gather", file, "--log-level", "error") as second:
            out, err = second.communicate(timeout=_SECONDS)
            assert (second.returncode, out) == (1, "")
    assert "Traceback" not in err
    assert f"mmapqueue: server grpc: cannot listen on {address}" in err


@pytest.mark.parametrize(
    ("spark", "reason"),
    [
        ("master: nonsense", "[JAVA_GATEWAY_EXITED]"),  # spark-submit refuses it.
        ("conf: {spark.executor.heartbeatInterval: 1h}", "spark.executor.heartbeatInterval"),  # The session does.
    ],
)
def test_a_spark_that_does_not_start_is_one_line(spark: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    senders = "senders: [{type: spark, format: noop}]"
    file.write_text(f"spark: {{{spark}}}\npipes: [{{name: a, queue: {{dir: q, capacity: 32m}}, {senders}}}]\n")
    with running("process", str(file)) as process:
        _, err = process.communicate(timeout=_SECONDS)
    assert process.returncode == 1
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    assert last.startswith("mmapqueue: Spark did not start: ")
    assert reason in last


def test_a_queue_that_contradicts_its_directory_is_refused(tmp_path: Path) -> None:
    with mmapqueue.Queue(tmp_path / "q", capacity="1m", segment_size="64k"):
        pass
    with running("gather", config(tmp_path)) as process:
        _, err = process.communicate(timeout=_SECONDS)
        assert process.returncode == 2
    (line,) = err.splitlines()
    assert line.startswith("mmapqueue: ")


@pytest.mark.parametrize(
    ("command", "pipe", "words"),
    [
        ("gather", "senders: [{type: spark, format: noop}]", "no pipe has receivers or fetchers; there is nothing to"),
        ("process", "receivers: [{type: otlp, server: grpc}]", "no pipe has senders; there is nothing to process"),
        ("run", "receivers: [{type: otlp, server: grpc}]", "no pipe has senders; use `mmapqueue gather` or"),
    ],
)
def test_commands_that_would_do_nothing(
    command: str, pipe: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.yaml"
    servers = "servers: [{name: grpc, type: grpc, listen: ':0'}]\n" if "server" in pipe else ""
    file.write_text(f"{servers}pipes: [{{name: a, queue: {{dir: q}}, {pipe}}}]\n")
    assert main([command, str(file)]) == 2
    assert capsys.readouterr().err.startswith(f"{file}: {words}")
    assert not (tmp_path / "q").exists()


def test_check_describes_what_would_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", config(tmp_path, processes=2)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "shop: valid; pipes: 1, gather processes: 2",
        "  server       grpc: grpc 127.0.0.1:0, at most 4000 connections, messages up to 4 MiB",
        "  pipe logs",
        "    receiver     otlp (server: grpc)",
        f"    queue        {tmp_path}/q, 32 MiB in segments of 8 MiB, events up to 5 MiB, 2 partitions of this size",
        "    ack          pushed: clients are answered after the push; accepted events survive kill -9",
        "    on_full      reject: clients get an error that says when to retry",
    ]
    assert not (tmp_path / "q").exists()


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("", "{dir}/q.dead: undecodable records; it keeps the newest 16 MiB"),
        ("dead_letter: {dir: d}", "{dir}/d: undecodable records; when it is full, they wait in the queue"),
        ("on_undecodable: drop", "none: undecodable records are dropped and counted"),
        (
            "on_undecodable: drop\n    senders: [{type: http, url: 'http://h/'}]",
            "{dir}/q.dead: rows that receivers refuse; it keeps the newest 16 MiB; "
            "undecodable records are dropped and counted",
        ),
    ],
)
def test_check_says_where_undecodable_records_go(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keys: str, text: str
) -> None:
    file = Path(config(tmp_path))
    senders = "" if "senders" in keys else "    senders: [{type: spark, format: noop}]\n"
    file.write_text(f"{file.read_text()}{senders}    {keys}\n")
    assert main(["check", str(file)]) == 0
    assert f"    dead letters {text.format(dir=tmp_path)}" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("arguments", [[], ["a.yaml", "--schema"]])
def test_check_needs_a_file_or_schema(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *arguments]) == 2
    assert "give a FILE, or --schema" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["yaml", "google.protobuf"])
def test_a_missing_extra_is_one_line(module: str, tmp_path: Path) -> None:
    # A module that cannot be found acts as one that is not installed.
    code = (
        "import sys\n"
        f"class Missing:\n    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: raise ModuleNotFoundError('missing', name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from mmapqueue._cli.main import main\n"
        f"sys.exit(main(['check', {config(tmp_path)!r}]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=_SECONDS)
    assert done.stderr == f"mmapqueue: module {module} is missing: pip install 'mmapqueue[pipeline]'\n"
    assert done.returncode == 2


def test_other_commands_need_no_extra() -> None:
    code = "import sys, mmapqueue._cli.main as c; c.main(['jar']); print('mmapqueue.pipeline' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=_SECONDS, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_modules_of_the_extra_are_known() -> None:
    lines = Path("python/pyproject.toml").read_text().partition("pipeline = [")[2].partition("\n]")[0]
    modules = {"pyyaml": "yaml", "protobuf": "google", "grpcio": "grpc", "googleapis_common_protos": "google"}
    names = [
        re.split(r"[>=<]", each.strip(' ",'))[0].replace("-", "_") for each in lines.splitlines() if each.strip(' ",')
    ]
    names.remove("mmapqueue[cli]")
    for name in names:
        assert modules.get(name, name).removesuffix("_proto") in EXTRA


@pytest.mark.parametrize(("pipe", "words"), [("", "clients are refused"), ("on_full: drop", "events are dropped")])
def test_check_warns_of_a_queue_that_only_fills(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], pipe: str, words: str
) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(pipeline(pipe=pipe))
    assert main(["check", str(file)]) == 0
    warning = capsys.readouterr().err
    assert warning.startswith(f"warning: {file}: pipe logs has no senders: ")
    assert words in warning
    file.write_text(pipeline(pipe=f"senders: [{SPARK}]"))
    assert main(["check", str(file)]) == 0
    assert capsys.readouterr().err == ""


def test_check_warns_of_events_that_a_sender_cannot_send(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "shop.yaml"
    both = "fetchers: [{type: files, name: f, paths: [/a]}]\nsenders: [{type: otlp, endpoint: 'a:4317'}]"
    file.write_text(pipeline(pipe=both))
    assert main(["check", str(file)]) == 0
    (warning,) = capsys.readouterr().err.splitlines()
    assert warning.startswith(f"warning: {file}: pipe logs: sender otlp cannot send what files receives (text/plain): ")
    file.write_text(pipeline(pipe=f"{both}\nfilters: [{{type: where, condition: \"content_type <> 'text/plain'\"}}]"))
    assert main(["check", str(file)]) == 0
    assert capsys.readouterr().err == ""
