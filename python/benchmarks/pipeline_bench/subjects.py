"""The subjects: `mmapqueue gather`, bare servers, and the OpenTelemetry collector."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pipeline_bench.bare import LOG_ID
from pipeline_bench.processes import Server, free_port
from pipeline_bench.tools import COLLECTOR_VERSION, MissingError, Tools

#: Bytes of a request that every subject accepts.
_MAX_MESSAGE_MIB = 4


class Subject(ABC):
    """A server that accepts OTLP logs.

    Attributes:
        name: Name in the results.
        protocol: grpc or http.
        keeps: State of a request when it is answered.
    """

    name: str
    protocol: str
    keeps: str

    @abstractmethod
    def version(self) -> str:
        """Returns the version. Raises MissingError if it cannot be measured here."""

    @abstractmethod
    def start(self, directory: Path) -> Server:
        """Starts the server in an empty directory, or in that of a killed server."""


class Persistent(Subject):
    """A server that stores accepted logs in files."""

    @abstractmethod
    def kept(self, directory: Path) -> Iterator[str]:
        """The ids of all logs read from the directory of a killed server."""

    @abstractmethod
    def data(self, directory: Path) -> Path:
        """The directory of its files."""


@dataclass(frozen=True)
class Gather(Persistent):
    """`mmapqueue gather` with an OTLP receiver and a queue without consumers.

    Attributes:
        name: Name in the results.
        protocol: grpc or http.
        processes: Processes that share the port.
        capacity: Bytes of the queue.
        used: Whether the ring has gone round before and was emptied, as it is after the first days. The files of a new
            ring are filled with zeros ahead of the writer, which costs as much again as writing the events.
    """

    name: str
    protocol: str = "grpc"
    processes: int = 1
    capacity: int = 8 << 30
    used: bool = False
    keeps: str = "pushed to a queue: survives kill -9"

    def version(self) -> str:
        """The version of mmapqueue."""
        try:
            for module in ("pydantic", "grpc", "aiohttp"):
                if not find_spec(module):
                    raise MissingError(f"there is no {module}: install mmapqueue[pipeline]")
            return version("mmapqueue")
        except PackageNotFoundError as error:
            raise MissingError(str(error)) from None

    def start(self, directory: Path) -> Server:
        """Writes the configuration of the pipeline, and starts gather."""
        port = free_port()
        if self.used and not self.data(directory).exists():
            self._go_round(directory)
        file = directory / "pipeline.yaml"
        # JSON is YAML.
        file.write_text(json.dumps(self.configuration(directory, port), indent=1), encoding="utf-8")
        return Server([sys.executable, "-m", "mmapqueue", "gather", file], port, directory / "gather.log")

    def configuration(self, directory: Path, port: int) -> dict[str, object]:
        """The configuration of the pipeline."""
        queue = {"dir": str(self.data(directory).resolve()), **self._queue()}
        listen = f"127.0.0.1:{port}"
        server = {"name": "server", "type": self.protocol, "listen": listen, "max_message_size": _MAX_MESSAGE_MIB << 20}
        pipe = {"name": "logs", "queue": queue, "receivers": [{"type": "otlp", "server": "server"}], "ack": "pushed"}
        return {
            "name": "bench",
            "servers": [server],
            "gather": {"processes": self.processes},
            "pipes": [pipe],
        }

    def _queue(self) -> dict[str, Any]:
        return {"capacity": self.capacity // self.processes, "segment_size": 16 << 20, "max_event_size": 5 << 20}

    def _go_round(self, directory: Path) -> None:
        """Fills and drains the ring. Only for one process."""
        import mmapqueue

        records = [bytes(1 << 20)] * 16
        with mmapqueue.Queue(self.data(directory), **self._queue()) as queue:
            with contextlib.suppress(mmapqueue.Full):
                while True:
                    queue.push_many(records, block=False)
            # Without consumers the queue retains all records after the last consumer's position.
            queue.create_consumer("emptied", start="latest")
            queue.delete_consumer("emptied")
            queue.push_many(records, block=False)

    def data(self, directory: Path) -> Path:
        """The queue's directory."""
        return directory / "queue"

    def kept(self, directory: Path) -> Iterator[str]:
        """Reads the queue record by record."""
        import mmapqueue

        data = self.data(directory)
        for partition in sorted(data.glob("p=*")) or [data]:
            with mmapqueue.Queue(partition, lock_timeout=30) as queue:
                offset = queue.first_offset()
                while offset < queue.end_offset():
                    for message in queue.read_many(offset, 32):
                        yield from _ids(message.data)
                        offset = message.offset + 1


