"""Maps plugins of Apache SkyWalking Satellite to those of this package."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

#: SkyWalking's and Envoy's protocols, with their names as signals.
_SIGNALS = {
    "log": "logs",
    "tracing": "traces",
    "meter": "meters",
    "jvm": "jvm",
    "clr": "clr",
    "event": "events",
    "management": "management",
    "profile": "profile",
    "cds": "cds",
    "async-profiler": "async_profiler",
    "process": "process",
    "ebpf-profiling": "ebpf_profiling",
    "ebpf-accesslog": "ebpf_access_logs",
    "envoy-als-v2": "envoy_access_logs_v2",
    "envoy-als-v3": "envoy_access_logs_v3",
    "envoy-metrics-v2": "envoy_metrics_v2",
    "envoy-metrics-v3": "envoy_metrics_v3",
}
#: Signals with calls that the backend answers, and those of them without data.
_ASKING = frozenset({"profile", "cds", "async_profiler", "process", "ebpf_profiling"})
_ONLY_ASKING = frozenset({"cds", "async_profiler"})
# Earlier versions wrote nativelog for native-log.
_PROTOCOL = rf"(?:native-?)?({'|'.join(_SIGNALS)})"
_RECEIVER = re.compile(rf"grpc-{_PROTOCOL}-receiver")
_FORWARDER = re.compile(rf"{_PROTOCOL}-grpc-forwarder")
_KAFKA_FORWARDER = re.compile(r"native-?log-kafka-forwarder")
#: Keys of forwarders that are left out, with the reason.
_FORWARDER_KEYS = {
    "routing_rule_lru_cache_size": "metrics go to the first address that is connected, so nothing is cached",
    "routing_rule_lru_cache_ttl": "metrics go to the first address that is connected, so nothing is cached",
    "routing_label_keys": "metrics go to the first address that is connected, whatever their labels are",
}
#: Keys of kafka-client with the same meaning in Kafka's Java client.
_KAFKA_KEYS = {
    "client_id": "client.id",
    "max_message_bytes": "max.request.size",
    "producer_max_retry": "retries",
    "retry_backoff": "retry.backoff.ms",
}
_KAFKA_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
#: Go's durations that are durations here, too.
_DURATION = re.compile(r"\d+(ms|s|m|h)")
#: Queues without a file.
MEMORY_QUEUES = ("memory-queue", "none-queue")
#: Options of mmap-queue that have the same meaning here.
QUEUE_KEYS = (
    "segment_size",
    "max_in_mem_segments",
    "queue_capacity_segments",
    "flush_period",
    "flush_ceiling_num",
    "max_event_size",
)
FALLBACKERS = ("none-fallbacker", "timer-fallbacker")


@dataclass
class Part:
    """A server or sender of a pipeline.

    Attributes:
        name: Its plugin's name in Satellite.
        options: Its options here.
        warnings: Keys of Satellite that are left out, with words.
        line: Of it in the file.
    """

    name: str
    options: dict[str, Any]
    warnings: list[tuple[str, str]] = field(default_factory=list)
    line: int = 1


def server_of(name: str, options: dict[str, Any]) -> Part | None:
    """The server for one of Satellite's `sharing.servers`; None if it has no counterpart."""
    if name == "http-server":
        listen = str(options.get("address") or ":12800")
        return Part(name, {"name": name, "type": "http", "listen": listen, "max_message_size": 4 << 20})
    if name != "grpc-server":
        return None
    limit = options.get("accept_limit")
    limit = limit if isinstance(limit, dict) else {}
    made = {
        "name": name,
        "type": "grpc",
        "listen": str(options.get("address") or ":11800"),
        "max_message_size": options.get("max_recv_msg_size") or 2 << 20,
        "max_connections": limit.get("connection_count") or 4000,
    }
    warnings = []
    certificate, key = options.get("tls_cert_file"), options.get("tls_key_file")
    if certificate and key:
        made["tls"] = {"certificate": str(certificate), "key": str(key)}
    elif certificate or key:
        only = "tls_cert_file" if certificate else "tls_key_file"
        warnings.append((only, "TLS needs tls_cert_file and tls_key_file; the server speaks plain text"))
    if "cpu_utilization" in limit:
        warnings.append(
            ("accept_limit.cpu_utilization", "a limit by CPU is not supported; a full queue refuses clients")
        )
    if "max_concurrent_streams" in options:
        warnings.append(("max_concurrent_streams", "a limit of streams is not supported; it is left out"))
    if options.get("network", "tcp") != "tcp":
        warnings.append(("network", "servers listen only on TCP addresses"))
    return Part(name, made, warnings)


