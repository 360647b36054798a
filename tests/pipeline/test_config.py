import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmapqueue
from mmapqueue._cli.main import main
from mmapqueue._values.configuration import Configuration
from mmapqueue.pipeline import plugins
from mmapqueue.pipeline.config import ConfigFileError, load
from mmapqueue.pipeline.config._environment import retyped, substitute, substitute_satellite
from mmapqueue.pipeline.config._queue import _WITHOUT_EFFECT, QueueKeys

SERVER = "{name: grpc, type: grpc, listen: '127.0.0.1:0'}"
HTTP = "{name: http, type: http, listen: '127.0.0.1:0'}"
OTLP = "{type: otlp, server: grpc}"
SPARK = "{type: spark, format: noop}"


def pipeline(
    *,
    servers: str = SERVER,
    queue: str = "{dir: q}",
    receivers: str = OTLP,
    pipe: str = "",
    top: str = "",
) -> str:
    """A file of one pipe: servers in line 1, queue in 4, receivers in 5, more of the pipe from 6 on."""
    lines = [f"servers: [{servers}]", "pipes:", "- name: logs", f"  queue: {queue}", f"  receivers: [{receivers}]"]
    lines += [f"  {line}" for line in pipe.splitlines()]
    return "\n".join([*lines, *top.splitlines()]) + "\n"


QUEUE_KEYS = ", ".join(sorted(QueueKeys.model_fields))
ADDRESS = "an address is HOST:PORT with a port of 0 to 65535, as 127.0.0.1:4317 or [::1]:4317; :4317 is all addresses"
DURATION = "a duration needs its unit: ms, s, m, h or d, as in 500ms or 2s"
SPELLED_DURATION = "a duration is a number with ms, s, m, h or d behind it, as 500ms or 2s"
SIZE = "a size is a number of bytes, or a number with k, m or g behind it, as 64k or 4m"
NAME = "a name of 1 to 100 letters, digits, _ . or -, not beginning with . or -"
REFERENCES = "allowed: ${NAME:default}, ${NAME}, ${env:NAME:-default} or ${env:NAME}; $$ stands for one $"
RECEIVERS = "http, mmapqueue, otlp, skywalking, syslog"
SERVER_KEYS = "bearer_token, listen, max_connections, max_message_size, name, tls, type"
TOP_KEYS = "gather, name, pipes, servers, spark, telemetry"

