"""Reloads of gather: what is equal goes on, what is different changes, and a bad file changes nothing."""

import contextlib
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgpack
import pytest

import conftest
import mmapqueue
from mmapqueue.pipeline import _cli, _control, _signals
from mmapqueue.pipeline.config import Server, Tls, files_of, load, only_by_restart, value_of

from .configuring import pipeline
from .gathering import SECONDS, Gather, gathering, request, stored
from .load_clients import ANSWERED, CLIENTS, Clients
from .receiving import free_port
from .serving import certificates

#: Changes of the file, each of which is applied to the original one.
CHANGES = {
    "a limit of the gRPC server": ("{name: grpc, type: grpc,", "{name: grpc, type: grpc, max_connections: 500,"),
    "a limit of the HTTP server": ("{name: http, type: http,", "{name: http, type: http, request_timeout: 50s,"),
    "a further receiver": (
        "[{type: otlp, server: grpc},",
        "[{type: http, server: http, path: /x}, {type: otlp, server: grpc},",
    ),
    "an option of the pipe": ("receivers:", "on_full: block\n    receivers:"),
    "a further pipe": (
        "pipes:",
        "pipes:\n  - name: more\n    queue: {dir: more, capacity: 32m, segment_size: 8m}\n"
        "    receivers: [{type: skywalking, server: grpc}]",
    ),
    "nothing": ("name: shop", "name: shop"),
}


def changed(text: str, *names: str) -> str:
    for name in names:
        before, after = CHANGES[name]
        assert before in text
        text = text.replace(before, after, 1)
    return text


