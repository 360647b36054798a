"""Two real queues at work, and a real Prometheus that scrapes them twice: in their process, and beside it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, start_http_server

import mmapqueue

MONITORING = Path(__file__).parents[2] / "monitoring"
RULES = MONITORING / "rules.yml"
DASHBOARD = MONITORING / "grafana-dashboard.json"

#: Where prometheus and promtool are: `make test-monitoring` sets it.
PROGRAMS = os.environ.get("PROMETHEUS")

_RING: mmapqueue.Configuration = {
    "segment_size": "64k",
    "queue_capacity_segments": 16,
    "max_event_size": 8000,
    "flush_period": "200ms",
}


class Load:
    """Pushes, pops, acks, negative acknowledgements, dead letters, drops, waits for room: all that metrics count.

    Args:
        directory: Where the queues are made: `events`, with a consumer that reads nothing, and `orders`, which is full.
    """

    def __init__(self, directory: Path) -> None:
        events: mmapqueue.Configuration = {**_RING, "max_consumer_lag": 512 << 10}
        orders: mmapqueue.Configuration = {**_RING, "max_attempts": 2, "dead_letter_dir": directory / "dead"}
        self.events = mmapqueue.Queue(directory / "events", **events)
        self.orders = mmapqueue.Queue(directory / "orders", **orders)
        self.events.create_consumer("slow")
        self.orders.create_consumer("default")
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=each, name=each.__name__) for each in (self._stream, self._push, self._handle)
        ]
        for thread in self._threads:
            thread.start()

    def _stream(self) -> None:
        wave = 0
        while not self._stopped.wait(0.05):
            wave = (wave + 1) % 200
            self.events.push_many([b"e" * 300] * (5 + wave // 10))
            if wave < 150:  # Then it lags for a while.
                for message in self.events.pop_many(1000):
                    message.ack()

    def _push(self) -> None:
        while not self._stopped.is_set():
            with contextlib.suppress(mmapqueue.Full):
                self.orders.push(b"o" * 2000, timeout=0.5)

    def _handle(self) -> None:
        while not self._stopped.wait(0.02):
            for message in self.orders.pop_many(20):
                if message.offset % 250 == 0:
                    message.nack()
                else:
                    message.ack()

    def close(self) -> None:
        """Ends the threads, and closes the queues."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        self.events.close()
        self.orders.close()


@contextlib.contextmanager
def served(*queues: mmapqueue.Queue[Any]) -> Iterator[str]:
    """Serves the metrics of open queues with prometheus-client; its address."""
    registry = CollectorRegistry()
    registry.register(mmapqueue.MetricsCollector(*queues))
    server, thread = start_http_server(0, "127.0.0.1", registry)
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def exported(*directories: Path | str) -> Iterator[str]:
    """Runs `mmapqueue exporter`; its address."""
    command = [sys.executable, "-m", "mmapqueue", "exporter", *map(str, directories), "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ready = process.stdout.readline()
            assert ready.startswith("ready: http://"), ready
            yield ready.split("/")[2]
        finally:
            process.terminate()
            assert process.wait(60) == 0


class Prometheus:
    """A Prometheus that scrapes each second, with the alert rules.

    Args:
        directory: For its configuration and data.
        targets: Addresses by the name of their job.
    """

    def __init__(self, directory: Path, targets: dict[str, str]) -> None:
        assert PROGRAMS is not None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        jobs = [{"job_name": name, "static_configs": [{"targets": [target]}]} for name, target in targets.items()]
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": jobs,
        }
        directory.mkdir()
        file = directory / "prometheus.yml"
        file.write_text(json.dumps(config))  # JSON is YAML.
        self._log = (directory / "log").open("w+")
        self._process = subprocess.Popen(
            [
                str(Path(PROGRAMS) / "prometheus"),
                f"--config.file={file}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{self._port}",
            ],
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    def api(self, path: str, **parameters: object) -> Any:
        """The data of an answer of the HTTP API; an invalid query raises."""
        url = f"http://127.0.0.1:{self._port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                found = json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{parameters}: {error.read().decode()}") from None
        assert found["status"] == "success", found
        return found["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The samples of an expression now."""
        return list(self.api("query", query=expression)["result"])

    def range(self, expression: str, seconds: float) -> list[dict[str, Any]]:
        """The samples of an expression over the last seconds, one a second."""
        now = time.time()
        return list(self.api("query_range", query=expression, start=now - seconds, end=now, step=1)["result"])

    def await_ready(self) -> None:
        """Returns when it answers."""
        deadline = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/-/ready", timeout=60):
                    return
            except (urllib.error.URLError, ConnectionError) as error:
                if isinstance(error, urllib.error.HTTPError):
                    error.close()
                self._log.seek(0)
                assert self._process.poll() is None, self._log.read()
                assert time.monotonic() < deadline, "it does not answer"
                time.sleep(0.1)

    def close(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.wait(60)
        self._log.close()


@contextlib.contextmanager
def at_work(directory: Path) -> Iterator[Prometheus]:
    """The load, both ways of serving it, and the Prometheus that scrapes them: jobs `app` and `exporter`."""
    with contextlib.ExitStack() as stack:
        load = Load(directory)
        stack.callback(load.close)
        app = stack.enter_context(served(load.events, load.orders))
        exporter = stack.enter_context(exported(load.events.path, load.orders.path, directory / "missing"))
        prometheus = Prometheus(directory / "prometheus", {"app": app, "exporter": exporter})
        stack.callback(prometheus.close)
        prometheus.await_ready()
        yield prometheus


def panels() -> list[dict[str, Any]]:
    """The panels of the dashboard that show something."""
    return [each for each in json.loads(DASHBOARD.read_text())["panels"] if each["type"] != "row"]


def filled_in(expression: str) -> str:
    """A query of the dashboard with values for its variables."""
    return expression.replace("$__rate_interval", "5s").replace('"$queue"', '".*"').replace('"$consumer"', '".*"')