def receiver_of(plugin: str, options: dict[str, Any]) -> Part | None:
    """The receiver for one of Satellite's, without its server and backend; None if it has no counterpart."""
    native = _RECEIVER.fullmatch(plugin)
    if native is not None:
        made: dict[str, Any] = {"type": "skywalking", "signals": [_SIGNALS[native[1]]]}
        words = "an open stream is pushed each second, and before a part has 1 MiB; this is left out"
        return Part(plugin, made, [(key, words) for key in ("flush_time", "limit_count") if key in options])
    if plugin == "grpc-otlp-metrics-v1-receiver":
        return Part(plugin, {"type": "otlp", "signals": ["metrics"]})
    if plugin in ("http-native-log-receiver", "http-log-receiver"):
        return Part(plugin, {"type": "http", "path": str(options.get("uri") or "/logging")})
    return None


def asks(receiver: dict[str, Any]) -> bool:
    """Whether a receiver takes calls that the backend answers."""
    return not _ASKING.isdisjoint(receiver.get("signals", ()))


def only_asks(receiver: dict[str, Any]) -> bool:
    """Whether a receiver takes no data, so that nothing can be sent later."""
    return _ONLY_ASKING.issuperset(receiver.get("signals", ("other",)))


def client_of(client: dict[str, Any]) -> Part:
    """The keys of a sender or backend for a client of type grpc-client."""
    made: dict[str, Any] = {"endpoint": str(client.get("server_addr") or "localhost:11800")}
    warnings = []
    if client.get("enable_tls") is True:
        names = {"ca": "ca_pem_path", "certificate": "client_pem_path", "key": "client_key_path"}
        made["tls"] = {key: str(client[name]) for key, name in names.items() if client.get(name)}
        if client.get("insecure_skip_verify", True):
            warnings.append(("enable_tls", "certificates of servers are always verified"))
    if client.get("authentication"):
        made["headers"] = {"authentication": str(client["authentication"])}
    return Part("grpc-client", made, warnings)


def timeout_of(client: dict[str, Any], kind: str, default: str) -> str:
    """The time for a call, `unary` or `stream`."""
    limits = client.get("timeout")
    given = str(limits.get(kind, default)) if isinstance(limits, dict) else default
    return given if _DURATION.fullmatch(given) else default


def sends(sender: dict[str, Any], receiver: dict[str, Any]) -> bool:
    """Whether a sender can send what a receiver takes."""
    return receiver["type"] == sender["type"] or (sender["type"] == "spark" and receiver.get("signals") == ["logs"])


def _kafka_sender(plugin: str, options: dict[str, Any], client: dict[str, Any]) -> Part:
    settings: dict[str, Any] = {
        f"kafka.{key}": str(client[name]) for name, key in _KAFKA_KEYS.items() if client.get(name) not in (None, "")
    }
    settings["kafka.bootstrap.servers"] = str(client.get("brokers") or "localhost:9092")
    settings["topic"] = str(options.get("topic") or "log-topic")
    warnings = [("plugin_name", "Spark needs its data source of Kafka, spark-sql-kafka-0-10, on its class path")]
    if "required_acks" in client:
        settings["kafka.acks"] = {0: "0", 1: "1"}.get(client["required_acks"], "all")
    codec = client.get("compression_codec")
    if isinstance(codec, int) and 0 < codec < len(_KAFKA_CODECS):
        settings["kafka.compression.type"] = _KAFKA_CODECS[codec]
    if client.get("idempotent_writes") is True:
        settings["kafka.enable.idempotence"] = "true"
    if client.get("enable_TLS", client.get("enable_tls")) is True:
        settings["kafka.security.protocol"] = "SSL"
        if client.get("ca_pem_path"):
            settings["kafka.ssl.truststore.type"] = "PEM"
            settings["kafka.ssl.truststore.location"] = str(client["ca_pem_path"])
        if client.get("client_pem_path"):
            words = "the client has no certificate: Kafka's client of Java needs key and chain in one file"
            warnings.append(("plugin_name", words))
    made = {
        "type": "spark",
        "name": "kafka",
        "format": "kafka",
        # A message is one LogData, as the OAP's fetcher of Kafka expects.
        "select": ["explode(mmapqueue_events.skywalking_logs(data)) AS value"],
        "options": settings,
    }
    return Part(plugin, made, warnings)


def forwarder_of(plugin: str, options: dict[str, Any], client: dict[str, Any]) -> Part | None:
    """The sender for one of Satellite's forwarders with its client; None if it has no counterpart."""
    if _FORWARDER.fullmatch(plugin):
        made: dict[str, Any] = {"type": "skywalking", "name": "skywalking"}
    elif plugin == "otlp-metrics-v1-grpc-forwarder":
        made = {"type": "otlp", "name": "otlp"}
    elif _KAFKA_FORWARDER.fullmatch(plugin):
        return _kafka_sender(plugin, options, client)
    else:
        return None
    part = client_of(client)
    made |= part.options | {"retry": {"timeout": timeout_of(client, "stream", "20s")}}
    warnings = [(key, words) for key, words in _FORWARDER_KEYS.items() if key in options]
    return Part(plugin, made, warnings)
