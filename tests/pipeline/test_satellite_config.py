from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mmapqueue._cli.main import main
from mmapqueue.pipeline.config import ConfigFileError, Loaded, load_all
from mmapqueue.pipeline.gather.rehearsal import rehearse

from .satellite_file import PIPES, WHOLE

#: In the format of satellite_config.yaml.
FILE = """\
logger: {level: info}
telemetry:
  export_type: ${EXPORT:prometheus,pprof}
  prometheus: {address: "${METRICS::1234}", endpoint: "${ENDPOINT:/metrics}"}
sharing:
  clients:
    - plugin_name: grpc-client
      server_addr: ${BACKEND:"oap-1:11800,oap-2:11800"}
      authentication: ${AUTH:""}
      enable_tls: ${TLS:false}
      ca_pem_path: ${CA:"ca.pem"}
    - plugin_name: kafka-client
      brokers: kafka:9092
  servers:
    - plugin_name: grpc-server
      address: ${ADDRESS:":11800"}
      max_recv_msg_size: ${MESSAGE:8388608}
      accept_limit: {cpu_utilization: 75, connection_count: "${CONNECTIONS:100}"}
    - plugin_name: http-server
pipes:
  - common_config: {pipe_name: logpipe}
    gatherer:
      server_name: grpc-server
      receiver: {plugin_name: grpc-native-log-receiver}
      queue:
        plugin_name: mmap-queue
        queue_dir: log-queue
        segment_size: 262114
        max_event_size: 20480
        flush_period: 500
    processor:
      filters:
    sender:
      fallbacker: {plugin_name: timer-fallbacker, max_attempts: 4, exponential_backoff: 100, max_backoff: 2000}
      flush_time: ${FLUSH:250}
      max_buffer_size: 300
      min_flush_events: ${LEAST:10}
      client_name: grpc-client
      forwarders:
        - plugin_name: native-log-grpc-forwarder
  - common_config: {pipe_name: metricspipe}
    gatherer:
      server_name: grpc-server
      receiver: {plugin_name: grpc-otlp-metrics-v1-receiver}
      queue: {plugin_name: memory-queue, partition: 4}
    sender:
      fallbacker: {plugin_name: none-fallbacker}
      client_name: grpc-client
      forwarders:
        - plugin_name: otlp-metrics-v1-grpc-forwarder
  - common_config: {pipe_name: future}
    gatherer:
      server_name: grpc-server
      receiver: {plugin_name: grpc-native-future-receiver}
      queue: {plugin_name: memory-queue}
    sender:
      client_name: grpc-client
      forwarders:
        - plugin_name: native-future-grpc-forwarder
  - common_config: {pipe_name: kafka}
    gatherer:
      server_name: grpc-server
      receiver: {plugin_name: grpc-nativetracing-receiver}
      queue: {plugin_name: none-queue}
    sender:
      client_name: kafka-client
      forwarders:
        - plugin_name: native-tracing-kafka-forwarder
"""

WARNINGS = [
    "1: logger: is left out; `--log-level` sets the level, and logs go to stderr",
    "3: telemetry.export_type: there is no export of telemetry as 'pprof'; it is left out",
    "18: sharing.servers[0].accept_limit.cpu_utilization: a limit by CPU is not supported; a full queue refuses "
    "clients",
    "19: sharing.servers: no pipe uses the server 'http-server'; it is left out",
    "29: pipes[0].gatherer.queue.max_event_size: 20480 is raised to 8454144: a message of the server may be as large",
    "34: pipes[0].sender.fallbacker: failed requests go to a dead-letter queue, and are not dropped",
    "37: pipes[0].sender.min_flush_events: fewer records wait for at most 1 minute, not without limit",
    "45: pipes[1].gatherer.queue: the memory-queue of pipe metricspipe becomes a queue on disk, in "
    "satellite-mmap-queue/metricspipe",
    "45: pipes[1].gatherer.queue.partition: a queue has one partition for each process of "
    "`gather: {processes: …}`; this is left out",
    "47: pipes[1].sender.fallbacker: failed requests are not dropped, but retried without limit (`then: block`)",
    "54: pipes[2].gatherer.receiver: the pipe future is left out: there is no receiver 'grpc-native-future-receiver'",
    "68: pipes[3].sender.forwarders[0]: the pipe kafka is left out: there is no forwarder "
    "'native-tracing-kafka-forwarder'",
]


def _load(tmp_path: Path, text: str = FILE, **environment: str) -> Loaded:
    file = tmp_path / "satellite_config.yaml"
    file.write_text(text)
    return load_all(file, environment=environment)


