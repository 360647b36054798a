"""What a configuration file says: defaults, units, paths, secrets."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from mmapqueue._cli.main import main
from mmapqueue._values.configuration import Configuration
from mmapqueue.pipeline.config import load
from mmapqueue.pipeline.config._model import check_url
from mmapqueue.pipeline.config._queue import _WITHOUT_EFFECT, QueueKeys
from pipeline.configuring import SPARK, load_text, pipeline


def test_defaults(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, pipeline(pipe=f"senders: [{SPARK}]\nfilters:"))
    assert loaded.name == "my-shop"
    assert loaded.telemetry is None
    pipe = loaded.pipes[0]
    assert (pipe.ack, pipe.on_full, pipe.filters, pipe.fetchers) == ("pushed", "reject", (), ())
    sizes = {"capacity": 1 << 30, "segment_size": 16 << 20, "max_event_size": 5 << 20, "max_in_mem_segments": 10}
    assert pipe.queue.keys() == sizes
    assert pipe.senders[0].name == "spark"
    assert pipe.senders[0].batch.interval == timedelta(seconds=1)


def test_relative_directories_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    loaded = load_text(
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
    loaded = load_text(tmp_path, text)
    assert loaded.servers[0].max_message_size == 512 << 10
    assert loaded.pipes[0].queue.total == 8 << 20
    assert loaded.gather.stop_within == timedelta(seconds=1.5)
    keys = {"queue_capacity_segments": 8, "segment_size": 1 << 20, "max_event_size": 1_000_000, "retain_bytes": 0}
    assert loaded.pipes[0].queue.keys() == keys | {"max_in_mem_segments": 10}


def test_numbers_where_texts_are_wanted_are_as_they_were_spelled(tmp_path: Path) -> None:
    text = pipeline(
        servers="{name: 007, type: grpc, listen: ':0', bearer_token: '${TOKEN}'}",
        receivers="{type: otlp, server: 007}",
        queue="{dir: 2026-01-02, file_mode: 640}",
        top="spark: {conf: {spark.sql.shuffle.partitions: 4, spark.ui.enabled: false, on: 'yes'}}",
    )
    loaded = load_text(tmp_path, text, TOKEN="1e5")
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
    loaded = load_text(tmp_path, text, N="12", PORT="", SUFFIX="${x}")
    assert loaded.servers[0].listen == "0.0.0.0:11800"
    assert loaded.servers[0].bearer_token is None
    queue = loaded.pipes[0].queue
    assert (queue.dir.name, queue.timestamps, queue.max_in_mem_segments) == ("a${x}", False, 12)


def test_a_token_named_null_is_a_token(tmp_path: Path) -> None:
    text = pipeline(servers="{name: grpc, type: grpc, listen: ':0', bearer_token: '${TOKEN:}'}")
    assert load_text(tmp_path, text, TOKEN="null").servers[0].bearer_token == "null"


def test_anchors_and_merged_keys(tmp_path: Path) -> None:
    text = (
        "pipes:\n- &a {name: a, queue: &q {dir: q, segment_size: 8m}, senders: &s [{type: spark, format: noop}]}\n"
        "- {<<: *a, name: b, queue: {<<: *q, dir: q2}}\n"
    )
    first, second = load_text(tmp_path, text).pipes
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
def test_the_largest_event_is_that_of_the_queue(options: dict[str, Any], tmp_path: Path) -> None:
    assert QueueKeys(dir=tmp_path, **options)
    with mmapqueue.Queue(tmp_path / "q", **options):
        pass
    larger: dict[str, Any] = {**options, "max_event_size": options["max_event_size"] + 1}
    with pytest.raises(ValueError, match="allowed: 1 to"):
        QueueKeys(dir=tmp_path, **larger)
    with pytest.raises(mmapqueue.ConfigError):
        mmapqueue.Queue(tmp_path / "q2", **larger)


@pytest.mark.parametrize(
    ("url", "usable"),
    [
        ("http://h", True),
        ("https://user:p%40ss@shop.example:65535/a?b=c#d", True),
        ("http://[::1]:80/", True),
        ("http://h:/", True),
        ("http://münchen.example/", True),
        ("HTTP://h", False),
        ("ftp://h", False),
        ("//h", False),
        ("http://", False),
        ("http:///x", False),
        ("http://:80/x", False),
        ("http://h:0/", False),
        ("http://h:65536/", False),
        ("http://h:x/", False),
        ("http://h:+80/", False),
        ("http://[::1/", False),
        ("http://a..b/", False),
        (f"http://{'a' * 64}/", False),
        ("http://h\\x/", False),
        ("http://h/a b", False),
        ("http://h/\n", False),
        ("", False),
    ],
)
def test_urls_are_those_that_a_client_can_connect_to(url: str, *, usable: bool) -> None:
    if usable:
        assert check_url(url) == url
        return
    with pytest.raises(ValueError, match="a URL begins with"):
        check_url(url)


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


def test_paths_in_options_and_of_fetchers_are_those_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    senders = ", ".join(
        f"{{type: spark, name: s{number}, format: {format_}, options: {{{key}: '{path}'}}}}"
        for number, (format_, key, path) in enumerate(
            [
                ("parquet", "path", "out"),
                ("mmapqueue", "PATH", "~/second"),
                ("json", "path", "/abs"),
                ("csv", "path", "hdfs://nodes/out"),
                ("kafka", "path", "out"),
            ]
        )
    )
    loaded = load_text(
        tmp_path, pipeline(pipe=f"fetchers: [{{type: files, paths: [logs/*.log, /var/log/x]}}]\nsenders: [{senders}]")
    )
    pipe = loaded.pipes[0]
    paths = [next(iter(each.options.values())) for each in pipe.senders]
    assert paths == [f"{tmp_path}/out", "/home/someone/second", "/abs", "hdfs://nodes/out", "out"]
    assert pipe.fetchers[0].paths == (f"{tmp_path}/logs/*.log", "/var/log/x")


def test_check_prints_values_unchanged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.yaml"
    where = "body = 'it''s' OR severity = 'a'" + " OR severity = 'b'" * 10
    sender = f"{{type: http, url: 'http://u:p@h/x', where: \"{where}\", method: PUT}}"
    file.write_text(pipeline(pipe=f"senders: [{sender}]"))
    assert main(["check", str(file)]) == 0
    out = capsys.readouterr().out
    assert f"sender       http: http (where: {where}, url: http://***@h/x, method: PUT)" in out
    assert "a micro-batch every 1 s, of at most 10000 records, of at most 64 MiB" in out
