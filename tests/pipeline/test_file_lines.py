"""Files: each line is an event, once."""

import os
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mmapqueue.pipeline import Event, EventType
from mmapqueue.pipeline.gather.fetchers._lines import LineEncoder
from mmapqueue.pipeline.gather.fetchers.files import FileFetcher, Multiline
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
    pattern = FileFetcher(paths=("x",), multiline=Multiline(start="[a-z]")).start_pattern if grouped else None
    encoder = LineEncoder("/var/log/x.log", 7, 400, pattern)
    content = b"".join(each + b"\n" for each in lines) + rest
    records: list[bytes] = []
    done = 0
    while True:
        events = encoder.events(
            content[done:],
            done,
            after_newline=encoder.text.begins_line(content[:done]),
            everything=everything,
            most=most,
        )
        if not events.size:
            break
        records += events.records
        done += events.size
    if everything:
        # But for NULs at the end, which a writer may fill.
        assert not content[done:].strip(b"\0")
    end = 0
    for record in records:
        found = line(record)
        assert len(record) <= 400
        # A line begins after its newline, and after a hole.
        assert re.fullmatch(rb"\n?\0*", content[end : found.position])
        assert content[found.position :].startswith(found.data)
        assert found.continuation == (not encoder.text.begins_line(content[: found.position]))
        end = found.position + len(found.data)
    assert re.fullmatch(rb"\n?\0*", content[end:done])
    if not grouped:
        assert joined(records)[: len(lines)] == [each.lstrip(b"\0") for each in lines]


def hole(path: Path, size: int, *after: bytes) -> None:
    """What a writer that does not append leaves after a truncation: its next lines are at its old position."""
    with path.open("r+b") as file:
        file.truncate(0)
        file.seek(size)
        file.write(b"".join(after))


@pytest.mark.parametrize("size", [1, 1000, 4096, 5000, (1 << 20) - 1, 20 << 20])
@pytest.mark.parametrize("multiline", [None, {"start": "[a-z]"}])
def test_a_hole_is_no_record(log: Path, make: Make, size: int, multiline: dict[str, str] | None) -> None:
    log.write_bytes(b"before\n" * 3)
    steps = make(multiline=multiline)
    steps.look()
    hole(log, size, b"after\n", b"more\n", b"last\n")
    steps.look()
    found = [line(each) for each in steps.inbox.records if b"before" not in each]
    assert [each.data for each in found] == [b"after", b"more", b"last"][: 2 if multiline else 3]
    assert [each.position for each in found[:2]] == [size, size + 6]
    assert not any(each.continuation or each.incomplete for each in found)
    # A restart continues, without the hole again.
    steps.stop()
    steps.start()
    append(log, b"x\ny\n")
    steps.look()
    assert texts(steps.inbox.records)[-1] == (b"x" if multiline else b"y")
    assert sum(b"after" in each for each in steps.inbox.records) == 1


def test_a_hole_between_lines(log: Path, make: Make) -> None:
    log.write_bytes(b"1\n" + b"\0" * 3_000_000 + b"2\n\0\0\0" + b"3\n4\0\0\n")
    steps = make()
    steps.look()
    assert texts(steps.inbox.records) == [b"1", b"2", b"3", b"4\0\0"]
    assert not any(line(each).continuation for each in steps.inbox.records)


def test_a_hole_that_no_reader_can_skip_is_read(log: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "lseek", refuse)
    log.write_bytes(b"\0" * (3 << 20) + b"1\n")
    steps = make()
    steps.look()
    assert texts(steps.inbox.records) == [b"1"]


def test_room_that_is_allocated_is_not_read_before_it_is_written(log: Path, make: Make) -> None:
    log.write_bytes(b"1\n2" + b"\0" * 3_000_000)
    steps = make()
    steps.look()
    steps.look_after(idle="0s")
    assert texts(steps.inbox.records)[:1] == [b"1"]
    with log.open("r+b") as file:
        file.seek(3)
        file.write(b"2\n3\n")
    steps.look()
    assert b"".join(texts(steps.inbox.records)) == b"1223"
    assert steps.follower is not None
    (tail,) = steps.follower.tails.values()
    assert (tail.generation, tail.position) == (0, 7)
    steps.look_after(close_after="0s")
    assert not tail.is_open


