"""Senders of a pipe that were away while its queue overflowed into an archive."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import mmapqueue
from mmapqueue.pipeline import EventType, encode
from mmapqueue.pipeline.config import Pipe, Pipeline, QueueSettings
from mmapqueue.pipeline.gather.agent import Agent
from mmapqueue.pipeline.gather.receivers.syslog import SyslogReceiver
from mmapqueue.pipeline.plugins import Inbox
from mmapqueue.pipeline.process.filters import Where
from mmapqueue.pipeline.process.senders.http import HttpSender
from pipeline.processing import FAST, QUICK, process
from pipeline.receiving import HttpReceiver, http_receiver

#: More than two rings of records of 1 KB.
MANY = 3000


def payload(number: int) -> bytes:
    return b"%d " % number + b"." * 1000


def record(number: int) -> bytes:
    return encode(type=EventType.LOGGING, data=payload(number), content_type="text/plain", time_ms=1)


def pipe(directory: Path, *urls: str) -> Pipeline:
    queue = {
        "dir": directory / "queue",
        "capacity": "1m",
        "segment_size": "64k",
        "max_event_size": "64k",
        "archive_uri": str(directory / "archive"),
        "ship_period": "10ms",
        "flush_period": "5ms",
    }
    senders = [
        {
            "name": f"backend{number}",
            "url": url,
            "body": "ndjson",
            "request": {"max_records": 50},
            "retry": QUICK,
            "batch": FAST,
        }
        for number, url in enumerate(urls)
    ]
    return Pipeline(
        name="test",
        pipes=(
            Pipe(
                name="p",
                queue=QueueSettings.model_validate(queue),
                on_full="overflow",
                receivers=(SyslogReceiver(listen="udp://127.0.0.1:0", max_message_size=1024),),
                on_undecodable="drop",
                filters=(Where(condition="offset % 3 != 1"),),
                senders=tuple(map(HttpSender.model_validate, senders)),
            ),
        ),
    )


def sent(receiver: HttpReceiver) -> list[tuple[int, bytes]]:
    rows = [json.loads(each) for request in receiver.requests for each in request.body.splitlines()]
    return [(row["offset"], base64.b64decode(row["data"])) for row in rows]


def test_senders_that_were_away_get_each_event_once_in_order(spark: Any, tmp_path: Path) -> None:
    with http_receiver() as one, http_receiver() as two:
        configured = pipe(tmp_path, one.url, two.url)
        with mmapqueue.Queue(tmp_path / "queue", **configured.pipes[0].queue_keys()) as queue:
            process(spark, configured)  # the senders have consumers then, which keep what is not sent
            queue.push_many(map(record, range(10)))
            process(spark, configured)
            for begin in range(10, MANY, 10):
                queue.push_many(map(record, range(begin, begin + 10)))
            senders = {name: each.archived_records for name, each in queue.consumer_stats().items() if name != "ship"}
            process(spark, configured)
            queue.push_many(map(record, range(MANY, MANY + 10)))
            process(spark, configured)
            now = [queue.consumer_stats()[name] for name in senders]
        assert len(senders) == 2
        assert min(senders.values()) > MANY / 2
        # The last micro-batch is acked by the next one.
        assert [(each.archived_records, each.lag_records) for each in now] == [(0, 10), (0, 10)]
        expected = [(number, payload(number)) for number in range(MANY + 10) if number % 3 != 1]
        assert sent(one) == expected
        assert sent(two) == expected


async def put(inbox: Inbox, records: list[bytes]) -> None:
    """Stores all of the records or none, and sends them again while the archive has not made room: as clients do."""
    while True:
        try:
            return await inbox.put(*records)
        except mmapqueue.Full:
            await asyncio.sleep(0.01)


def test_senders_that_were_never_started_get_each_event(spark: Any, tmp_path: Path) -> None:
    async def gather(configured: Pipeline) -> int:
        async with Agent(configured) as agent:
            pipe = agent.pipes["p"]
            for begin in range(0, MANY, 10):
                await put(pipe.inbox, [*map(record, range(begin, begin + 10))])
            return pipe.queue.first_offset()

    with http_receiver() as receiver:
        configured = pipe(tmp_path, receiver.url)
        assert asyncio.run(gather(configured)) > MANY / 2
        process(spark, configured)
        assert sent(receiver) == [(number, payload(number)) for number in range(MANY) if number % 3 != 1]
