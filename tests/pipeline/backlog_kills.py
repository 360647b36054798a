"""Sends a backlog over HTTP while `mmapqueue process` is killed again and again; counts what is sent twice.

    python backlog_kills.py <records> [--every SECONDS] [--pause SECONDS]

The receiver takes each request after a pause, and counts records by the offsets in its idempotency key.
"""

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

import mmapqueue
from mmapqueue.pipeline import EventType, encode

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "log_pipeline"))

from pipeline.kill_loop import SPARK
from services import Service


class Counter:
    """A receiver that counts the records that it has answered, or would have answered.

    Attributes:
        taken: Records of requests that have arrived completely, repetitions included.
        distinct: The same without repetitions.
        began: When the first request arrived since this was None.
    """

    def __init__(self, pause: float) -> None:
        self.taken = 0
        self.distinct = 0
        self.began: float | None = None
        self._pause = pause
        self._keys: set[str] = set()
        self._lock = threading.Lock()

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Runs the server; yields its URL."""
        counter = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                counter.take(self.headers["Idempotency-Key"])
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                pass  # a client was killed

        server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            server.server_close()

    def take(self, key: str) -> None:
        """Takes a request."""
        self.began = self.began or time.monotonic()
        time.sleep(self._pause)  # the receiver's work
        first, end = map(int, key.rpartition("/")[2].split("-"))
        with self._lock:
            self.taken += end - first
            if key not in self._keys:
                self._keys.add(key)
                self.distinct += end - first


def fill(directory: Path, records: int) -> None:
    """Pushes a backlog of events of some 100 bytes."""
    with mmapqueue.Queue(directory, capacity="1g") as queue:
        for first in range(0, records, 10_000):
            queue.push_many(
                [
                    encode(
                        type=EventType.LOGGING, data=b"%010d" % number * 8, content_type="text/plain", time_ms=number
                    )
                    for number in range(first, min(first + 10_000, records))
                ]
            )


def run(records: int, directory: Path, *, every: float, pause: float) -> dict[str, object]:
    """Sends a backlog, with a kill so many seconds after the first request of each run. Returns figures.

    Raises:
        AssertionError: A record was not sent.
    """
    fill(directory / "queue", records)
    (directory / "logs").mkdir()
    counter = Counter(pause)
    kills = 0
    with counter.serving() as url:
        sender = {"type": "http", "name": "backend", "url": url, "body": "ndjson"}
        pipe = {"name": "logs", "queue": {"dir": str(directory / "queue"), "capacity": "1g"}, "senders": [sender]}
        spark = {"master": "local[2]", "conf": SPARK}
        config = directory / "pipeline.yaml"
        config.write_text(yaml.safe_dump({"name": "backlog", "spark": spark, "pipes": [pipe]}))
        process = Service("process", [sys.executable, "-m", "mmapqueue", "process", str(config)], directory / "logs")
        began = time.monotonic()
        try:
            process.start()
            while counter.distinct < records:
                process.ended()
                time.sleep(0.01)
                if counter.began is not None and time.monotonic() >= counter.began + every:
                    process.kill()
                    kills += 1
                    counter.began = None
                    process.start()
        finally:
            process.kill()
    assert counter.distinct == records, f"{counter.distinct} of {records} records were sent"
    repeated = counter.taken - records
    return {
        "records": records,
        "kills": kills,
        "repeated": repeated,
        "repeated, in percent": round(100 * repeated / records, 3),
        "seconds": round(time.monotonic() - began),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("records", type=int)
    parser.add_argument("--every", type=float, default=20.0, help="seconds from the first request of a run to its kill")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds that the receiver takes for a request")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="backlog-kill-") as directory:
        figures = run(arguments.records, Path(directory), every=arguments.every, pause=arguments.pause)
        print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