def test_what_exists_is_taken_over(tmp_path: Path) -> None:
    pipeline = _load(tmp_path).pipeline
    assert pipeline.name == "satellite_config"
    assert pipeline.telemetry is not None
    assert pipeline.telemetry.listen == "0.0.0.0:1234"
    (server,) = pipeline.servers
    assert (server.name, server.type, server.listen) == ("grpc-server", "grpc", "0.0.0.0:11800")
    assert (server.max_connections, server.max_message_size) == (100, 8 << 20)
    logs, metrics = pipeline.pipes
    assert logs.queue.dir == tmp_path / "log-queue"
    assert logs.queue.keys() == {
        "segment_size": 262_144,
        "queue_capacity_segments": 2000,
        "max_event_size": (8 << 20) + (64 << 10),
        "flush_period": timedelta(milliseconds=500),
        "max_in_mem_segments": 10,
    }
    assert metrics.queue.dir == tmp_path / "satellite-mmap-queue/metricspipe"
    receivers: list[Any] = [*logs.receivers, *metrics.receivers]
    assert [(each.type, each.server, each.signals) for each in receivers] == [
        ("skywalking", "grpc-server", ("logs",)),
        ("otlp", "grpc-server", ("metrics",)),
    ]


def test_senders_batches_and_retries(tmp_path: Path) -> None:
    pipeline = _load(tmp_path, AUTH="t0ken", TLS="true", CA=str(tmp_path / "x.pem")).pipeline
    sender: Any = pipeline.pipes[0].senders[0]
    assert (sender.type, sender.name, sender.endpoint) == ("skywalking", "skywalking", "oap-1:11800,oap-2:11800")
    assert sender.headers == {"authentication": "t0ken"}
    assert sender.tls is not None
    assert sender.request.max_records == 300
    assert (sender.batch.interval, sender.batch.min_records) == (timedelta(milliseconds=250), 10)
    assert (sender.retry.max_attempts, sender.retry.then) == (4, "dead_letter")
    assert sender.retry.backoff.first == timedelta(milliseconds=100)
    assert sender.retry.backoff.most == timedelta(seconds=2)
    dead_letter = pipeline.pipes[0].dead_letter
    assert dead_letter is not None
    assert dead_letter.dir == tmp_path / "log-queue.dead"
    other: Any = pipeline.pipes[1].senders[0]
    assert (other.type, other.retry.then) == ("otlp", "block")
    assert pipeline.pipes[1].dead_letter is None


def test_a_first_backoff_above_the_maximum_is_the_maximum(tmp_path: Path) -> None:
    text = FILE.replace("exponential_backoff: 100, max_backoff: 2000", "exponential_backoff: 9000")
    sender: Any = _load(tmp_path, text).pipeline.pipes[0].senders[0]
    assert (sender.retry.backoff.first, sender.retry.backoff.most) == (timedelta(seconds=9), timedelta(seconds=9))


def test_variables_replace_defaults(tmp_path: Path) -> None:
    pipeline = _load(
        tmp_path, METRICS="127.0.0.1:9", BACKEND="h:1", ADDRESS="", CONNECTIONS="7", FLUSH="60000"
    ).pipeline
    assert pipeline.telemetry is not None
    assert pipeline.telemetry.listen == "127.0.0.1:9"
    sender: Any = pipeline.pipes[0].senders[0]
    assert (sender.endpoint, sender.batch.interval) == ("h:1", timedelta(minutes=1))
    assert (pipeline.servers[0].listen, pipeline.servers[0].max_connections) == ("0.0.0.0:11800", 7)


def test_what_is_not_there_is_a_warning_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "satellite_config.yaml"
    assert _load(tmp_path).warnings == tuple(f"{file}:{each}" for each in WARNINGS)


def test_check_prints_warnings_and_succeeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "satellite_config.yaml"
    file.write_text(FILE)
    assert main(["check", str(file)]) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [f"warning: {file}:{each}" for each in WARNINGS]
    assert "pipe logpipe" in printed.out
    assert "future" not in printed.out


def test_nothing_that_runs_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "satellite_config.yaml"
    file.write_text("sharing:\n  servers: [{plugin_name: grpc-server}]\npipes: []\n")
    assert main(["check", str(file)]) == 2
    assert capsys.readouterr().err == f"{file}:1: no part of this Satellite configuration can run here\n"


@pytest.mark.parametrize(
    ("variable", "value", "line"),
    [
        ("CONNECTIONS", "no", "15: servers[0].max_connections: 'no' is invalid; allowed: a whole number, 1 to 1000000"),
        ("BACKEND", "oap", "33: pipes[0].senders[0].endpoint: 'oap' is invalid: the address of a server is HOST:PORT"),
    ],
)
def test_refused_values_have_the_lines_of_the_file(variable: str, value: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigFileError) as refused:
        _load(tmp_path, **{variable: value})
    assert refused.value.problems[0].startswith(f"{tmp_path}/satellite_config.yaml:{line}")