TEXT = "one\nzw\u00f6lf \u20ac \U0001f600\r\n\n\u0a0a\u010a\u0a00\nend"


@pytest.mark.parametrize(
    ("encoding", "codec", "mark"),
    [
        ("utf-16", "utf-16-le", b"\xff\xfe"),
        ("utf-16", "utf-16-be", b"\xfe\xff"),
        ("utf-16", "utf-16-le", b""),
        ("utf-16-le", "utf-16-le", b""),
        ("utf-16-be", "utf-16-be", b""),
        ("utf-16-be", "utf-16-be", b"\xfe\xff"),
        ("utf-8", "utf-8", b"\xef\xbb\xbf"),
        ("utf-8", "utf-8", b""),
    ],
)
def test_encodings(log: Path, make: Make, encoding: str, codec: str, mark: bytes) -> None:
    content = mark + TEXT.encode(codec)
    log.write_bytes(b"")
    steps = make(encoding=encoding)
    # Byte by byte: also between the bytes of a character.
    for byte in content:
        append(log, bytes([byte]))
        steps.look()
    steps.look_after(idle="0s")
    append(log, "ing\n".encode(codec))
    steps.stop()
    steps.start()
    steps.look()
    found = [line(each) for each in steps.inbox.records]
    lines = [each.encode() for each in TEXT.split("\n")]
    assert [each.data for each in found] == [*lines, b"ing"]
    assert [each.continuation for each in found] == [False] * len(lines) + [True]
    assert found[0].position == len(mark)
    for each, text in zip(found, [*TEXT.split("\n"), "ing"], strict=True):
        assert log.read_bytes()[each.position :].startswith(text.encode(codec))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@given(lines=st.lists(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\n\0"), max_size=300)))
@example(lines=["\U0001f600" * 200])
@example(lines=["x" + "\U0001f600" * 200, "xx\u20ac" * 100])
def test_long_lines_are_cut_at_characters(encoding: Any, lines: list[str]) -> None:
    encoder = LineEncoder("/var/log/x.log", 7, 300, None, encoding)
    content = "".join(f"{each}\n" for each in lines).encode(encoding)
    done, records = 0, []
    while done < len(content):
        after = encoder.text.begins_line(content[:done])
        events = encoder.events(content[done:], done, after_newline=after, everything=True, most=5)
        records += events.records
        done += events.size
    whole: list[str] = []
    for record in records:
        found = line(record)
        assert len(record) <= 300
        text = found.data.decode()
        whole = [*whole[:-1], whole[-1] + text] if found.continuation else [*whole, text]
    # A mark at the file's start is not text.
    expected = [each.removeprefix("\ufeff") if i == 0 else each for i, each in enumerate(lines)]
    assert whole == expected


def test_groups_of_lines_in_utf16(log: Path, make: Make) -> None:
    log.write_bytes("2026 a\n  b\n2026 \u00e4\n  c\n2026 d\n".encode("utf-16"))
    steps = make(multiline={"start": r"\d{4} "}, encoding="utf-16")
    steps.look()
    assert texts(steps.inbox.records) == [b"2026 a\n  b", "2026 \u00e4\n  c".encode()]
    steps.look_after(idle="0s")
    assert texts(steps.inbox.records)[2:] == [b"2026 d"]


def test_the_end_of_a_file_in_utf16_is_between_units(log: Path, make: Make) -> None:
    log.write_bytes("1\n".encode("utf-16-le") + b"2")
    steps = make(start="end", encoding="utf-16-le")
    append(log, b"\0" + "\n3\n".encode("utf-16-le"))
    steps.look()
    assert texts(steps.inbox.records) == [b"2", b"3"]


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(ValueError, match="validation error"):
        FileFetcher(paths=("x",), encoding="utf-17")  # type: ignore[arg-type]
