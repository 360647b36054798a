"""Dead letters are listed, shown and sent again: each to the sender that has not sent it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from command_line import CommandLine
from conftest import SMALL
from mmapqueue._cli.queues import open_to_read, open_to_write
from mmapqueue.pipeline import Event, EventType, encode
from mmapqueue.pipeline._dead_letters import DeadLetterQueues, Wanted
from mmapqueue.pipeline._event import OTLP_LOGS
from mmapqueue.pipeline.config import Pipe
from mmapqueue.pipeline.process.filters import Explode
from mmapqueue.pipeline.process.letters import CONSUMER, parsed, unsent
from mmapqueue.pipeline.process.queues import queue_ids
from mmapqueue.pipeline.process.resending import Outcome, Resender
from mmapqueue.pipeline.process.senders.events import EventsSender
from pipeline.gathering import gathering
from pipeline.processing import FAST, KEYS, QUICK, lines, pipeline, process, push
from pipeline.receiving import Answer, Request, grpc_receiver, http_receiver
from pipeline.test_runner import backend

EVENT = encode(
    type=EventType.LOGGING,
    data=b"abc \xff",
    content_type="text/plain",
    name="n",
    time_ms=1_700_000_000_005,
    meta={"a": "b"},
    fields={"x": 1},
    source="src",
)
NAMED = encode(type=EventType.TRACING, segment=b"seg", id="mine", time_ms=6)
LOG_LIST = encode(type=EventType.LOGGING, logs=[b"l1", b"l2"], time_ms=7)
RECORDS = [EVENT, NAMED, LOG_LIST]
#: Of a client that sends microseconds, and of years with less than four digits or before the first one.
ODD_TIMES = [
    encode(type=EventType.LOGGING, data=b"t", content_type="text/plain", name="n", time_ms=each)
    for each in (1_700_000_000_000_123, 253_402_300_800_000, -46_000_000_000_001, -62_135_596_800_001, -70 * 10**12)
]
_FILE = """\
name: shop
pipes:
  - name: logs
    queue: {{dir: queue, capacity: 32m, segment_size: 64k, max_event_size: 128k}}
    dead_letter: {{dir: dead, max_event_size: 256k}}
    senders:
      - {{type: http, name: one, url: "{url}", retry: {{max_attempts: 1, then: dead_letter}}}}
      - {{type: http, name: other, url: "{url}/other"}}
