"""An application with the SkyWalking agent. It notes the answer to each stream of the agent.

    python skywalking_client.py --endpoint 127.0.0.1:11800 --journal skywalking.jsonl --requests 2000

Each request makes a segment of one span and a log inside it, both with a number. The agent never sends again what was
in a stream that failed: such numbers may come out or not, and never twice. SIGTERM ends it.
"""

from __future__ import annotations

import argparse
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import client
from journal import Journal

#: Requests that are not reported yet, at most. The agent's buffers hold 10 000 and drop what does not fit.
MOST_WAITING = 2_000
TEXT = "served order number=%d"
NUMBER = re.compile(r"number=(\d+)")


def log_number(data: Any) -> int:
    """The number of a LogData message of this application; -1 of another one."""
    found = NUMBER.search(data.body.text.text)
    return int(found[1]) if found else -1


def segment_number(segment: Any) -> int:
    """The number of a SegmentObject of this application; -1 of another one."""
    return next((int(tag.value) for span in segment.spans for tag in span.tags if tag.key == "number"), -1)


class Noted:
    """A reporting service of the agent, with a journal.

    Attributes:
        taken: Messages that the agent has handed over to a stream.
        streams: Streams that have not ended.
    """

    def __init__(self, report: Callable[[Iterator[Any]], None], kind: str, number: Callable[[Any], int]) -> None:
        self.taken = 0
        self.streams = 0
        self._report, self._kind, self._number = report, kind, number

    def report(self, messages: Iterator[Any], journal: Journal) -> None:
        """Reports one stream. All of its messages are answered together, when it ends."""
        requests: list[int] = []

        def noted() -> Iterator[Any]:
            for message in messages:
                requests.append(journal.sent(self._kind, [self._number(message)]))
                self.taken += 1
                yield message

        self.streams += 1
        try:
            self._report(noted())
        except Exception:
            for request in requests:
                journal.failed(request)
            raise
        else:
            for request in requests:
                journal.answered(request)
        finally:
            self.streams -= 1


def run(options: argparse.Namespace, stopped: threading.Event) -> None:
    """Serves requests until all are served or until it is stopped; then waits for the agent's last streams."""
    from skywalking import config
    from skywalking.agent import agent
    from skywalking.agent.protocol import grpc as protocol

    config.init(
        agent_collector_backend_services=options.endpoint,
        agent_name=options.service,
        agent_instance_name="demo",
        agent_log_reporter_active=True,
        agent_log_reporter_level="INFO",
        agent_logging_level="ERROR",
        agent_meter_reporter_active=False,
        agent_profile_active=False,
    )
    journal = Journal(options.journal)
    services = [
        _note(protocol, "GrpcTraceSegmentReportService", "segments", segment_number, journal),
        _note(protocol, "GrpcLogDataReportService", "stream logs", log_number, journal),
    ]
    agent.start()
    _serve(options, stopped, services)
    agent.stop()


def _note(protocol: Any, name: str, kind: str, number: Callable[[Any], int], journal: Journal) -> list[Noted]:
    """Puts a journal around a service of the agent. Returns where its instance will be."""
    made: list[Noted] = []
    service = getattr(protocol, name)

    def make(channel: Any) -> Any:
        instance = service(channel)
        noted = Noted(instance.report, kind, number)
        instance.report = lambda messages: noted.report(messages, journal)
        made.append(noted)
        return instance

    setattr(protocol, name, make)
    return made


def _serve(options: argparse.Namespace, stopped: threading.Event, made: list[list[Noted]]) -> None:
    from skywalking.trace.context import get_context
    from skywalking.trace.tags import Tag

    class NumberTag(Tag):  # type: ignore[misc]
        key = "number"

    services = [noted for each in made for noted in each]
    log = logging.getLogger("shop")
    log.setLevel(logging.INFO)
    served = 0
    started = time.monotonic()
    while not stopped.is_set() and not (options.requests and served >= options.requests):
        waiting = served - min(service.taken for service in services)
        if waiting >= MOST_WAITING or (options.rate and served >= (time.monotonic() - started) * options.rate):
            time.sleep(0.005)
            continue
        with get_context().new_local_span("serve order") as span:
            span.tag(NumberTag(served))
            log.info(TEXT, served)
        served += 1
    while any(service.taken < served or service.streams for service in services):
        time.sleep(0.02)


def options() -> argparse.ArgumentParser:
    options = client.parser(
        "Serve requests with the SkyWalking agent, and note the answers.", "HOST:PORT of the gRPC server"
    )
    options.add_argument("--requests", type=int, default=0, help="requests to serve; 0: until SIGTERM")
    options.add_argument("--rate", type=float, default=0.0, help="requests a second, at most; 0: as many as it can")
    return options


if __name__ == "__main__":
    raise SystemExit(client.main(options(), run))
