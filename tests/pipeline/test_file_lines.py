"""Files: each line is an event, once."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmapqueue.pipeline import Event, EventType
from mmapqueue.pipeline.gather.fetchers._lines import LineEncoder
from mmapqueue.pipeline.gather.fetchers.files import FileFetcher
from pipeline.tailing import Make, MemoryInbox, append, joined, line, texts


def test_each_line_is_an_event(log: Path, make: Make) -> None:
    log.write_bytes(b"one\n\nthree\r\nlast")
    steps = make()
    steps.look()
    event = Event.FromString(steps.inbox.records[2])
    assert (event.type, event.content_type, event.data) == (EventType.LOGGING, "text/plain", b"three\r")
    assert (event.source, event.name, event.remote) == (str(log), "app.log", True)
    assert dict(event.meta) == {"inode": str(log.stat().st_ino), "position": "5"}
    assert event.timestamp > 1_700_000_000_000
    assert texts(steps.inbox.records) == [b"one", b"", b"three\r"]


def test_a_last_line_waits_for_its_newline_or_idle(log: Path, make: Make) -> None:
    log.write_bytes(b"one\nhal")
    steps = make()
    steps.look()
    append(log, b"f\ntw")
    steps.look()
    assert texts(steps.inbox.records) == [b"one", b"half"]
    steps.look_after(idle="0s")
    append(log, b"o\nthree")
    steps.look()
    steps.look_after(idle="0s")
    append(log, b"\nfour\n")
    steps.look()
    found = [line(each) for each in steps.inbox.records[2:]]
    assert [each.data for each in found] == [b"tw", b"o", b"three", b"four"]
    assert [(each.continuation, each.incomplete) for each in found] == [
        (False, True),
        (True, False),
        (False, True),
        (False, False),
    ]


@pytest.mark.parametrize("length", [3000, 1 << 20, 3 << 20])
def test_long_lines_become_several_events(log: Path, make: Make, length: int) -> None:
    long = random.Random(length).randbytes(length).replace(b"\n", b"")
    log.write_bytes(b"short\n" + long + b"\nafter\n" + long)
    steps = make(MemoryInbox(max_event_size=2000))
    steps.look()
    steps.look_after(idle="0s")
    assert joined(steps.inbox.records) == [b"short", long, b"after", long]
    assert max(map(len, steps.inbox.records)) <= 2000
    pieces = [line(each) for each in steps.inbox.records[1:-1]]
    assert not pieces[0].continuation
    assert pieces[0].incomplete
    assert pieces[1].continuation


def test_a_line_longer_than_a_batch_is_one_event(log: Path, make: Make) -> None:
    long = b"x" * (3 << 20)
    log.write_bytes(b"short\n" + long + b"\nafter\n")
    steps = make(MemoryInbox(max_event_size=4 << 20))
    steps.look()
    assert texts(steps.inbox.records) == [b"short", long, b"after"]


def test_batches_shrink_until_the_queue_takes_them(log: Path, make: Make) -> None:
    log.write_bytes(b"".join(b"%d\n" % i for i in range(2000)))
    inbox = MemoryInbox()
    inbox.max_batch = 5000
    steps = make(inbox)
    steps.look()
    assert texts(inbox.records) == [b"%d" % i for i in range(2000)]


def test_lines_of_one_event(log: Path, make: Make) -> None:
    log.write_bytes(b"  lost\n2026 a\n  b\n  c\n2026 d\n20")
    steps = make(multiline={"start": r"\d{4} "})
    steps.look()
    assert texts(steps.inbox.records) == [b"  lost", b"2026 a\n  b\n  c"]
    append(log, b"26 e\n  f\n")
    steps.look()
    assert texts(steps.inbox.records)[2:] == [b"2026 d"]
    steps.look_after(idle="0s")
    assert texts(steps.inbox.records)[3:] == [b"2026 e\n  f"]


@given(
    lines=st.lists(st.binary(max_size=400).map(lambda each: each.replace(b"\n", b"")), max_size=30),
    rest=st.binary(max_size=400).map(lambda each: each.replace(b"\n", b"")),
    most=st.integers(1, 40),
    everything=st.booleans(),
    grouped=st.booleans(),
)
def test_events_cover_the_file_without_gaps(
    lines: list[bytes], rest: bytes, most: int, everything: bool, grouped: bool
) -> None:
    pattern = FileFetcher(paths=["x"], multiline={"start": "[a-z]"}).start_pattern if grouped else None
    encoder = LineEncoder("/var/log/x.log", 7, 400, pattern)
    content = b"".join(each + b"\n" for each in lines) + rest
    records: list[bytes] = []
    done = 0
    while True:
        events = encoder.events(
            content[done:],
            done,
            after_newline=content[:done][-1:] in (b"", b"\n"),
            everything=everything,
            most=most,
        )
        if not events.size:
            break
        records += events.records
        done += events.size
    if everything:
        assert done == len(content)
    end = 0
    for record in records:
        found = line(record)
        assert len(record) <= 400
        assert found.position - end in (0, 1)
        assert content[end : found.position] in (b"", b"\n")
        assert content[found.position :].startswith(found.data)
        assert found.continuation == (content[: found.position][-1:] not in (b"", b"\n"))
        end = found.position + len(found.data)
    assert content[end:done] in (b"", b"\n")
    if not grouped:
        whole = lines + ([rest] if rest and everything else [])
        assert joined(records)[: len(lines)] == whole[: len(lines)]