"""


def letter(number: int, sender: str = "one", reason: str = "400: bad", form: str = "", pipe: str = "logs") -> bytes:
    about = {"reason": reason, "pipe": pipe, "sender": sender, "partition": "0", "offset": str(number)}
    meta = {**about, **({"form": form} if form else {})}
    data = b"record %d" % number
    return encode(type=EventType.OTHER, data=data, content_type="text/plain", time_ms=1, meta=meta)


@contextmanager
def no_door(_pipe: Pipe, _partition: int) -> Iterator[Any]:
    pytest.fail("nothing is to be pushed")
    yield


def resent(directory: Path, pipe: Pipe, wanted: Wanted | None = None, door: Any = no_door) -> Outcome:
    outcome = Outcome()
    with mmapqueue.Queue(directory, read_only=True) as queue:
        identity = queue_ids(directory)[0]
        Resender(queue, identity, {pipe.name: pipe}, door, outcome).run(wanted or Wanted())
    return outcome


def left(directory: Path) -> list[bytes]:
    """Payloads of the dead letters that were not sent again."""
    with mmapqueue.Queue(directory, read_only=True) as queue, queue.consumer(CONSUMER, prefetch=0) as consumer:
        found = consumer.pop_many(1_000_000)
        consumer.release(found)
        return [parsed(each).data for each in found]


def write(directory: Path, url: str = "http://127.0.0.1:1") -> Path:
    file = directory / "shop.yaml"
    file.write_text(_FILE.format(url=url))
    return file


def fails_until(fixed: list[bool]) -> Callable[[int, Request], Answer]:
    return lambda _position, _request: 200 if fixed else 400


@pytest.mark.parametrize("body", ["data", "ndjson", "cloudevents"])
def test_a_dead_letter_is_sent_as_its_sender_would_have(spark: Any, tmp_path: Path, body: str) -> None:
    records = RECORDS + ODD_TIMES
    count = len(records)
    push(tmp_path / "queue", records)
    fixed: list[bool] = []
    with http_receiver(fails_until(fixed)) as receiver:
        keys = {"body": body} if body == "data" else {"body": body, "request": {"max_records": 1}}
        options = backend(receiver.url).model_dump(exclude={"body", "request"}, exclude_defaults=True)
        sender = type(backend(receiver.url)).model_validate({**options, "name": "backend", **keys})
        configured = pipeline(tmp_path, sender)
        process(spark, configured)
        refused = list(receiver.requests)
        assert len(refused) == count
        fixed.append(True)
        outcome = resent(tmp_path / "dead", configured.pipes[0])
        assert (outcome.sent, outcome.left) == ({("p", "backend"): count}, {})
        taken = receiver.requests[count:]
        again = resent(tmp_path / "dead", configured.pipes[0])
    assert (again.sent, again.left) == ({}, {})
    assert left(tmp_path / "dead") == []

    def content(request: Request) -> Any:
        if body == "data":
            return request.body
        rows = json.loads(request.body)
        for row in rows if isinstance(rows, list) else [rows]:
            # The time of the push, and what is derived from the queue's identity.
            row.pop("pushed", None)
            if "/0/" in row.get("id", ""):
                del row["id"]
            if row.get("source") != "src":
                row.pop("source", None)
        return rows

    assert [content(each) for each in taken] == [content(each) for each in refused]
    assert [each.headers["content-type"] for each in taken] == [each.headers["content-type"] for each in refused]
    identity = queue_ids(tmp_path / "dead")[0]
    assert [each.key for each in taken] == [f"{identity}/0/{offset}-{offset + 1}" for offset in range(count)]


def test_events_go_to_another_pipeline_without_the_entries_of_a_dead_letter(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", RECORDS)
    with grpc_receiver() as (endpoint, receiver):
        retry = {**QUICK, "max_attempts": 1, "then": "dead_letter"}
        # The receiver's port is that of nothing yet.
        given = {"name": "next", "endpoint": "127.0.0.1:1", "retry": retry, "batch": FAST}
        process(spark, pipeline(tmp_path, EventsSender.model_validate(given)))
        there = pipeline(tmp_path, EventsSender.model_validate({**given, "endpoint": endpoint}))
        assert resent(tmp_path / "dead", there.pipes[0]).sent == {("p", "next"): 3}
    from mmapqueue.pipeline.event_pb2 import Batch

    events = [Event.FromString(each) for call in receiver.calls for each in Batch.FromString(call.messages[0]).events]
    expected = [Event.FromString(each) for each in RECORDS]
    for number in (0, 2):
        expected[number].id = f"{queue_ids(tmp_path / 'dead')[0]}/0/{number}"
    assert events == expected


def test_exploded_rows_are_sent_as_rows(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", [encode(type=EventType.LOGGING, data=b"a\nb", content_type="text/plain", time_ms=5)])
    fixed: list[bool] = []
    with http_receiver(fails_until(fixed)) as receiver:
        configured = pipeline(tmp_path, backend(receiver.url), filters=(Explode(rows="logs"),))
        process(spark, configured)
        fixed.append(True)
        assert resent(tmp_path / "dead", configured.pipes[0]).sent == {("p", "backend"): 2}
    assert b"".join(each.body for each in receiver.requests[1:]) == receiver.requests[0].body


def test_what_no_sender_gets_goes_through_the_queue_again(spark: Any, tmp_path: Path) -> None:
    broken = encode(type=EventType.LOGGING, data=b"\xff\xff", content_type=OTLP_LOGS, meta={"a": "b"}, time_ms=1)
    push(tmp_path / "queue", [b"\xff\xff not an event", broken, *lines(1)])
    with http_receiver() as receiver:
        configured = pipeline(tmp_path, backend(receiver.url), filters=(Explode(rows="logs"),))
        process(spark, configured)
        pipe = configured.pipes[0]

        @contextmanager
        def door(_pipe: Pipe, partition: int) -> Iterator[Any]:
            assert partition == 0
            with mmapqueue.Queue(tmp_path / "queue", lock_timeout=30, **KEYS) as queue:
                yield Once(queue)

        assert resent(tmp_path / "dead", pipe, door=door).sent == {("p", ""): 2}
        with mmapqueue.Queue(tmp_path / "queue", read_only=True) as queue:
            raw, event = (each.data for each in queue.read_many(3, 10))
        assert raw == b"\xff\xff not an event"
        # Its time is that of the push: see the table of dead letters.
        expected, found = Event.FromString(broken), Event.FromString(event)
        found.timestamp = expected.timestamp
        assert found == expected
        # They fail again, as nothing was mended, and are dead letters again.
        process(spark, configured)
    assert len(left(tmp_path / "dead")) == 2


class Once:
    """A door to a queue of this process. `after` is called after each push."""

    def __init__(self, queue: "mmapqueue.Queue[bytes]", after: Callable[[], None] = lambda: None) -> None:
        self._queue = queue
        self._after = after

    def last_sequence(self, producer: str) -> int | None:
        return self._queue.last_sequence(producer)

    def push_once(self, producer: str, sequence: int, record: bytes) -> None:
        assert self._queue.push_once(producer, sequence, [record]) is not None
        self._after()


class Killed(Exception):
    pass


def test_an_end_between_push_and_ack_pushes_nothing_twice(tmp_path: Path) -> None:
    configured = pipeline(tmp_path, backend("http://127.0.0.1:1")).pipes[0]
    push(tmp_path / "dead", [letter(i, sender="", form="record", pipe="p") for i in range(6)])
    everything = [b"record %d" % i for i in range(6)]

    def kill() -> None:
        raise Killed

    with mmapqueue.Queue(tmp_path / "queue", **KEYS) as queue:
        # Each command selects others, so that what the one before has pushed is not always selected.
        for positions in ({3}, {1, 4}, {1, 4}, {0, 2, 3}, set()):
            with pytest.raises(Killed):
                resent(
                    tmp_path / "dead",
                    configured,
                    Wanted(positions=frozenset(positions)),
                    lambda _pipe, _partition: nullcontext(Once(queue, kill)),
                )
        resent(tmp_path / "dead", configured, door=lambda _pipe, _partition: nullcontext(Once(queue)))
        assert sorted(each.data for each in queue.read_many(0, 100)) == everything
    assert left(tmp_path / "dead") == []


def test_what_is_not_selected_or_refused_stays(tmp_path: Path) -> None:
    def answers(_position: int, request: Request) -> Answer:
        return (400, {}, b"still bad") if request.body == b"record 1" else 200

    push(tmp_path / "dead", [letter(0), letter(1), letter(2, "other"), letter(3, reason="500"), letter(4, "gone")])
    with http_receiver(answers) as receiver:
        file = write(tmp_path, receiver.url)
        queues = DeadLetterQueues(str(file), None, read=open_to_read, write=open_to_write)
        outcome = queues.resend(Wanted(reason="400"))
        assert [each.path for each in receiver.requests] == ["/", "/", "/other"]
        assert outcome.sent == {("logs", "one"): 1, ("logs", "other"): 1}
        gone, one = sorted(outcome.left, key=lambda each: each.sender)
        assert one.sender == "one"
        assert "still bad" in one.reason
        assert gone.reason == "the pipe has no sender gone any more"
        assert left(tmp_path / "dead") == [b"record 1", b"record 3", b"record 4"]
        assert [each.position for each in queues.letters(Wanted())] == [1, 3, 4]
        queues.resend(Wanted(positions=frozenset([3])))
    assert left(tmp_path / "dead") == [b"record 1", b"record 4"]


def test_dead_letters_behind_more_than_may_be_unacked_are_sent(tmp_path: Path) -> None:
    def read(directory: str, **keys: Any) -> "mmapqueue.Queue[bytes]":
        # Not a million, as by default.
        return open_to_read(directory, **{"max_unacked": 5, **keys})

    push(tmp_path / "dead", [*(letter(number) for number in range(20)), letter(20, "other")])
    with http_receiver() as receiver:
        queues = DeadLetterQueues(str(write(tmp_path, receiver.url)), None, read=read, write=open_to_write)
        assert queues.resend(Wanted(sender="other")).sent == {("logs", "other"): 1}
    assert len(left(tmp_path / "dead")) == 20


def test_an_outage_ends_the_attempts_of_its_sender_alone(tmp_path: Path) -> None:
    push(tmp_path / "dead", [letter(0), letter(1), letter(2, "other")])
    with http_receiver(lambda _, request: 200 if "other" in request.path else 503) as receiver:
        queues = DeadLetterQueues(str(write(tmp_path, receiver.url)), None, read=open_to_read, write=open_to_write)
        outcome = queues.resend(Wanted())
        assert [each.path for each in receiver.requests] == ["/", "/other"]
    assert outcome.sent == {("logs", "other"): 1}
    first, second = sorted(each.reason for each in outcome.left)
    assert "503" in first
    assert second.startswith("an outage; no further dead letter of this sender was tried: ")
    assert len(left(tmp_path / "dead")) == 2


@pytest.mark.parametrize("running", [False, True])
def test_a_list_changes_nothing(tmp_path: Path, *, running: bool) -> None:
    push(tmp_path / "dead", [letter(number) for number in range(6)])
    file = str(write(tmp_path))
    queues = DeadLetterQueues(file, None, read=open_to_read, write=open_to_write)
    assert [each.position for each in queues.letters(Wanted())] == [0, 1, 2, 3, 4, 5]
    with mmapqueue.Queue(tmp_path / "dead", read_only=True) as queue:
        assert queue.consumers() == []
        with queue.consumer(CONSUMER, prefetch=0, ack_linger=0) as consumer:
            popped = consumer.pop_many(5)
            consumer.ack_many([popped[number] for number in (0, 2, 4)])
            consumer.nack(popped[1])
            consumer.release([popped[3]])
    owner = mmapqueue.Queue(tmp_path / "dead", read_only=True) if running else None
    with owner or nullcontext(), owner.consumer(CONSUMER, prefetch=0) if owner else nullcontext():
        before = content_of(tmp_path / "dead")
        for _ in range(3):
            assert [each.position for each in queues.letters(Wanted())] == [1, 3, 5]
            assert [each.records for each in queues.groups(Wanted())] == [3]
        assert content_of(tmp_path / "dead") == before
    with mmapqueue.Queue(tmp_path / "dead", read_only=True) as queue, queue.consumer(CONSUMER, prefetch=0) as consumer:
        assert [(each.offset, each.attempts) for each in consumer.pop_many(10)] == [(1, 2), (3, 1), (5, 1)]


def test_a_damaged_file_of_acks_counts_as_for_its_owner(tmp_path: Path) -> None:
    push(tmp_path / "dead", [letter(number) for number in range(3)])
    with mmapqueue.Queue(tmp_path / "dead", read_only=True) as queue, queue.consumer(CONSUMER, prefetch=0) as consumer:
        consumer.ack_many([consumer.pop_many(3)[1]])
    queues = DeadLetterQueues(str(write(tmp_path)), None, read=open_to_read, write=open_to_write)
    file = tmp_path / "dead" / "consumers" / f"{CONSUMER}.inflight"
    whole = file.read_bytes()
    assert [each.position for each in queues.letters(Wanted())] == [0, 2]
    for damaged in (b"", whole[:50], whole[:-16], whole[:60] + bytes([whole[60] ^ 1]) + whole[61:]):
        file.write_bytes(damaged)
        assert [each.position for each in queues.letters(Wanted())] == [0, 1, 2]
    assert left(tmp_path / "dead") == [b"record 0", b"record 1", b"record 2"]


def test_a_list_goes_on_after_what_the_queue_gives_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmapqueue.pipeline.process.letters._MOST_RECORDS", 1)
    with mmapqueue.Queue(tmp_path / "dead", **SMALL) as queue:
        queue.push_many([letter(number) + bytes(3000) for number in range(10)])
        found = unsent(queue)
        assert next(found).position == 0
        while (first := queue.first_offset()) < 5:
            queue.ack(queue.pop())
            queue.push(letter(10) + bytes(3000), timeout=60)
        assert [each.position for each in found] == list(range(first, 10))


def content_of(directory: Path) -> dict[Path, bytes]:
    """The bytes of all files below a directory."""
    return {each: each.read_bytes() for each in directory.rglob("*") if each.is_file()}


def test_the_commands(command_line: CommandLine, tmp_path: Path) -> None:
    with http_receiver() as receiver:
        file = write(tmp_path, receiver.url)
        assert command_line.run("dead-letters", "list", file) == (3, "", "", "")
        push(tmp_path / "dead", [letter(0), letter(1), letter(7, "other", "404: \x1b no")])
        listed = command_line.run("dead-letters", "list", file, "--json")
        first, second = (json.loads(line) for line in listed.out.splitlines())
        assert {key: first[key] for key in ("pipe", "sender", "reason", "records", "bytes")} == {
            "pipe": "logs",
            "sender": "one",
            "reason": "400: bad",
            "records": 2,
            "bytes": 16,
        }
        assert first["first"] <= first["last"]
        assert second["sender"] == "other"
        assert "\x1b" not in command_line.run("dead-letters", "list", file).out
        shown = command_line.run("dead-letters", "show", file, "--sender", "other").out
        assert "offset        2\n" in shown
        assert "record        partition 0, offset 7\n" in shown
        assert "data          record 7\n" in shown
        assert command_line.run("dead-letters", "show", file, "--offset", "1", "--raw").out == "record 1"
        assert command_line.run("dead-letters", "show", file, "--reason", "none such").status == 3
        dry = command_line.run("dead-letters", "resend", file, "--sender", "one", "--dry-run")
        assert dry.status == 0
        assert receiver.requests == []
        assert command_line.run("consumers", tmp_path / "dead").out.count(CONSUMER) == 0
        sent = command_line.run("dead-letters", "resend", file, "--sender", "one", "--json")
        assert json.loads(sent.out) == {"pipe": "logs", "sender": "one", "sent": 2, "left": 0, "reason": None}
        assert [each.body for each in receiver.requests] == [b"record 0", b"record 1"]
        assert json.loads(command_line.run("dead-letters", "list", file, "--json").out)["sender"] == "other"
        unknown = command_line.run("dead-letters", "list", file, "--pipe", "nope")
        assert (unknown.status, unknown.err) == (2, "mmapqueue: --pipe = 'nope' is invalid; allowed: logs\n")
        with mmapqueue.Queue(tmp_path / "dead", read_only=True) as queue, queue.consumer(CONSUMER):
            busy = command_line.run("dead-letters", "resend", file)
        assert busy.status != 0
        assert CONSUMER in busy.err


def test_a_file_without_dead_letter_queues(command_line: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("pipes: [{name: a, queue: {dir: q}, fetchers: [{type: command, command: ['true']}]}]")
    for options in ([], ["--pipe", "a"]):
        refused = command_line.run("dead-letters", "list", file, *options)
        assert (refused.status, refused.err) == (2, f"mmapqueue: {file}: no pipe has a dead-letter queue\n")


@pytest.mark.slow
def test_kills_beside_a_running_gather(tmp_path: Path) -> None:
    count, kills = 60, 6
    with gathering(tmp_path) as gather, http_receiver(slow) as receiver:
        text = gather.file.read_text()
        sender = f'    senders: [{{type: http, name: one, url: "{receiver.url}"}}]\n'
        gather.file.write_text(f"{text}{sender}    dead_letter: {{dir: dead, max_event_size: 256k}}\n")
        push(
            tmp_path / "dead", [letter(i, "one" if i % 2 else "", form="" if i % 2 else "record") for i in range(count)]
        )
        words = [sys.executable, "-m", "mmapqueue", "dead-letters", "resend", str(gather.file)]
        for number in range(kills):
            before = len(receiver.requests)
            command = subprocess.Popen(words, start_new_session=True)
            while command.poll() is None and len(receiver.requests) < before + 1 + number:
                time.sleep(0.005)
            os.killpg(command.pid, signal.SIGKILL)
            command.wait()
        assert subprocess.run(words, check=False).returncode == 0
        with mmapqueue.Queue(gather.directory, read_only=True) as queue:
            pushed = [each.data for each in queue.read_many(0, 1000)]
    assert pushed == [b"record %d" % i for i in range(0, count, 2)]
    sent = Counter(each.body for each in receiver.requests)
    assert sent.keys() == {b"record %d" % i for i in range(1, count, 2)}
    # What came twice had the same key.
    assert len({each.key for each in receiver.requests}) == len(sent)
    assert sent.total() <= len(sent) + kills


def slow(_position: int, _request: Request) -> Answer:
    time.sleep(0.01)
    return 200