def reload(gather: Gather) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "mmapqueue", "reload", str(gather.file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


def metrics(gather: Gather) -> dict[str, float]:
    with urllib.request.urlopen(gather.metrics_url, timeout=SECONDS) as answer:
        text = answer.read().decode()
    return {name: float(value) for name, value in re.findall(r"^(config_\S+) (\S+)$", text, re.M)}


def more_than(clients: Clients, before: dict[str, int]) -> bool:
    """Whether each client has got more answers than before."""
    return all(number > before[name] for name, number in clients.number(ANSWERED).items())


def test_reloads_under_load_break_no_request(tmp_path: Path) -> None:
    rounds = int(os.environ.get("RELOADS", "12"))
    with gathering(tmp_path, "512m") as gather, Clients(gather.grpc_address, gather.http_address) as clients:
        assert conftest.eventually(lambda: clients.number(ANSWERED).keys() == CLIENTS, SECONDS)
        original, names = gather.file.read_text(), list(CHANGES)
        for number in range(rounds):
            gather.file.write_text(changed(original, names[number % len(names)]))
            assert _control.ask("gather", str(gather.file)) == (gather.pid, [])
            # All clients go on.
            assert conftest.eventually(partial(more_than, clients, clients.number(ANSWERED)), SECONDS)
        clients.stop()
        assert clients.broken == {}
        assert clients.number("refused") == {}
        assert metrics(gather)['config_reload_count{status="success"}'] == rounds
        found = stored(tmp_path / "queue")
    assert len(found) == len(clients.answered)
    assert set(found) == {request(str(number)) for number in clients.answered}


def test_connections_of_parts_that_are_equal_stay_open(tmp_path: Path) -> None:
    with gathering(tmp_path) as gather:
        host, _, port = gather.http_address.rpartition(":")
        with socket.create_connection((host, int(port)), SECONDS) as client:
            original = gather.file.read_text()
            for name in ("a limit of the gRPC server", "a further receiver", "an option of the pipe", "a further pipe"):
                gather.file.write_text(changed(original, name))
                assert _control.ask("gather", str(gather.file)) == (gather.pid, [])
            body = request("one")
            head = f"POST /v1/logs HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n"
            for _ in range(2):
                client.sendall(head.encode() + b"Content-Type: application/x-protobuf\r\n\r\n" + body)
                answer = client.recv(4096)
                assert answer.startswith(b"HTTP/1.1 200 ")
                assert b"Connection: close" not in answer
    assert len(stored(tmp_path / "queue")) == 2


@pytest.mark.parametrize(
    ("before", "after", "status", "error"),
    [
        # The command refuses the file, and asks no process.
        ("on_full", "on_ful", 2, "unknown key"),
        ("pipes:", "gather: {processes: 2}\npipes:", 2, "gather.processes: 2 is invalid; allowed: 1, as"),
        ("dir: queue,", "dir: other,", 1, "pipes[1].queue.dir: a reload cannot change it from"),
        ("name: shop", "name: other", 1, "name: a reload cannot change it; restart the collector"),
        (
            '{name: http, type: http, listen: "127.0.0.1:0"',
            '{name: http, type: http, listen: "192.0.2.1:1"',
            1,
            "server http: cannot listen on 192.0.2.1:1",
        ),
    ],
)
def test_a_bad_file_changes_nothing(tmp_path: Path, before: str, after: str, status: int, error: str) -> None:
    with gathering(tmp_path) as gather:
        original = gather.file.read_text()
        text = changed(original, "a further receiver", "an option of the pipe", "a further pipe")
        assert before in text
        gather.file.write_text(text.replace(before, after))
        ended = reload(gather)
        assert (ended.returncode, ended.stdout) == (status, "")
        assert error in ended.stderr
        if status == 1:
            assert ended.stderr.endswith(f"gather (process {gather.pid}): nothing has changed\n")
            assert metrics(gather)['config_reload_count{status="fail"}'] == 1
        assert not (tmp_path / "more/meta.dat").exists() or status == 1
        assert gather.post(request("one"))[0] == 200
        assert gather.export(request("two")).result() == b""
        # The right file is taken after a bad one.
        gather.file.write_text(changed(original, "a further receiver"))
        ended = reload(gather)
        assert (ended.returncode, ended.stdout) == (0, f"gather (process {gather.pid}): reloaded\n")
        assert post(gather, "/x") == 204


def test_receivers_with_sockets_of_their_own_go_on_or_start_again(tmp_path: Path) -> None:
    fluent, statsd = free_port(), free_port()
    receivers = (
        f"{{type: fluent, listen: 'tcp://127.0.0.1:{fluent}'}}, {{type: statsd, listen: 'tcp://127.0.0.1:{statsd}'}}"
    )
    with gathering(tmp_path) as gather:

        def reloaded(*changes: tuple[str, str]) -> None:
            text = original
            for before, after in changes:
                assert before in text
                text = text.replace(before, after, 1)
            gather.file.write_text(text)
            assert _control.ask("gather", str(gather.file)) == (gather.pid, [])

        original = gather.file.read_text()
        added = ("receivers: [", f"receivers: [{receivers}, ")
        reloaded(added)
        with socket.create_connection(("127.0.0.1", fluent), SECONDS) as logger:
            assert acknowledged(logger, "a")
            with socket.create_connection(("127.0.0.1", statsd), SECONDS) as lines:
                lines.sendall(b"hits:1|c\n")
                assert conftest.eventually(lambda: len(stored(tmp_path / "queue")) == 2, SECONDS)
                # Another receiver changes.
                reloaded(added, ("[{type: fluent,", "[{type: http, server: http, path: /x}, {type: fluent,"))
                assert acknowledged(logger, "b")
                lines.sendall(b"hits:1|c\n")
                assert conftest.eventually(lambda: len(stored(tmp_path / "queue")) == 4, SECONDS)
                # They themselves change: their connections end.
                reloaded(
                    added,
                    ("type: fluent,", "type: fluent, max_connections: 9,"),
                    ("type: statsd,", "type: statsd, max_connections: 9,"),
                )
                for each in (logger, lines):
                    with contextlib.suppress(ConnectionResetError):
                        assert each.recv(1) == b""
        # A client that has got no answer repeats its message, and it is stored once.
        with socket.create_connection(("127.0.0.1", fluent), SECONDS) as logger:
            assert acknowledged(logger, "b")
            assert acknowledged(logger, "c")
        assert len(stored(tmp_path / "queue")) == 5
        reloaded()
        for port in (fluent, statsd):
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), SECONDS)


