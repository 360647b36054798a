"""Makes the pictures of docs/howto/dead-letters.md: `mmapqueue top` and the page of a collector, in a run with faults.

`make collector-pictures` writes collector-top.svg and collector-page.png into docs/images. One receiver refuses some
requests, another one is down, and some clients send what cannot be decoded, or the same again. Needs Chromium, as
`make spark-ui` does.
"""

import http.server
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from record_session import shown, write
from record_spark_ui import browser, take
from rich.text import Text

from mmapqueue.pipeline._watching import OK, WatchedPipeline
from mmapqueue.pipeline.config import load as load_configuration

_CONFIG = """\
name: shop
telemetry: {{listen: "127.0.0.1:{telemetry}"}}
servers: [{{name: web, type: http, listen: "127.0.0.1:{web}"}}]
spark: {{master: "local[2]"}}
pipes:
  - name: orders
    queue: {{dir: queue/orders, capacity: 64m}}
    receivers: [{{type: http, server: web, path: /orders, id_header: idempotency-key}}]
    senders:
      - {{type: http, name: billing, url: "http://127.0.0.1:{receiver}/orders"}}
      - {{type: http, name: search, url: "http://127.0.0.1:{down}/"}}
  - name: logs
    queue: {{dir: queue/logs, capacity: 64m}}
    receivers: [{{type: otlp, server: web}}, {{type: http, server: web, path: /raw}}]
    filters: [{{type: explode, rows: logs}}]
    senders:
      - {{type: spark, name: archive, format: parquet, options: {{path: out}}}}
"""
#: Seconds after which a run without the expected faults is given up.
_SECONDS = 240.0
#: Seconds of `top`, which starts, and then samples; and between two samples of the page.
_SAMPLING = 16.0
_COLUMNS = 130
_LOGS = b'{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "an order"}}]}]}]}'


class Billing(http.server.BaseHTTPRequestHandler):
    """Refuses orders whose number has a 37."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answers."""
        refused = b"37" in self.rfile.read(int(self.headers["Content-Length"]))
        body = b"the order has no customer" if refused else b""
        self.send_response(422 if refused else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def ports(count: int) -> list[int]:
    """Numbers of free ports, one after the other: gather's telemetry, and that of process after it."""
    while True:
        first = 0
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            first = found.getsockname()[1]
        try:
            sockets = [socket.create_server(("127.0.0.1", first + index)) for index in range(count)]
        except OSError:
            continue
        for each in sockets:
            each.close()
        return list(range(first, first + count))


def send(url: str, body: bytes, **headers: str) -> None:
    """Sends a request; its answer is of no interest."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        error.close()


def load(web: int, stop: threading.Event) -> None:
    """Sends orders, each 20th of them twice, and logs, some of which cannot be decoded."""
    number = 0
    while not stop.wait(0.004):
        number += 1
        order = b'{"order": %d}' % number
        key = {"Content-Type": "application/json", "Idempotency-Key": f"order-{number}"}
        for _ in range(2 if number % 20 == 0 else 1):
            send(f"http://127.0.0.1:{web}/orders", order, **key)
        body = b"no logs" if number % 100 == 0 else _LOGS
        send(f"http://127.0.0.1:{web}/v1/logs", body, **{"Content-Type": "application/json"})
        if number % 50 == 0:
            send(f"http://127.0.0.1:{web}/raw", b"\xff\xfe", **{"Content-Type": "application/octet-stream"})


def wait_for_faults() -> None:
    """Waits until each sender has done what the pictures are to show."""
    watched = WatchedPipeline("shop.yaml", load_configuration("shop.yaml"))
    deadline = time.monotonic() + _SECONDS
    while True:
        watched.sample()
        rows = {f"{row.pipe}.{row.sender}": row for row in watched.rows()}
        billing, search, undecodable = (
            rows.get(name) for name in ("orders.billing", "orders.search", "logs.dead_letter")
        )
        found = [
            billing and billing.dead_letters,
            search and search.state != OK,
            undecodable and undecodable.dead_letters,
        ]
        if all(found):
            return
        if time.monotonic() > deadline:
            raise SystemExit(f"the run has not shown all faults: {rows}")
        time.sleep(1)


def main() -> None:
    """Writes both pictures into the directory that is given."""
    images = Path(sys.argv[1]).resolve()
    browser()
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Billing)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    telemetry, _, web, down = ports(4)
    stop = threading.Event()
    client = threading.Thread(target=load, args=(web, stop))
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        names: dict[str, Any] = {"telemetry": telemetry, "web": web, "down": down, "receiver": receiver.server_port}
        Path("shop.yaml").write_text(_CONFIG.format(**names))
        command = [sys.executable, "-m", "mmapqueue", "run", "shop.yaml", "--log-level", "error"]
        collector = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            assert collector.stdout is not None
            collector.stdout.readline()
            client.start()
            wait_for_faults()
            words = ["mmapqueue", "top", "shop.yaml"]
            frames = shown(words, until=lambda begin: time.monotonic() - begin > _SAMPLING, columns=_COLUMNS).split(
                "\x1b[H"
            )
            write(images / "collector-top.svg", Text.from_ansi(frames[-2].rstrip()), " ".join(words), columns=_COLUMNS)
            page = f"http://127.0.0.1:{telemetry + 1}/"
            with urllib.request.urlopen(page) as first:  # rates count from the previous sample
                first.read()
            time.sleep(_SAMPLING)
            take(page, images / "collector-page.png", 1280, 480, millis=1000, colours=256)
        finally:
            stop.set()
            if client.ident is not None:
                client.join()
            collector.send_signal(signal.SIGTERM)
            collector.wait()
            receiver.shutdown()


if __name__ == "__main__":
    main()
