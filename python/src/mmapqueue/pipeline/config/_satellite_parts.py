"""Maps plugins of Apache SkyWalking Satellite to those of this package."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

#: Protocols of SkyWalking that can be received here, with their names as signals.
_SIGNALS = {
    "log": "logs",
    "tracing": "traces",
    "meter": "meters",
    "jvm": "jvm",
    "clr": "clr",
    "event": "events",
    "management": "management",
    "profile": "profile",
}
# Earlier versions wrote nativelog for native-log.
_RECEIVER = re.compile(rf"grpc-native-?({'|'.join(_SIGNALS)})-receiver")
_FORWARDER = re.compile(rf"native-?({'|'.join(_SIGNALS)})-grpc-forwarder")
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


def receiver_of(plugin: str, options: dict[str, Any]) -> dict[str, Any] | None:
    """The receiver for one of Satellite's, without its server; None if it has no counterpart."""
    native = _RECEIVER.fullmatch(plugin)
    if native is not None:
        return {"type": "skywalking", "signals": [_SIGNALS[native[1]]]}
    if plugin == "grpc-otlp-metrics-v1-receiver":
        return {"type": "otlp", "signals": ["metrics"]}
    if plugin in ("http-native-log-receiver", "http-log-receiver"):
        return {"type": "http", "path": str(options.get("uri") or "/logging")}
    return None


def forwarder_of(plugin: str, client: dict[str, Any]) -> Part | None:
    """The sender for one of Satellite's forwarders with a client of type grpc-client; None if it has no counterpart."""
    address = str(client.get("server_addr") or "localhost:11800")
    warnings = []
    if "," in address:
        warnings.append(("server_addr", "several addresses: the first one is used; a load balancer has one address"))
        address = address.split(",")[0].strip()
    if _FORWARDER.fullmatch(plugin):
        options: dict[str, Any] = {"type": "skywalking", "name": "skywalking", "endpoint": address}
    elif plugin == "otlp-metrics-v1-grpc-forwarder":
        options = {"type": "otlp", "name": "otlp", "endpoint": address}
    else:
        return None
    if client.get("enable_tls") is True:
        names = {"ca": "ca_pem_path", "certificate": "client_pem_path", "key": "client_key_path"}
        options["tls"] = {key: str(client[name]) for key, name in names.items() if client.get(name)}
        if client.get("insecure_skip_verify", True):
            warnings.append(("enable_tls", "certificates of servers are always verified"))
    if client.get("authentication"):
        options["headers"] = {"authentication": str(client["authentication"])}
    return Part(plugin, options, warnings)