def acknowledged(logger: socket.socket, chunk: str) -> bool:
    """Whether Fluent's client gets the answer to a message."""
    logger.sendall(msgpack.packb(["app", [[1_760_000_000, {"log": chunk}]], {"chunk": chunk}]))
    return bool(msgpack.unpackb(logger.recv(1000)) == {"ack": chunk})


def post(gather: Gather, path: str, **headers: str) -> int:
    sent = urllib.request.Request(f"http://{gather.http_address}{path}", b"x", headers)
    try:
        with urllib.request.urlopen(sent, timeout=SECONDS) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_a_token_changes_and_a_pipe_goes(tmp_path: Path) -> None:
    with gathering(tmp_path) as gather:
        original = gather.file.read_text()
        text = changed(original, "a further receiver", "a further pipe")
        gather.file.write_text(text.replace("type: http, listen", "type: http, bearer_token: one, listen"))
        assert _control.ask("gather", str(gather.file)) == (gather.pid, [])
        assert (tmp_path / "more").exists()
        assert post(gather, "/x") == 401
        assert post(gather, "/x", Authorization="Bearer one") == 204
        gather.file.write_text(original)
        assert _control.ask("gather", str(gather.file)) == (gather.pid, [])
        assert post(gather, "/x") == 404
        # The queue of the other pipe is closed.
        with mmapqueue.Queue(tmp_path / "more", lock_timeout=SECONDS) as queue:
            assert queue.stats().end_offset == 0


def test_a_hangup_reloads(tmp_path: Path) -> None:
    with gathering(tmp_path) as gather:
        gather.file.write_text(changed(gather.file.read_text(), "a further receiver"))
        gather.process.send_signal(signal.SIGHUP)
        assert conftest.eventually(lambda: post(gather, "/x") == 204, SECONDS)


