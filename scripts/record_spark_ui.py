"""Makes the pictures of docs/howto/watch-spark.md: Spark's web UI in a real browser, beside a running query.

`make spark-ui` writes spark-sql.png and spark-streaming.png into docs/images, and prints the progress of the query.
It needs Chromium, or a browser with the same options: Debian's package chromium, or CHROMIUM=/path/to/chrome.
"""

import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

from PIL import Image
from pyspark.sql import SparkSession

import mmapqueue

#: The most that a picture of the documentation takes.
MOST_BYTES = 150_000
#: Colours of a picture: text on a plain ground needs few.
COLOURS = 32
PARTITIONS = 3
#: Micro-batches before the pictures.
BATCHES = 20


#: What a user clicks on the page of a query: the metrics in the nodes, and the details below.
CLICKS = b"""<script>
localStorage.setItem("detailed-labels-checked", "true");
addEventListener("load", () => setTimeout(() => {
  if (window.clickPhysicalPlanDetails) clickPhysicalPlanDetails();
}, 2000));
</script>"""


class Clicking(http.server.BaseHTTPRequestHandler):
    """Passes on the pages of a web server, with `CLICKS` in each: a browser without a window has no other hand."""

    target = ""

    def do_GET(self) -> None:
        """Answers with what the other server answers."""
        with urllib.request.urlopen(self.target + self.path) as answer:
            kind, content = answer.headers.get_content_type(), answer.read()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(content.replace(b"</head>", CLICKS + b"</head>", 1) if kind == "text/html" else content)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def browser() -> str:
    """The browser's program."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not found:
        sys.exit(
            "no browser: run `apt-get install --no-install-recommends chromium fonts-dejavu-core`, or set CHROMIUM"
        )
    return found


def take(url: str, picture: Path, width: int, height: int, millis: int = 15000, colours: int = COLOURS) -> None:
    """Takes a picture of a page after a time, and reduces its colours."""
    with tempfile.TemporaryDirectory() as profile:
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}"]
        size = [f"--window-size={width},{height}", f"--virtual-time-budget={millis}", f"--screenshot={picture}"]
        subprocess.run([browser(), *options, *size, url], check=True, stderr=subprocess.DEVNULL, timeout=120)
    with Image.open(picture) as taken:
        taken.convert("RGB").quantize(colours, dither=Image.Dither.NONE).save(picture, optimize=True)
    if picture.stat().st_size > MOST_BYTES:
        sys.exit(f"{picture} has {picture.stat().st_size} bytes; allowed: {MOST_BYTES}")


def push(spark: SparkSession, path: Path, stop: threading.Event) -> None:
    """Pushes more than the query reads, most of it into partition 1."""
    queues = [mmapqueue.Queue(path / f"p={i}", spark=spark) for i in range(PARTITIONS)]
    try:
        while not stop.wait(0.1):
            for partition, queue in enumerate(queues):
                queue.push_many([b"a line of a log, with some words"] * (150 if partition == 1 else 20))
    finally:
        for queue in queues:
            queue.close()


def consume(spark: SparkSession, path: Path, stop: threading.Event) -> None:
    """Acks what the sink has written, too slowly for it."""
    with mmapqueue.Queue(path, spark=spark) as queue, queue.consumer("slow") as consumer:
        while not stop.wait(0.3):
            messages = consumer.pop_many(120, timeout=0.1)
            if messages:
                consumer.ack_up_to(messages[-1])


def micro_batch(spark: SparkSession) -> int:
    """The number of the newest micro-batch in the SQL tab that shows metrics."""
    store = spark._jsparkSession.sharedState().statusStore()
    executions = store.executionsList().iterator()
    ended = []
    while executions.hasNext():
        execution = executions.next()
        if execution.completionTime().isDefined() and execution.stages().size() > 0:
            ended.append(int(execution.executionId()))
    return max(ended)


def record(directory: Path, base: Path) -> None:
    """Runs the query below a directory, and takes both pictures."""
    builder = SparkSession.builder.master("local[2]").appName("watch").config("spark.ui.showConsoleProgress", False)
    spark = mmapqueue.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    events, loud = base / "events", base / "loud"
    for partition in range(PARTITIONS):
        mmapqueue.Queue(events / f"p={partition}", spark=spark, capacity="64m").close()
    with mmapqueue.Queue(loud, spark=spark, capacity="128k", segment_size="8k", max_event_size=2000) as queue:
        queue.create_consumer("slow")
    stop = threading.Event()
    threads = [
        threading.Thread(target=push, args=(spark, events, stop)),
        threading.Thread(target=consume, args=(spark, loud, stop)),
    ]
    for thread in threads:
        thread.start()
    rows = mmapqueue.read_stream(events, spark=spark, max_offsets_per_trigger=600)
    loudest = rows.selectExpr("upper(CAST(value AS STRING)) AS value")
    writer = mmapqueue.write_stream(loudest, loud, checkpoint=base / "loud.checkpoint").queryName("loud")
    query = writer.trigger(processingTime="1 second").start()
    try:
        while query.lastProgress is None or query.lastProgress["batchId"] < BATCHES:
            if query.exception():
                raise RuntimeError(f"the query has failed: {query.exception()}")
            time.sleep(0.1)
        Clicking.target = str(spark.sparkContext.uiWebUrl)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Clicking)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        ui = f"http://127.0.0.1:{server.server_port}"
        take(f"{ui}/SQL/execution/?id={micro_batch(spark)}", directory / "spark-sql.png", 1000, 2470)
        take(f"{ui}/StreamingQuery/statistics/?id={query.runId}", directory / "spark-streaming.png", 1100, 970)
        progress: Any = query.lastProgress
        print(progress if isinstance(progress, str) else json.dumps(json.loads(progress.json), indent=2))
    finally:
        query.stop()
        stop.set()
        for thread in threads:
            thread.join()
        spark.stop()


def main() -> None:
    """Writes both pictures into the directory that is given."""
    directory = Path(sys.argv[1]).resolve()
    browser()
    base = Path(tempfile.gettempdir()) / "data"  # a short name, as it is in the pictures
    base.mkdir()
    try:
        record(directory, base)
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    main()
