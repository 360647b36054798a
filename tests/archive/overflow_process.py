"""One of the processes of a queue that overflows, which runs until it is killed; `overflow_kills.py` runs it.

    python overflow_process.py <directory> inside True|False   pushes and reads; the flag says whether it ships
    python overflow_process.py <directory> outside             reads beside it
    python overflow_process.py <directory> query [True]        drives a streaming query; True for one that ends

The journal of a consumer has "start", then an offset and the beginning of the payload for each delivery, and "ack" with
an offset for each ack that has returned. That of the query has a line for each batch: its number, the first offset, the
one after the last, the beginnings of the payloads, "end".
"""

import itertools
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

import mmapqueue


def opened(directory: Path, ships: bool = True) -> "mmapqueue.Queue[bytes]":
    shipping: dict[str, Any] = {
        "archive_uri": directory / "archive",
        "overflow": "archive",
        "ship_period": "20ms",
        "ship_bytes": "64k",
    }
    return mmapqueue.Queue(
        directory / "queue",
        ack_linger=0,
        capacity="1m",
        max_event_size="8k",
        flush_period="5ms",
        **(shipping if ships else {}),
    )


def beginning(data: bytes) -> str:
    """What tells a record from all others."""
    return data[:20].decode().split(".")[0]


def read(consumer: Any, journal: TextIO, seconds: float) -> None:
    """Pops a batch, notes it, acks it, and notes that."""
    messages = consumer.pop_many(300, timeout=seconds)
    if not messages:
        return
    for message in messages:
        journal.write(f"record {message.offset} {beginning(message.data)}\n")
    journal.flush()
    consumer.ack_up_to(messages[-1])
    journal.write(f"ack {messages[-1].offset}\n")
    journal.flush()


def push(queue: "mmapqueue.Queue[bytes]") -> None:
    run = os.urandom(4).hex()
    for number in itertools.count():
        queue.push_many(b"%s-%d." % (run.encode(), 100 * number + each) + b"." * (each * 17) for each in range(100))
        time.sleep(0.02)  # the load: a query reads half a ring in a batch, and must be able to follow


def consume(directory: Path, name: str, ships: bool) -> None:
    beside = name == "outside"
    queue = mmapqueue.Queue(directory / "queue", read_only=True, ack_linger=0) if beside else opened(directory, ships)
    for each in ("inside", "outside"):
        queue.create_consumer(each)
    consumer = queue.consumer(name)
    with (directory / name).open("a") as journal:
        journal.write("\nstart\n")
        print("ready", flush=True)
        if not beside:
            threading.Thread(target=push, args=(queue,), daemon=True).start()
        while True:
            read(consumer, journal, 60)


def query(directory: Path, ends: bool) -> None:
    from pyspark.sql import DataFrame, SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.log.level", "ERROR").config("spark.driver.host", "127.0.0.1")
    spark = mmapqueue.configure(builder).getOrCreate()
    with (directory / "query").open("a") as journal:
        journal.write("\n")

        def store(frame: DataFrame, batch: int) -> None:
            rows = sorted((row.offset, bytes(row.value)) for row in frame.collect())
            if rows:
                texts = " ".join(beginning(value) for _, value in rows)
                journal.write(f"{batch} {rows[0][0]} {rows[-1][0] + 1} {texts} end\n")
                journal.flush()
            print("ready", flush=True)

        reader = spark.readStream.format("mmapqueue").options(startingOffsets=0, maxOffsetsPerTrigger=3000)
        frame = reader.load(str(directory / "queue"))
        writer = frame.writeStream.option("checkpointLocation", str(directory / "checkpoint")).foreachBatch(store)
        trigger: dict[str, Any] = {"availableNow": True} if ends else {"processingTime": "0 seconds"}
        running = writer.trigger(**trigger).start()
        if ends:
            print("ready", flush=True)
        running.awaitTermination()


def main() -> None:
    directory, name, *flags = sys.argv[1:]
    flag = flags == ["True"]
    if name == "query":
        query(Path(directory), flag)
    else:
        consume(Path(directory), name, flag)


if __name__ == "__main__":
    main()