#: A file, and all that is printed of it, without the file's name.
BAD: dict[str, tuple[str, list[str]]] = {
    "empty": ("", ["1: the file is empty"]),
    "comment": ("# nothing\n", ["1: the file is empty"]),
    "a text": ("pipes", ["1: 'pipes' is refused; allowed: a mapping with `pipes`"]),
    "a list": ("[1]", ["1: a list is refused; allowed: a mapping with `pipes`"]),
    "two documents": (
        "pipes: []\n---\npipes: []\n",
        ["2: not YAML: expected a single document in the stream, but found another document"],
    ),
    "tab": (
        "pipes:\n\t- a\n",
        ["2: not YAML: while scanning for the next token, found character '\\t' that cannot start any token"],
    ),
    "open bracket": (
        "pipes: [\n",
        [
            "2: not YAML: while parsing a flow node, expected the node content, but found '<stream end>'",
        ],
    ),
    "unknown tag": (
        "name: !!python/object:os.system x\n",
        [
            "1: not YAML: could not determine a constructor for the tag 'tag:yaml.org,2002:python/object:os.system'",
        ],
    ),
    "duplicate key": (
        pipeline(pipe="ack: pushed\nack: synced"),
        ["7: pipes[0].ack: the key is there twice; first in line 6"],
    ),
    "alias of itself": ("pipes: &a [*a]\n", ["1: not YAML: an alias contains itself"]),
    "many aliases": (
        "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcd", "bcde", strict=True)),
        ["1: not YAML: aliases expand the file to more than 100000 values"],
    ),
    "deep": ("[" * 2000, ["1: values are nested too deeply"]),
    "key that is no text": ("? [1]\n: 2\n", ["1: not YAML: a key must be text"]),
    "no pipes": ("name: a\n", ["1: pipes: is missing"]),
    "pipes empty": ("name: a\npipes: []\n", ["2: pipes: a list is refused; allowed: at least 1 of them"]),
    "pipes a mapping": ("pipes: {a: b}\n", ["1: pipes: a mapping is refused; allowed: a list"]),
    "pipe a text": ("pipes: [a]\n", ["1: pipes[0]: 'a' is refused; allowed: a mapping"]),
    "unknown top key": (
        pipeline(top="gathr: {processes: 2}"),
        [f"6: gathr: unknown key (did you mean gather?); keys: {TOP_KEYS}"],
    ),
    "unknown key of a server": (
        pipeline(servers="{name: grpc, type: grpc, listen: ':0', tsl: {}}"),
        [f"1: servers[0].tsl: unknown key (did you mean tls?); keys: {SERVER_KEYS}"],
    ),
    "unknown key of a queue": (
        pipeline(queue="{dir: q, capacty: 4g}"),
        [f"4: pipes[0].queue.capacty: unknown key (did you mean capacity?); keys: {QUEUE_KEYS}"],
    ),
    "unknown key of a plugin": (
        pipeline(receivers="{type: otlp, server: grpc, signal: [logs]}"),
        ["5: pipes[0].receivers[0].signal: unknown key (did you mean signals?); keys: server, signals, type"],
    ),
    "queue without directory": (pipeline(queue="{}"), ["4: pipes[0].queue.dir: is missing"]),
    "segment size": (
        pipeline(queue="{dir: q, segment_size: 1k}"),
        ["4: pipes[0].queue.segment_size: '1k' is refused; allowed: 4096 to 1073741824"],
    ),
    "size without a number": (
        pipeline(queue="{dir: q, capacity: much}"),
        [f"4: pipes[0].queue.capacity: 'much' is refused: {SIZE}"],
    ),
    "event larger than the queue": (
        pipeline(queue="{dir: q, capacity: 8m, segment_size: 4m, max_event_size: 5m}"),
        [
            "4: pipes[0].queue.max_event_size: 5242880 is refused; allowed: 1 to 4194217, which is what 2 segments of "
            "4194304 bytes hold",
        ],
    ),
    "queue of one segment": (
        pipeline(queue="{dir: q, capacity: 1m}"),
        [
            "4: pipes[0].queue.capacity: 1048576 is refused; allowed: at least 2 segments of segment_size = 16777216 "
            "bytes",
        ],
    ),
    "capacity twice": (
        pipeline(queue="{dir: q, capacity: 1g, queue_capacity_segments: 64}"),
        ["4: pipes[0].queue.capacity: capacity and queue_capacity_segments say the same; give one of them"],
    ),
    "wait strategy": (
        pipeline(queue="{dir: q, wait_strategy: sleep}"),
        ["4: pipes[0].queue.wait_strategy: 'sleep' is refused; allowed: backoff, park, spin"],
    ),
    "key without effect": (
        pipeline(queue="{dir: q, max_unacked: 5}"),
        [
            "4: pipes[0].queue.max_unacked: max_unacked has no effect in a pipeline: records are read by Spark, which "
            "does not pop them",
        ],
    ),
    "message larger than an event": (
        pipeline(servers="{name: grpc, type: grpc, listen: ':0', max_message_size: 8m}"),
        [
            "4: pipes[0].queue.max_event_size: 5242880 is refused; allowed: at least 8454144, which is "
            "max_message_size of the server 'grpc' and 65536 more",
        ],
    ),
    "message too large": (
        pipeline(servers="{name: grpc, type: grpc, listen: ':0', max_message_size: 1g}"),
        ["1: servers[0].max_message_size: '1g' is refused; allowed: 1 to 134217728"],
    ),
    "address": (
        pipeline(servers="{name: grpc, type: grpc, listen: '127.0.0.1'}"),
        [f"1: servers[0].listen: '127.0.0.1' is refused: {ADDRESS}"],
    ),
    "port": (
        pipeline(servers="{name: grpc, type: grpc, listen: '127.0.0.1:65536'}"),
        [f"1: servers[0].listen: '127.0.0.1:65536' is refused: {ADDRESS}"],
    ),
    "protocol": (
        pipeline(servers="{name: grpc, type: grcp, listen: ':0'}"),
        ["1: servers[0].type: 'grcp' is refused; allowed: grpc, http"],
    ),
    "connections": (
        pipeline(servers="{name: grpc, type: grpc, listen: ':0', max_connections: 0}"),
        ["1: servers[0].max_connections: 0 is refused; allowed: 1 to 1000000"],
    ),
    "connections a text": (
        pipeline(servers="{name: grpc, type: grpc, listen: ':0', max_connections: many}"),
        ["1: servers[0].max_connections: 'many' is refused; allowed: a whole number, 1 to 1000000"],
    ),
    "two servers of a name": (
        pipeline(servers=f"{SERVER}, {SERVER}"),
        ["1: servers[1].name: server 'grpc' is defined twice"],
    ),
    "two servers of an address": (
        pipeline(
            servers="{name: grpc, type: grpc, listen: ':80'}, {name: b, type: grpc, listen: ':80'}",
            receivers=f"{OTLP}, {{type: otlp, server: b}}",
        ),
        ["1: servers[1].listen: listening address ':80' is defined twice"],
    ),
    "server without receiver": (
        pipeline(servers=f"{SERVER}, {HTTP}"),
        ["1: servers[1]: no receiver uses the server 'http'"],
    ),
    "no such server": (
        pipeline(receivers="{type: otlp, server: grcp}"),
        ["5: pipes[0].receivers[0].server: there is no server 'grcp'; servers: grpc"],
    ),
    "receiver without server": (
        pipeline(receivers="{type: otlp}"),
        ["5: pipes[0].receivers[0].server: is missing"],
    ),
    "server of the wrong protocol": (
        pipeline(servers=HTTP, receivers="{type: skywalking, server: http}"),
        [" pipe logs: server 'http' speaks http, and grpc is needed"],
    ),
    "one method twice": (
        pipeline(receivers=f"{OTLP}, {{type: otlp, server: grpc, signals: [logs]}}"),
        [
            " server grpc: pipe logs: receiver otlp takes "
            "/opentelemetry.proto.collector.logs.v1.LogsService/Export, which pipe logs: receiver otlp takes already; "
            "one of them needs another server",
        ],
    ),
    "certificate that is not there": (
        pipeline(servers="{name: grpc, type: grpc, listen: ':0', tls: {certificate: c.pem, key: k.pem}}"),
        [
            "1: servers[0].tls.certificate: '{dir}/c.pem' cannot be read: No such file or directory",
            "1: servers[0].tls.key: '{dir}/k.pem' cannot be read: No such file or directory",
        ],
    ),
    "secret of the wrong kind": (
        pipeline(servers="{name: grpc, type: grpc, listen: ':0', bearer_token: [s3cret]}"),
        ["1: servers[0].bearer_token: the value (hidden) is refused; allowed: a text; put it in quotes"],
    ),
    "no such receiver": (
        pipeline(receivers="{type: oltp, server: grpc}"),
        [f"5: pipes[0].receivers[0].type: there is no receiver 'oltp' (did you mean otlp?); installed: {RECEIVERS}"],
    ),
    "receiver without type": (
        pipeline(receivers="{server: grpc}"),
        [f"5: pipes[0].receivers[0].type: is missing; receivers: {RECEIVERS}"],
    ),
    "receiver a text": (
        pipeline(receivers="otlp"),
        ["5: pipes[0].receivers[0]: 'otlp' is refused; allowed: a mapping with `type`, as {type: …}"],
    ),
    "receivers a text": (
        "pipes:\n- name: a\n  queue: {dir: q}\n  receivers: otlp\n",
        ["4: pipes[0].receivers: 'otlp' is refused; allowed: a list"],
    ),
    "signal": (
        pipeline(receivers="{type: otlp, server: grpc, signals: [log]}"),
        ["5: pipes[0].receivers[0].signals[0]: 'log' is refused; allowed: 'logs', 'traces' or 'metrics'"],
    ),
    "pipe of nothing": (
        "pipes:\n- name: a\n  queue: {dir: q}\n",
        ["2: pipes[0]: a pipe needs a receiver, a fetcher or a sender"],
    ),
    "two pipes of a name": (
        pipeline() + "- name: logs\n  queue: {dir: q2}\n  senders: [{type: spark, format: noop}]\n",
        ["6: pipes[1].name: pipe 'logs' is defined twice"],
    ),
    "two pipes of a queue": (
        pipeline(queue="{dir: a/../q}")
        + "- name: b\n  queue: {dir: a/../q/b}\n  senders: [{type: spark, format: noop}]\n",
        [
            "7: pipes[1].queue.dir: 'a/../q/b' is refused; allowed: a directory that neither is, nor holds, nor lies "
            "in '{cwd}/a/../q' of pipe logs",
        ],
    ),
    "one directory, written in two ways": (
        pipeline(queue="{dir: q}") + "- name: b\n  queue: {dir: '{dir}/q'}\n  senders: [{type: spark, format: noop}]\n",
        [
            "7: pipes[1].queue.dir: '{dir}/q' is refused; allowed: a directory that neither is, nor holds, nor lies in "
            "'{dir}/q' of pipe logs",
        ],
    ),
    "checkpoints of two pipes": (
        pipeline(pipe=f"senders: [{SPARK}]\ncheckpoints: c")
        + f"- name: b\n  queue: {{dir: q2}}\n  checkpoints: c\n  senders: [{SPARK}]\n",
        [
            "11: pipes[1].senders[0]: the checkpoint '{cwd}/c/spark' is that of pipe logs, too; give one of the pipes "
            "other `checkpoints`",
        ],
    ),
    "on_full": (
        pipeline(pipe="on_full: wait"),
        ["6: pipes[0].on_full: 'wait' is refused; allowed: reject, block, drop"],
    ),
    "ack": (pipeline(pipe="ack: true"), ["6: pipes[0].ack: 'true' is refused; allowed: pushed, synced"]),
    "name of a pipe": (
        "pipes:\n- name: ../x\n  queue: {dir: q}\n",
        [f"2: pipes[0].name: '../x' is refused; allowed: {NAME}"],
    ),
    "senders of one type without names": (
        pipeline(pipe=f"senders: [{SPARK}, {SPARK}]"),
        [
            "6: pipes[0].senders[0].name: is missing; it is needed because several senders have the type spark",
            "6: pipes[0].senders[1].name: is missing; it is needed because several senders have the type spark",
        ],
    ),
    "senders of one name": (
        pipeline(pipe="senders: [{type: spark, format: noop, name: a}, {type: spark, format: noop, name: a}]"),
        ["6: pipes[0].senders[1].name: sender 'a' is defined twice"],
    ),
    "batch without unit": (
        pipeline(pipe="senders: [{type: spark, format: noop, batch: {interval: 5}}]"),
        [f"6: pipes[0].senders[0].batch.interval: 5 is refused: {DURATION}"],
    ),
    "batch of no duration": (
        pipeline(pipe="senders: [{type: spark, format: noop, batch: {interval: soon}}]"),
        [f"6: pipes[0].senders[0].batch.interval: 'soon' is refused: {SPELLED_DURATION}"],
    ),
    "dead letters too small": (
        pipeline(pipe="dead_letter: {dir: d, max_event_size: 1m}"),
        [
            "6: pipes[0].dead_letter.max_event_size: 1048576 is refused; allowed: at least 5308416, which is "
            "queue.max_event_size and 65536 more",
        ],
    ),
    "processes": (
        pipeline(top="gather: {processes: 0}"),
        ["6: gather.processes: 0 is refused; allowed: 1 to 256"],
    ),
    "stop_within": (
        pipeline(top="gather: {stop_within: -1s}"),
        [f"6: gather.stop_within: '-1s' is refused: {SPELLED_DURATION}"],
    ),
    "telemetry": (pipeline(top="telemetry: on"), ["6: telemetry: true is refused; allowed: a mapping"]),
    "spark's properties a list": (
        pipeline(top="spark: {conf: [a]}"),
        ["6: spark.conf: a list is refused; allowed: a mapping"],
    ),
    "variable that is not set": (
        pipeline(queue="{dir: '${NO_SUCH_VARIABLE}'}"),
        [
            "4: pipes[0].queue.dir: the environment variable NO_SUCH_VARIABLE is unset or empty, and "
            "${NO_SUCH_VARIABLE} has no default",
        ],
    ),
    "reference that is none": (
        pipeline(queue="{dir: '${a b}'}"),
        [f"4: pipes[0].queue.dir: '${{a b}}' is no reference to a variable; {REFERENCES}"],
    ),
    "reference that is open": (
        pipeline(queue="{dir: '${a'}"),
        [f"4: pipes[0].queue.dir: '${{' is no reference to a variable; {REFERENCES}"],
    ),
    "default of a shell": (
        pipeline(queue="{dir: '${A:-b}'}"),
        [
            "4: pipes[0].queue.dir: '${A:-b}' is ambiguous: the default would begin with -; write ${env:A:-b}, or "
            '${A:"-b"} for a text that begins with -',
        ],
    ),
    "several": (
        pipeline(
            servers="{name: grpc, type: grpc}", queue="{}", receivers="{type: x}", pipe="ack: no", top="gather: []"
        ),
        [
            "1: servers[0].listen: is missing",
            "4: pipes[0].queue.dir: is missing",
            f"5: pipes[0].receivers[0].type: there is no receiver 'x'; installed: {RECEIVERS}",
            "6: pipes[0].ack: 'no' is refused; allowed: pushed, synced",
            "7: gather: a list is refused; allowed: a mapping",
        ],
    ),
}


