"""Translates configurations of Apache SkyWalking Satellite into those of this package.

What exists here is taken over, pipe by pipe; all else becomes a warning with its line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from mmapqueue.pipeline.config._problems import Location, Problem, line_of
from mmapqueue.pipeline.config._satellite_parts import (
    FALLBACKERS,
    MEMORY_QUEUES,
    QUEUE_KEYS,
    Part,
    asks,
    client_of,
    forwarder_of,
    only_asks,
    receiver_of,
    sends,
    server_of,
    timeout_of,
)
from mmapqueue.pipeline.config._yaml import Document

#: The directory of queues without `queue_dir`, relative to the file: Satellite's default.
_DIRECTORY = "satellite-mmap-queue"
_ENVELOPE = 64 << 10
_MAX_EVENT = (1 << 27) - 1


@dataclass
class Translated:
    """A translated configuration, and the parts that were left out.

    Attributes:
        document: The data, with the lines of Satellite's file.
        warnings: Features that are missing here, or work differently.
        problems: Faults that prevent all of it from running.
    """

    document: Document
    warnings: list[Problem] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


@dataclass
class _Pipe:
    """A pipe that runs here."""

    name: str
    line: int
    server: Part
    receivers: list[dict[str, Any]]
    lines: dict[str, int]
    senders: list[dict[str, Any]] = field(default_factory=list)
    queue: dict[str, Any] = field(default_factory=dict)
    batch: dict[str, Any] = field(default_factory=dict)
    request: dict[str, Any] = field(default_factory=dict)
    retry: dict[str, Any] = field(default_factory=dict)


def translate(document: Document) -> Translated:
    """Translates a file; raises nothing."""
    return _Translation(document).run()


class _Translation:
    def __init__(self, document: Document) -> None:
        self.source = document
        self.result = Translated(Document(texts={}))
        self.servers: dict[str, Part] = {}
        self.clients: dict[str, dict[str, Any]] = {}
        self.pipes: list[_Pipe] = []
        self.telemetry: tuple[str, int] | None = None

    def run(self) -> Translated:
        data = self.source.data
        for key in data.keys() - {"logger", "telemetry", "sharing", "pipes"}:
            self.warn((key,), "unknown part of a Satellite configuration; it is left out")
        if "logger" in data:
            self.warn(("logger",), "is left out; `--log-level` sets the level, and logs go to stderr")
        self._telemetry(_mapping(data.get("telemetry")), ("telemetry",))
        self._sharing(_mapping(data.get("sharing")), ("sharing",))
        for number, pipe in enumerate(_list(data.get("pipes"))):
            self._pipe(_mapping(pipe), ("pipes", number))
        if not self.pipes:
            nothing = Problem((), "no part of this Satellite configuration can run here", 1)
            self.result.problems += [nothing, *self.result.warnings]
        self._finish()
        return self.result

    def warn(self, at: Location, words: str) -> None:
        self.result.warnings.append(Problem(at, words, line_of(at, self.source.lines)))

    # ---- parts that pipes share

    def _telemetry(self, options: dict[str, Any], at: Location) -> None:
        types = [each.strip() for each in str(options.get("export_type", "none")).split(",")]
        for each in types:
            if each not in ("prometheus", "none", ""):
                self.warn((*at, "export_type"), f"there is no export of telemetry as {each!r}; it is left out")
        labels = [each for each in ("cluster", "service", "instance") if each in options]
        if labels:
            self.warn((*at, labels[0]), f"{', '.join(labels)}: metrics have no such labels; Prometheus may add them")
        if "prometheus" in types:
            self._metrics(_mapping(options.get("prometheus")), (*at, "prometheus"))

    def _metrics(self, options: dict[str, Any], at: Location) -> None:
        self.telemetry = (_address(options.get("address", ":1234")), line_of((*at, "address"), self.source.lines))
        if options.get("endpoint", "/metrics") != "/metrics":
            self.warn((*at, "endpoint"), "metrics are served at /metrics")

    def _sharing(self, options: dict[str, Any], at: Location) -> None:
        for index, server in enumerate(_list(options.get("servers"))):
            self._server(_mapping(server), (*at, "servers", index))
        for index, client in enumerate(_list(options.get("clients"))):
            here = (*at, "clients", index)
            client = _mapping(client)
            name = str(client.get("plugin_name", ""))
            if name not in ("grpc-client", "kafka-client"):
                self.warn(here, f"there is no client {name!r}")
                continue
            if name == "kafka-client":
                self.clients[name] = client
                continue
            if client.get("finder_type", "static") != "static":
                self.warn((*here, "finder_type"), "addresses are static; a Kubernetes service has one name for all")
                continue
            self.clients[name] = client
            for key, words in client_of(client).warnings:
                self.warn((*here, key), words)

    def _server(self, options: dict[str, Any], at: Location) -> None:
        name = str(options.get("plugin_name", ""))
        if name == "prometheus-server":
            self._metrics(options, at)
            return
        part = server_of(name, options)
        if part is None:
            self.warn(at, f"there is no server {name!r}; it is left out")
            return
        part.options["listen"] = _address(part.options["listen"])
        part.line = line_of(at, self.source.lines)
        self.servers[name] = part
        for key, words in part.warnings:
            self.warn((*at, *key.split(".")), words)

    # ---- pipes

    def _pipe(self, pipe: dict[str, Any], at: Location) -> None:
        name = str(_mapping(pipe.get("common_config")).get("pipe_name", f"pipe-{at[-1]}"))
        gatherer, sender = _mapping(pipe.get("gatherer")), _mapping(pipe.get("sender"))
        if _list(_mapping(pipe.get("processor")).get("filters")):
            self.warn((*at, "processor", "filters"), "filters of Satellite are not supported; they are left out")
        receiver = self._receiver(name, gatherer, (*at, "gatherer"))
        if receiver is None:
            return
        forwarders = self._forwarders(name, sender, (*at, "sender"), receiver)
        if not forwarders:
            return
        if asks(receiver):
            client = self.clients[str(sender["client_name"])]
            backend = {**client_of(client).options, "timeout": timeout_of(client, "unary", "5s")}
            receiver = {**receiver, "backend": backend}
        server = self.servers[str(gatherer["server_name"])]
        group = _Pipe(
            name=name,
            line=line_of(at, self.source.lines),
            server=server,
            receivers=[receiver],
            lines={
                "receivers": line_of((*at, "gatherer", "receiver"), self.source.lines),
                "queue": line_of((*at, "gatherer", "queue"), self.source.lines),
                "senders": line_of((*at, "sender"), self.source.lines),
            },
        )
        queue_at = (*at, "gatherer", "queue")
        if only_asks(receiver):
            group.queue = {"dir": f"{_DIRECTORY}/{name}"}
            self.warn(
                queue_at, f"the queue of pipe {name} stays empty, in {group.queue['dir']}: its calls are passed on"
            )
        else:
            group.senders = forwarders
            group.queue = self._queue(name, gatherer, server, queue_at)
            group.batch = self._batch(sender, (*at, "sender"))
            group.request = {"request": {"max_records": _number(sender.get("max_buffer_size"), 200)}}
            group.retry = self._fallbacker(_mapping(sender.get("fallbacker")), (*at, "sender", "fallbacker"))
        self.pipes.append(group)

    def _receiver(self, pipe: str, gatherer: dict[str, Any], at: Location) -> dict[str, Any] | None:
        if "fetcher" in gatherer:
            self.warn((*at, "fetcher"), f"the pipe {pipe} is left out: fetchers of Satellite are not supported")
            return None
        options = _mapping(gatherer.get("receiver"))
        plugin = str(options.get("plugin_name", ""))
        part = receiver_of(plugin, options)
        server = str(gatherer.get("server_name", ""))
        if part is None:
            self.warn((*at, "receiver"), f"the pipe {pipe} is left out: there is no receiver {plugin!r}")
            return None
        if server not in self.servers:
            self.warn((*at, "server_name"), f"the pipe {pipe} is left out: there is no server {server!r}")
            return None
        for key, words in part.warnings:
            self.warn((*at, "receiver", key), words)
        return {**part.options, "server": server}

    def _forwarders(
        self, pipe: str, sender: dict[str, Any], at: Location, receiver: dict[str, Any]
    ) -> list[dict[str, Any]]:
        client_name = str(sender.get("client_name", ""))
        client = self.clients.get(client_name)
        senders: list[dict[str, Any]] = []
        missing: list[tuple[Location, str]] = []
        for index, each in enumerate(_list(sender.get("forwarders"))):
            here = (*at, "forwarders", index)
            plugin = str(_mapping(each).get("plugin_name", ""))
            made = forwarder_of(plugin, _mapping(each), client or {})
            needed = "kafka-client" if "kafka" in plugin else "grpc-client"
            if made is None:
                missing.append((here, f"there is no forwarder {plugin!r}"))
            elif client is None or client_name != needed:
                missing.append((here, f"the forwarder {plugin!r} needs a {needed}, and has {client_name!r}"))
            elif not sends(made.options, receiver):
                missing.append(
                    (here, f"the forwarder {plugin!r} cannot send the events of the receiver ({receiver['type']})")
                )
            else:
                for key, words in made.warnings:
                    self.warn((*here, key), words)
                if made.options not in senders:
                    senders.append(made.options)
        for here, words in missing:
            self.warn(here, f"{words}; it is left out" if senders else f"the pipe {pipe} is left out: {words}")
        if not (senders or missing):
            self.warn((*at, "forwarders"), f"the pipe {pipe} is left out: it has no forwarder")
        return senders

    def _queue(self, pipe: str, gatherer: dict[str, Any], server: Part, at: Location) -> dict[str, Any]:
        options = _mapping(gatherer.get("queue"))
        plugin = str(options.get("plugin_name", ""))
        needed = int(server.options["max_message_size"]) + _ENVELOPE
        queue: dict[str, Any] = {"dir": str(options.get("queue_dir") or f"{_DIRECTORY}/{pipe}")}
        if plugin == "mmap-queue":
            queue.update({key: options[key] for key in QUEUE_KEYS if isinstance(options.get(key), int)})
            if "flush_period" in queue:
                queue["flush_period"] = f"{queue['flush_period']}ms"
            if queue.get("max_event_size", needed) < needed:
                words = f"{queue['max_event_size']} is raised to {needed}: a message of the server may be as large"
                self.warn((*at, "max_event_size"), words)
                queue["max_event_size"] = needed
            self._fit(queue, at)
        elif plugin in MEMORY_QUEUES:
            self.warn(at, f"the {plugin} of pipe {pipe} becomes a queue on disk, in {queue['dir']}")
        else:
            self.warn(at, f"there is no queue {plugin!r}; pipe {pipe} gets a queue on disk, in {queue['dir']}")
        queue.setdefault("max_event_size", min(max(needed, 5 << 20), _MAX_EVENT))
        if isinstance(options.get("partition"), int) and options["partition"] > 1:
            words = "a queue has one partition for each process of `gather: {processes: …}`; this is left out"
            self.warn((*at, "partition"), words)
        return queue

    def _fit(self, queue: dict[str, Any], at: Location) -> None:
        """Chooses segments into which the largest event fits."""
        size = queue.get("segment_size", 262_144)
        if size < 4096:
            self.warn((*at, "segment_size"), f"{size} is raised to 4096")
        size = max(4096, -(-size // 4096) * 4096)
        queue["segment_size"] = size
        least = -(-(queue.get("max_event_size", 5 << 20) + 23) // (size - 64)) + 1
        count = queue.setdefault("queue_capacity_segments", 2000)
        if count < least:
            self.warn((*at, "queue_capacity_segments"), f"{count} is raised to {least}, so that an event fits")
            queue["queue_capacity_segments"] = least

    def _batch(self, sender: dict[str, Any], at: Location) -> dict[str, Any]:
        batch: dict[str, Any] = {"interval": f"{_number(sender.get('flush_time'), 1000)}ms"}
        least = _number(sender.get("min_flush_events"), 1)
        if least > 1:
            batch["min_records"] = least
            self.warn((*at, "min_flush_events"), "fewer records wait for at most 1 minute, not without limit")
        return batch

    def _fallbacker(self, options: dict[str, Any], at: Location) -> dict[str, Any]:
        plugin = str(options.get("plugin_name", "none-fallbacker"))
        if plugin not in FALLBACKERS:
            self.warn(at, f"there is no fallbacker {plugin!r}; failed requests are retried without limit")
        elif plugin == "none-fallbacker":
            if options:
                self.warn(at, "failed requests are not dropped, but retried without limit (`then: block`)")
        else:
            self.warn(at, "failed requests go to a dead-letter queue, and are not dropped")
            first = _number(options.get("exponential_backoff"), 2000)
            most = max(first, _number(options.get("max_backoff"), 5000))  # Satellite takes any two.
            return {
                "max_attempts": _number(options.get("max_attempts"), 3),
                "backoff": {"first": f"{first}ms", "most": f"{most}ms"},
                "then": "dead_letter",
            }
        return {}

    # ---- the result

    def _finish(self) -> None:
        used = {each.server.name for each in self.pipes}
        document = self.result.document
        lines = document.lines
        servers = [each for each in self.servers.values() if each.name in used]
        for index, each in enumerate(servers):
            lines["servers", index] = each.line
        for name in sorted(self.servers.keys() - used):
            words = f"no pipe uses the server {name!r}; it is left out"
            self.result.warnings.append(Problem(("sharing", "servers"), words, self.servers[name].line))
        document.data = {"servers": [each.options for each in servers], "pipes": []}
        if self.telemetry is not None:
            document.data["telemetry"] = {"listen": self.telemetry[0]}
            lines["telemetry",] = self.telemetry[1]
        for number, group in enumerate(self.pipes):
            lines["pipes", number] = group.line
            lines.update({("pipes", number, key): line for key, line in group.lines.items()})
            document.data["pipes"].append(self._made(group))

    def _made(self, group: _Pipe) -> dict[str, Any]:
        pipe: dict[str, Any] = {
            "name": re.sub(r"[^A-Za-z0-9_.-]", "-", group.name).lstrip(".-") or "pipe",
            "queue": group.queue,
            "receivers": group.receivers,
            "senders": [
                {
                    **each,
                    **({"retry": {**each["retry"], **group.retry}} if "retry" in each else {}),
                    **(group.request if each["type"] == "skywalking" else {}),
                    "batch": group.batch,
                }
                for each in group.senders
            ],
        }
        if group.retry:
            pipe["dead_letter"] = {"dir": f"{group.queue['dir']}.dead"}
        return pipe


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default


def _address(value: Any) -> str:
    """Go's ":11800" listens at all addresses."""
    text = str(value)
    return f"0.0.0.0{text}" if text.startswith(":") else text