@dataclass(frozen=True)
class Bare(Subject):
    """A server of grpcio or aiohttp that answers at once.

    Attributes:
        name: Name in the results.
        protocol: grpc or http.
        kind: An argument of `pipeline_bench.bare`.
        package: The package of its server.
    """

    name: str
    protocol: str
    kind: str
    package: str
    keeps: str = "dropped"

    def version(self) -> str:
        """The version of its package."""
        try:
            return f"{version(self.package)}, Python {platform.python_version()}"
        except PackageNotFoundError as error:
            raise MissingError(str(error)) from None

    def start(self, directory: Path) -> Server:
        """Starts the server; the directory has its log alone."""
        port = free_port()
        return bare(self.kind, port, directory / "bare.log")


def bare(kind: str, port: int, log: Path, ids: Path | None = None) -> Server:
    """Starts a bare server, which writes the ids of logs to a file if one is given."""
    more: list[str | Path] = ["--ids", ids] if ids else []
    return Server([sys.executable, Path(__file__).with_name("bare.py"), kind, str(port), *more], port, log)


@dataclass(frozen=True)
class Collector(Persistent):
    """The OpenTelemetry collector: OTLP receiver, sending queue in file_storage, a destination that is down.

    Attributes:
        tools: Builds the binary.
        name: Name in the results.
        protocol: grpc or http.
    """

    tools: Tools
    name: str = "OpenTelemetry collector"
    protocol: str = "grpc"
    keeps: str = "written to its sending queue in file_storage, without fsync: survives kill -9"

    def version(self) -> str:
        """The version of the collector."""
        self.tools.collector()
        return COLLECTOR_VERSION

    def start(self, directory: Path) -> Server:
        """Starts the collector with a destination that refuses connections."""
        return self._start(directory, free_port())

    def _start(self, directory: Path, destination: int) -> Server:
        port = free_port()
        file = directory / "collector.yaml"
        file.write_text(json.dumps(self.configuration(directory, port, destination), indent=1), encoding="utf-8")
        return Server([self.tools.collector(), "--config", file], port, directory / "collector.log")

    def configuration(self, directory: Path, port: int, destination: int) -> dict[str, object]:
        """The configuration; the batches and the consumers of its sending queue are its defaults."""
        exporter = {
            "endpoint": f"127.0.0.1:{destination}",
            "tls": {"insecure": True},
            "sending_queue": {"storage": "file_storage", "queue_size": 1_000_000},
            "retry_on_failure": {"initial_interval": "1s", "max_interval": "5s", "max_elapsed_time": "0s"},
        }
        endpoint: dict[str, object] = {"endpoint": f"127.0.0.1:{port}"}
        if self.protocol == "grpc":
            endpoint["max_recv_msg_size_mib"] = _MAX_MESSAGE_MIB
        data = str(self.data(directory).resolve())
        return {
            "extensions": {"file_storage": {"directory": data, "create_directory": True}},
            "receivers": {"otlp": {"protocols": {self.protocol: endpoint}}},
            "exporters": {"otlp_grpc": exporter},
            "service": {
                "extensions": ["file_storage"],
                "telemetry": {"metrics": {"level": "none"}, "logs": {"level": "error"}},
                "pipelines": {"logs": {"receivers": ["otlp"], "exporters": ["otlp_grpc"]}},
            },
        }

    def data(self, directory: Path) -> Path:
        """The directory of file_storage."""
        return directory / "storage"

    def kept(self, directory: Path) -> Iterator[str]:
        """Restarts the collector with a destination that is up, until nothing arrives for five seconds."""
        ids = directory / "arrived"
        port = free_port()
        destination = bare("grpc-aio", port, directory / "destination.log", ids)
        destination.ready()
        collector = self._start(directory, port)
        try:
            collector.ready()
            quiet_since, size = time.monotonic(), -1
            while time.monotonic() < quiet_since + 5:
                time.sleep(0.25)
                if size != (size := ids.stat().st_size):
                    quiet_since = time.monotonic()
        finally:
            collector.stop()
            destination.kill()
        with ids.open("rb") as lines:
            yield from (os.fsdecode(line.rstrip()) for line in lines)


def _ids(payload: bytes) -> Iterator[str]:
    return (f"{request.decode()}-{log.decode()}" for request, log in LOG_ID.findall(payload))


def subjects(tools: Tools) -> list[Subject]:
    """All subjects, in the order of the tables."""
    return [
        Gather("mmapqueue gather"),
        Gather("mmapqueue gather, used ring", used=True),
        Gather("mmapqueue gather, 2 processes", processes=2),
        Bare("bare grpc.aio", "grpc", "grpc-aio", "grpcio"),
        Bare("bare grpcio threads", "grpc", "grpc-threads", "grpcio"),
        Collector(tools),
        Gather("mmapqueue gather, HTTP", "http"),
        Bare("bare aiohttp", "http", "aiohttp", "aiohttp"),
    ]