@pytest.mark.parametrize(("text", "lines"), BAD.values(), ids=BAD.keys())
def test_a_bad_configuration_is_one_line_a_problem_and_starts_nothing(
    text: str, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_VARIABLE", raising=False)
    file = tmp_path / "bad.yaml"
    file.write_text(text.replace("{dir}", str(tmp_path)))
    for command in ("check", "gather"):
        assert main([command, str(file)]) == 2
        out, err = capsys.readouterr()
        expected = [f"{file}:{line}" for line in lines]
        places = [line.replace("{dir}", str(tmp_path)).replace("{cwd}", os.fspath(Path.cwd())) for line in expected]
        assert err.splitlines() == places
        assert out == ""
    assert [each.name for each in tmp_path.iterdir()] == ["bad.yaml"]


@pytest.mark.parametrize(("path", "words"), [("none.yaml", "No such file or directory"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read(path: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / path)]) == 2
    assert capsys.readouterr().err == f"{tmp_path / path}: {words}\n"


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"pipes: \xff\xfe\x00")
    with pytest.raises(ConfigFileError, match=r"a\.yaml:1: not YAML: unacceptable character #x00ff"):
        load(file)


def _load(tmp_path: Path, text: str, **environment: str) -> Any:
    file = tmp_path / "my shop.yaml"
    file.write_text(text)
    return load(file, environment=environment)


def test_defaults(tmp_path: Path) -> None:
    loaded = _load(tmp_path, pipeline(pipe=f"senders: [{SPARK}]\nfilters:"))
    assert loaded.name == "my-shop"
    assert loaded.telemetry is None
    pipe = loaded.pipes[0]
    assert (pipe.ack, pipe.on_full, pipe.filters, pipe.fetchers) == ("pushed", "reject", (), ())
    assert pipe.queue.keys() == {"capacity": 1 << 30, "segment_size": 16 << 20, "max_event_size": 5 << 20}
    assert pipe.senders[0].name == "spark"
    assert pipe.senders[0].batch.interval == timedelta(seconds=1)


def test_relative_directories_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    loaded = _load(
        tmp_path, pipeline(queue="{dir: spool/q}", pipe="dead_letter: {dir: ~/dead}\ncheckpoints: /c\nsenders: []")
    )
    pipe = loaded.pipes[0]
    assert pipe.queue.dir == tmp_path / "spool/q"
    assert pipe.dead_letter.dir == Path("/home/someone/dead")
    assert pipe.checkpoints == Path("/c")
    assert pipe.checkpoint("a") == Path("/c/a")


def test_units_and_sizes(tmp_path: Path) -> None:
    text = pipeline(
        servers="{name: grpc, type: grpc, listen: ':0', max_message_size: 512k}",
        queue="{dir: q, queue_capacity_segments: 8, segment_size: 1m, max_event_size: 1000000, retain_bytes: 0}",
        top="gather: {stop_within: 1500ms}",
    )
    loaded = _load(tmp_path, text)
    assert loaded.servers[0].max_message_size == 512 << 10
    assert loaded.pipes[0].queue.total == 8 << 20
    assert loaded.gather.stop_within == timedelta(seconds=1.5)
    keys = {"queue_capacity_segments": 8, "segment_size": 1 << 20, "max_event_size": 1_000_000, "retain_bytes": 0}
    assert loaded.pipes[0].queue.keys() == keys


def test_numbers_where_texts_are_wanted_are_as_they_were_spelled(tmp_path: Path) -> None:
    text = pipeline(
        servers="{name: 007, type: grpc, listen: ':0', bearer_token: '${TOKEN}'}",
        receivers="{type: otlp, server: 007}",
        queue="{dir: 2026-01-02, file_mode: 640}",
        top="spark: {conf: {spark.sql.shuffle.partitions: 4, spark.ui.enabled: false, on: 'yes'}}",
    )
    loaded = _load(tmp_path, text, TOKEN="1e5")
    assert loaded.servers[0].name == "007"
    assert loaded.servers[0].bearer_token == "1e5"
    assert loaded.pipes[0].queue.dir.name == "2026-01-02"
    assert loaded.pipes[0].queue.file_mode == "640"
    conf = {"spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false", "on": "yes"}
    assert loaded.spark.conf == conf


def test_variables_are_retyped(tmp_path: Path) -> None:
    text = pipeline(
        servers="{name: grpc, type: grpc, listen: '0.0.0.0:${PORT:11800}', bearer_token: '${TOKEN:}'}",
        queue="{dir: 'a${env:SUFFIX:-b}', timestamps: '${STAMPS:false}', max_in_mem_segments: '${N}'}",
    )
    loaded = _load(tmp_path, text, N="12", PORT="", SUFFIX="${x}")
    assert loaded.servers[0].listen == "0.0.0.0:11800"
    assert loaded.servers[0].bearer_token is None
    queue = loaded.pipes[0].queue
    assert (queue.dir.name, queue.timestamps, queue.max_in_mem_segments) == ("a${x}", False, 12)


def test_a_token_named_null_is_a_token(tmp_path: Path) -> None:
    text = pipeline(servers="{name: grpc, type: grpc, listen: ':0', bearer_token: '${TOKEN:}'}")
    assert _load(tmp_path, text, TOKEN="null").servers[0].bearer_token == "null"


def test_anchors_and_merged_keys(tmp_path: Path) -> None:
    text = (
        "pipes:\n- &a {name: a, queue: &q {dir: q, segment_size: 8m}, senders: &s [{type: spark, format: noop}]}\n"
        "- {<<: *a, name: b, queue: {<<: *q, dir: q2}}\n"
    )
    first, second = _load(tmp_path, text).pipes
    assert (first.name, second.name) == ("a", "b")
    assert (second.queue.dir.name, second.queue.segment_size) == ("q2", 8 << 20)
    assert second.senders == first.senders


def test_all_keys_of_a_queue_are_known() -> None:
    passed_on = set(QueueKeys.model_fields) - {"dir"}
    assert passed_on | _WITHOUT_EFFECT.keys() == Configuration.__annotations__.keys() | {"queue_dir"}
    assert not passed_on & _WITHOUT_EFFECT.keys()


@pytest.mark.parametrize(
    "options",
    [
        {"capacity": 4 << 20, "segment_size": 2 << 20, "max_event_size": (2 << 20) - 64 - 23},
        {"queue_capacity_segments": 3, "segment_size": 4096, "max_event_size": 2 * (4096 - 64) - 23},
    ],
)
def test_the_largest_event_is_that_of_the_queue(options: dict[str, int], tmp_path: Path) -> None:
    assert QueueKeys(dir=tmp_path, **options)
    with mmapqueue.Queue(None, tmp_path / "q", **options):
        pass
    larger = {**options, "max_event_size": options["max_event_size"] + 1}
    with pytest.raises(ValueError, match="allowed: 1 to"):
        QueueKeys(dir=tmp_path, **larger)
    with pytest.raises(mmapqueue.ConfigError):
        mmapqueue.Queue(None, tmp_path / "q2", **larger)


def test_secrets_are_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        pipeline(
            servers="{name: grpc, type: grpc, listen: ':0', bearer_token: s3cret}",
            pipe="senders: [{type: http, url: 'http://user:s3cret@host/', headers: {Authorization: s3cret}}]",
            top="spark: {conf: {spark.hadoop.fs.s3a.secret.key: s3cret}}",
        )
    )
    assert main(["check", str(file)]) == 0
    printed = capsys.readouterr()
    assert "bearer token" in printed.out
    assert "***@host" in printed.out
    assert "s3cret" not in printed.out + printed.err + repr(load(file).servers) + repr(load(file).spark)


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution with a receiver, one that cannot be imported, and one that is no receiver."""
    root = tmp_path / "site"
    (root / "third-1.0.dist-info").mkdir(parents=True)
    (root / "third-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: third\nVersion: 1.0\n")
    (root / "third-1.0.dist-info" / "entry_points.txt").write_text(
        "[mmapqueue.receivers]\nwebhook = third_party_webhook:Webhook\nbroken = third_party_broken:Broken\n"
        "wrong = third_party_webhook:PORTS\n"
    )
    (root / "third_party_broken.py").write_text("1 / 0\n")
    (root / "third_party_webhook.py").write_text(
        "from typing import Literal\n"
        "from mmapqueue.pipeline.plugins import Receiver, Size\n"
        "PORTS = 5\n"
        "class Webhook(Receiver):\n"
        "    type: Literal['webhook'] = 'webhook'\n"
        "    ports: list[int] | Literal['all'] = 'all'\n"
        "    limit: Size = 5\n"
        "    async def start(self, host):\n"
        "        pass\n"
    )
    monkeypatch.syspath_prepend(root)
    plugins.entries.cache_clear()
    yield root
    plugins.entries.cache_clear()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("{type: webhook, ports: [1, x]}", "ports[1]: 'x' is refused; allowed: a whole number"),
        ("{type: webhook, limit: 0}", "limit: 0 is refused; allowed: at least 1"),
        ("{type: broken}", "type: the receiver 'broken' cannot be loaded: ZeroDivisionError: division by zero"),
        (
            "{type: wrong}",
            "type: the receiver 'wrong' cannot be loaded: TypeError: third_party_webhook:PORTS, which is installed as "
            "'wrong' in mmapqueue.receivers, is no Receiver",
        ),
    ],
)
@pytest.mark.usefixtures("third_party")
def test_errors_of_third_party_plugins(options: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigFileError) as refused:
        _load(tmp_path, f"pipes:\n- name: a\n  queue: {{dir: q}}\n  receivers: [{options}]\n")
    assert refused.value.problems[0] == f"{tmp_path}/my shop.yaml:4: pipes[0].receivers[0].{line}"


@pytest.mark.usefixtures("third_party")
def test_a_third_party_plugin_is_loaded(tmp_path: Path) -> None:
    text = "pipes:\n- name: a\n  queue: {dir: q}\n  receivers: [{type: webhook, ports: [1], limit: 2k}]\n"
    receiver = _load(tmp_path, text).pipes[0].receivers[0]
    assert (type(receiver).__name__, receiver.ports, receiver.limit) == ("Webhook", [1], 2048)


def test_the_schema_has_all_plugins(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["required"] == ["pipes"]
    pipe = schema["$defs"]["Pipe"]["properties"]
    for key, group in {"receivers": "receivers", "fetchers": "fetchers", "senders": "senders"}.items():
        mapping = pipe[key]["items"]["discriminator"]["mapping"]
        assert set(mapping) == set(plugins.entries(f"mmapqueue.{group}"))
    spark = schema["$defs"]["SparkSender"]
    assert "type" in spark["required"]
    assert "name" not in spark["required"]
    processes = schema["$defs"]["Gather"]["properties"]["processes"]
    assert processes["default"] == 1
    assert {"type": "string", "pattern": r"\$\{[^}]*\}"} in processes["anyOf"]


# ---- variables

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
#: What a reference may have as a default: no braces, no quotes around it, and no - at its beginning.
DEFAULTS = st.text(st.characters(exclude_characters="{}$", exclude_categories=("Cs",)), max_size=20).filter(
    lambda text: not text.startswith(("-", '"'))
)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)


@given(TEXTS)
def test_a_text_with_doubled_dollars_stands_for_itself(text: str) -> None:
    doubled = text.replace("$", "$$")
    replaced = substitute(doubled, {})
    assert (doubled if replaced is None else replaced.value) == text


@given(NAMES, TEXTS.filter(bool), DEFAULTS)
def test_what_a_variable_holds_is_taken_as_it_is(name: str, value: str, default: str) -> None:
    for reference in (f"${{{name}:{default}}}", f"${{env:{name}:-{default}}}", f"${{{name}}}", f"${{env:{name}}}"):
        if name == "env" and not reference.startswith("${env:env"):
            continue  # ${env:…} is the other syntax.
        replaced = substitute(reference, {name: value})
        assert replaced is not None
        assert replaced.text == value
        assert replaced.value == retyped(value)


@given(NAMES.filter(lambda name: name != "env"), DEFAULTS, st.sampled_from([{}, {"": ""}]))
def test_a_default_counts_when_the_variable_is_unset_or_empty(name: str, default: str, rest: dict[str, str]) -> None:
    for environment in (rest, {**rest, name: ""}):
        for reference in (f"${{{name}:{default}}}", f"${{env:{name}:-{default}}}"):
            replaced = substitute(reference, environment)
            assert replaced is not None
            assert replaced.value == retyped(default)


@given(st.integers(-(10**17), 10**17) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans())
def test_numbers_and_booleans_are_retyped(value: float) -> None:
    replaced = substitute("${A}", {"A": str(value)})
    assert replaced is not None
    assert replaced.value == value
    assert type(replaced.value) is type(value)


@given(st.lists(NAMES | st.just("$$"), max_size=5), TEXTS.filter(bool))
def test_references_within_a_text(names: list[str], value: str) -> None:
    text = "".join(f"[{name}]" if name == "$$" else f"[${{{name}}}]" for name in names) + "end"
    replaced = substitute(text, dict.fromkeys(names, value))
    expected = "".join("[$]" if name == "$$" else f"[{value}]" for name in names) + "end"
    assert (text if replaced is None else replaced.text) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${A:5}", 5),
        ("${A:1.5}", 1.5),
        ("${A:TRUE}", True),
        ('${A:"5"}', "5"),
        ("${A:}", None),
        ('${A:""}', ""),
        ("${A::1234}", ":1234"),
        ("${A:%time [%level] - %msg}", "%time [%level] - %msg"),
        ("${A-B:log-topic}", "log-topic"),
        ("plain", None),
        ("a ${A:5}", None),
    ],
)
def test_references_of_satellite(text: str, value: object) -> None:
    replaced = substitute_satellite(text, {})
    assert (replaced.value if replaced else None) == value
    assert (replaced is None) == (not text.startswith("${"))