def test_a_forwarder_that_cannot_send_what_its_receiver_takes_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """\
sharing:
  clients: [{plugin_name: grpc-client}]
  servers: [{plugin_name: http-server}]
pipes:
- common_config: {pipe_name: logs}
  gatherer:
    server_name: http-server
    receiver: {plugin_name: http-native-log-receiver}
    queue: {plugin_name: mmap-queue}
  sender:
    client_name: grpc-client
    forwarders: [{plugin_name: native-log-grpc-forwarder}]
"""
    file = tmp_path / "satellite_config.yaml"
    file.write_text(text)
    assert main(["check", str(file)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"{file}:1: no part of this Satellite configuration can run here",
        f"{file}:12: pipes[0].sender.forwarders[0]: the pipe logs is left out: the forwarder "
        "'native-log-grpc-forwarder' cannot send the events of the receiver (http)",
    ]


def test_all_pipes_of_satellites_own_configuration_run_here(tmp_path: Path) -> None:
    pipeline = _load(tmp_path, WHOLE, TIMEOUT_UNARY="3s").pipeline
    assert [each.name for each in pipeline.pipes] == list(PIPES)
    for pipe in pipeline.pipes:
        receiver: Any = pipe.receivers[0]
        assert receiver.signals == (PIPES[pipe.name][1],)
        assert receiver.type == ("otlp" if pipe.name == "otlp-metrics-v1-pipe" else "skywalking")
        backend: Any = getattr(receiver, "backend", None)
        if pipe.name in ("profilepipe", "asyncprofilerpipe", "cdspipe", "processpipe", "ebpf-profilingpipe"):
            assert (backend.endpoint, backend.timeout) == ("127.0.0.1:11800", timedelta(seconds=3))
        else:
            assert backend is None
        assert bool(pipe.senders) == (pipe.name not in ("asyncprofilerpipe", "cdspipe"))
        for sender in pipe.senders:
            given: Any = sender
            assert (given.type, given.endpoint) == (receiver.type, "127.0.0.1:11800")
            assert given.retry.timeout == timedelta(seconds=20)
            assert sender.takes is not None
            assert any(each.startswith(receiver.makes) for each in sender.takes)


def test_warnings_about_satellites_own_configuration(tmp_path: Path) -> None:
    warnings = [each.partition(": ")[2] for each in _load(tmp_path, WHOLE).warnings]
    asking = ("asyncprofilerpipe", "cdspipe")
    expected = []
    for number, name in enumerate(PIPES):
        queue = f"pipes[{number}].gatherer.queue"
        if name.startswith("envoy"):
            words = "an open stream is pushed each second, and before a part has 1 MiB; this is left out"
            expected += [f"pipes[{number}].gatherer.receiver.{key}: {words}" for key in ("flush_time", "limit_count")]
        if name in asking:
            directory = f"satellite-mmap-queue/{name}"
            expected.append(f"{queue}: the queue of pipe {name} stays empty, in {directory}: its calls are passed on")
            continue
        if name in ("meterpipe", "otlp-metrics-v1-pipe"):
            forwarder = f"pipes[{number}].sender.forwarders[0]"
            words = "metrics go to the first address that is connected, so nothing is cached"
            expected += [f"{forwarder}.routing_rule_lru_cache_{key}: {words}" for key in ("size", "ttl")]
        if name == "otlp-metrics-v1-pipe":
            words = "metrics go to the first address that is connected, whatever their labels are"
            expected.append(f"{forwarder}.routing_label_keys: {words}")
        expected += [
            f"{queue}: the memory-queue of pipe {name} becomes a queue on disk, in satellite-mmap-queue/{name}",
            f"{queue}.partition: a queue has one partition for each process of `gather: {{processes: …}}`; "
            "this is left out",
            f"pipes[{number}].sender.fallbacker: failed requests are not dropped, but retried without limit "
            "(`then: block`)",
        ]
    assert sorted(warnings) == sorted(
        [
            "logger: is left out; `--log-level` sets the level, and logs go to stderr",
            "telemetry.export_type: there is no export of telemetry as 'pprof'; it is left out",
            "telemetry.cluster: cluster, service, instance: metrics have no such labels; Prometheus may add them",
            "sharing.servers[0].accept_limit.cpu_utilization: a limit by CPU is not supported; a full queue refuses "
            "clients",
            *expected,
        ]
    )


def test_receivers_of_satellites_own_configuration_fit_one_server(tmp_path: Path) -> None:
    rehearse(_load(tmp_path, WHOLE).pipeline)


@pytest.mark.parametrize("signal", ["jvm", "clr", "event", "management", "profile", "tracing", "meter", "log"])
def test_native_protocols_by_their_old_and_new_names(signal: str, tmp_path: Path) -> None:
    for dash in ("-", ""):
        text = (
            "sharing:\n  clients: [{plugin_name: grpc-client}]\n  servers: [{plugin_name: grpc-server}]\npipes:\n"
            "- gatherer:\n    server_name: grpc-server\n"
            f"    receiver: {{plugin_name: grpc-native{dash}{signal}-receiver}}\n"
            "  sender:\n    client_name: grpc-client\n"
            f"    forwarders: [{{plugin_name: native{dash}{signal}-grpc-forwarder}}]\n"
        )
        pipe: Any = _load(tmp_path, text).pipeline.pipes[0]
        assert pipe.receivers[0].signals == (
            {"tracing": "traces", "meter": "meters", "log": "logs", "event": "events"}.get(signal, signal),
        )
        assert pipe.senders[0].endpoint == "localhost:11800"