def test_no_process_to_reload(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(pipeline())
    command = [sys.executable, "-m", "mmapqueue", "reload", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"mmapqueue: no process runs {file} on this machine\n"


# ---- the parts


def test_a_watched_file_is_reloaded_when_it_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_control, "_LOOK_SECONDS", 0.01)
    file = tmp_path / "a.yaml"
    file.write_text("1")
    seen: list[str] = []
    reload = lambda: contextlib.nullcontext(lambda: seen.append(file.read_text()))  # noqa: E731
    with _control.Control("gather", str(file), reload, watched=lambda: [file]):
        # A symbolic link to another file, as Kubernetes does it, is a change, too.
        for text in ("2", "3"):
            (tmp_path / f"new{text}").write_text(text)
            (tmp_path / f"new{text}").replace(file)
            assert conftest.eventually(lambda: len(seen) == int(text) - 1, SECONDS)  # noqa: B023
    assert seen == ["2", "3"]


def test_all_files_that_parts_are_compared_by_are_watched(tmp_path: Path) -> None:
    names = ["server.pem", "server.key", "clients.pem", "syslog.pem", "syslog.key", "backend.pem", "sender.pem"]
    (tmp_path / "made").mkdir()
    made = certificates(tmp_path / "made")
    for name in names:
        (tmp_path / name).write_bytes(made["server.key" if name.endswith("key") else "server.pem"].read_bytes())
    file = tmp_path / "a.yaml"
    backend = "{endpoint: 'oap:11800', tls: {ca: backend.pem}}"
    file.write_text(
        pipeline(
            servers="{name: grpc, type: grpc, listen: ':0', "
            "tls: {certificate: server.pem, key: server.key, client_ca: clients.pem}}",
            receivers="{type: syslog, listen: 'tls+tcp://:0', tls: {certificate: syslog.pem, key: syslog.key}}, "
            f"{{type: skywalking, server: grpc, backend: {backend}}}",
            pipe="senders: [{type: skywalking, endpoint: 'oap:11800', tls: {ca: sender.pem}}]",
        )
    )
    assert [each.name for each in files_of(str(file), load(file))] == ["a.yaml", *names]


def test_a_process_with_more_than_1024_descriptors_reloads(tmp_path: Path) -> None:
    """Its clients may have connected before."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 2048), hard), hard))
    seen: list[str] = []
    with contextlib.ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1100):
            stack.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        reload = lambda: contextlib.nullcontext(lambda: seen.append("reloaded"))  # noqa: E731
        control = stack.enter_context(_control.Control("gather", str(tmp_path / "a.yaml"), reload))
        control.request()
        assert conftest.eventually(lambda: seen == ["reloaded"], SECONDS)


def test_what_a_reload_raises_is_its_outcome(tmp_path: Path) -> None:
    file = str(tmp_path / "a.yaml")
    raised: list[Exception] = [ValueError("one\ntwo"), KeyError()]

    def fail() -> None:
        raise raised.pop(0)

    noted: list[bool] = []
    with _control.Control("gather", file, lambda: contextlib.nullcontext(fail), noted=noted.append):
        assert _control.ask("gather", file) == (os.getpid(), ["one", "two"])
        assert _control.ask("gather", file) == (os.getpid(), ["KeyError"])
    assert _control.ask("gather", file) is None
    assert noted == [False, False]


def partitions(file: Path, called: list[str], **raises: dict[str, str]) -> contextlib.ExitStack:
    """Three processes of a file, some of whose checks, preparations, reloads or ways back fail. Notes what they do."""

    def act(role: str, what: str) -> None:
        called.append(f"{what} {role}")
        if what in raises.get(role.replace("-", "_"), {}):
            raise ValueError(raises[role.replace("-", "_")][what])

    @contextlib.contextmanager
    def prepared(role: str) -> Iterator[Callable[[], None]]:
        done: list[bool] = []

        def reload() -> None:
            done.append(True)
            act(role, "reload")

        act(role, "prepare")
        yield reload
        if not done:
            act(role, "back")

    with contextlib.ExitStack() as stack:
        for role in ("gather-0", "gather-1", "process"):
            noted = lambda succeeded, role=role: called.append(f"{'done' if succeeded else 'failed'} {role}")  # noqa: E731
            stack.enter_context(
                _control.Control(
                    role, str(file), partial(prepared, role), check=partial(act, role, "check"), noted=noted
                )
            )
        return stack.pop_all()


@pytest.fixture
def two_partitions(tmp_path: Path) -> Path:
    file = tmp_path / "a.yaml"
    file.write_text(pipeline().replace("pipes:", "gather: {processes: 2}\npipes:", 1))
    return file


def test_all_processes_check_a_file_before_one_of_them_changes(
    two_partitions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    called: list[str] = []
    with partitions(two_partitions, called, gather_1={"check": "no\nnever"}, process={"check": "not I"}):
        assert _cli.reload(str(two_partitions)) == 1
    assert called == ["check gather-0", "check gather-1", "failed gather-1", "check process", "failed process"]
    out, err = capsys.readouterr()
    pid = os.getpid()
    nothing = "nothing has changed"
    assert (out, err) == (
        "",
        f"no\nnever\ngather-1 (process {pid}): {nothing}\nnot I\nprocess (process {pid}): {nothing}\n"
        "no process has changed: gather-0, gather-1, process\n",
    )
    called.clear()
    # The sockets of a control are free when its thread has ended, and that is not waited for.
    other = two_partitions.rename(two_partitions.with_name("b.yaml"))
    with partitions(other, called):
        assert _cli.reload(str(other)) == 0
    roles = ("gather-0", "gather-1", "process")
    assert called[:6] == [f"{what} {role}" for what in ("check", "prepare") for role in roles]
    # Side by side.
    assert sorted(called[6:]) == [f"{what} {role}" for what in ("done", "reload") for role in roles]


def test_no_process_changes_when_one_cannot_be_prepared(
    two_partitions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    called: list[str] = []
    with partitions(two_partitions, called, process={"prepare": "in use"}, gather_1={"back": "taken"}):
        assert _cli.reload(str(two_partitions)) == 1
    steps = ["prepare gather-0", "prepare gather-1", "prepare process", "failed process"]
    assert called[3:7] == steps
    assert sorted(called[7:]) == ["back gather-0", "back gather-1", "failed gather-0", "failed gather-1"]
    pid = os.getpid()
    assert capsys.readouterr() == (
        "",
        f"in use\nprocess (process {pid}): nothing has changed\n"
        f"taken\ngather-1 (process {pid}): does not serve all that it served before; restart it\n"
        "no process has changed: gather-0, gather-1, process\n",
    )


def test_a_process_goes_back_when_the_command_ends_or_it_stops_itself(
    two_partitions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    called: list[str] = []
    file = str(two_partitions)
    with partitions(two_partitions, called), contextlib.ExitStack() as stack:
        peer = _control._Peer.connected("gather-1", file, stack)
        assert peer is not None
        assert peer.exchange(_control._PREPARE) == {"pid": os.getpid(), "value": [], "error": None}
        assert called == ["prepare gather-1"]
        stack.close()
        assert conftest.eventually(lambda: called[1:] == ["back gather-1", "failed gather-1"], SECONDS)
    called.clear()
    other = two_partitions.rename(two_partitions.with_name("b.yaml"))
    role, made = "process", contextlib.nullcontext(lambda: called.append("changed"))
    with _control.Control(role, str(other), lambda: made) as control:
        control.give_up()
        assert _cli.reload(str(other)) == 1
    assert called == []
    assert capsys.readouterr().err == "process: has ended during the reload, and reads the file when it starts again\n"


def test_a_process_of_an_older_version_has_to_be_restarted(
    two_partitions: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers requests that it does not know with a KeyError."""

    def old(control: _control.Control, connection: socket.socket, _: object) -> None:
        _control._send(connection, control._called("prepare", {}))

    monkeypatch.setattr(_control.Control, "_reload_with_others", old)
    with partitions(two_partitions, []):
        assert _cli.reload(str(two_partitions)) == 1
    assert capsys.readouterr().err.startswith(
        "this process runs an older version of mmapqueue; restart it\n"
        f"gather-0 (process {os.getpid()}): nothing has changed\n"
    )
    answer = _control._answer({"pid": 1, "value": None, "error": "KeyError: 'check'"}, "check")
    assert answer.error == "this process runs an older version of mmapqueue; restart it"


def test_a_hangup_with_the_end_of_the_terminal_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    for before, now, expected in ((True, True, "reload"), (False, False, "reload"), (True, False, "stop")):
        monkeypatch.setattr(_signals, "has_terminal", lambda before=before: before)
        handle = _signals.hangups(lambda: called.append("reload"), lambda: called.append("stop"))
        monkeypatch.setattr(_signals, "has_terminal", lambda now=now: now)
        handle()
        assert called.pop() == expected


def test_values_of_parts_compare_by_content(tmp_path: Path) -> None:
    def loaded(**options: Any) -> Any:
        file = tmp_path / "a.yaml"
        file.write_text(pipeline(**options))
        return load(file)

    old = loaded()
    assert value_of(old) == value_of(loaded())
    assert value_of(old.servers) == value_of(loaded(pipe="on_full: drop").servers)
    assert list(only_by_restart(old, loaded(pipe="on_full: drop"))) == []
    assert list(only_by_restart(old, loaded(queue="{dir: q, capacity: 2g}"))) == [
        f"pipes[0].queue.capacity: a reload cannot change it from {old.pipes[0].queue.capacity} to {2 << 30}; "
        "restart the collector"
    ]
    pem = tmp_path / "a.pem"
    pem.write_text("one")
    server = Server(name="grpc", type="grpc", listen=":0", tls=Tls(certificate=pem, key=pem))
    with_tls = value_of(server)
    assert with_tls == value_of(server)
    pem.write_text("two")
    assert with_tls != value_of(server)


def test_outcomes_are_json() -> None:
    outcome = _control.Outcome(1, ["x"])
    assert _control.Outcome(**json.loads(json.dumps(outcome._asdict()))) == outcome
