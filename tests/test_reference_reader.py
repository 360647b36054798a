"""`docs/reference/reader.py` follows format.md alone: it finds what the library has stored, and reports damage."""

import hashlib
import json
import random
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmapqueue
from conftest import LONG, SMALL, Open
from reference_reader import BATCH, PAD, Damage, Log, crc32c, read_meta, read_segment, records

ROOT = Path(__file__).parents[1]
READER = ROOT / "docs" / "reference" / "reader.py"
KEPT = sorted((ROOT / "jvm" / "src" / "test" / "resources" / "format-2").glob("*/*.zip"))
#: All records stay readable.
KEEP: dict[str, Any] = {**SMALL, "queue_capacity_segments": 64, "retain_bytes": "256k"}
#: Some span three segments, some are empty; with 4-KiB segments they end at every multiple of 8.
PAYLOADS = [bytes([i]) * (i * 997 % 8001) for i in range(40)]

Found = list[tuple[int, int | None, bytes]]


def stored(path: Path) -> Found:
    """All that the library reads in a queue that no process changes."""
    found: Found = []
    with mmapqueue.Queue(path, read_only=True) as queue:
        offset, end = queue.first_offset(), queue.end_offset()
        while offset < end:
            try:
                many = queue.read_many(offset, end - offset)
                found += [(m.offset, m.timestamp_micros or None, m.data) for m in many]
                offset += len(many)
            except mmapqueue.OutOfRange:
                offset += 1  # A lost record
    return found


def close(queue: mmapqueue.Queue) -> Path:
    """Closes a queue: the reader finds the records and positions that the library has."""
    path = Path(queue.path)
    queue.close()
    with mmapqueue.Queue(path, read_only=True) as closed:  # An open queue may drop records at any moment.
        committed = {name: c.committed_offset + c.dropped_records for name, c in closed.consumer_stats().items()}
    log = Log(path)
    assert [(r.offset, r.timestamp, r.payload) for r in log.records()] == stored(path)
    assert {name: log.offset_at(max(each)) for name, each in log.consumers.items()} == committed
    return path


def test_crc32c() -> None:
    assert (crc32c(b"123456789"), crc32c(b"6789", crc32c(b"12345")), crc32c(b"")) == (0xE3069283, 0xE3069283, 0)


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: f"{kept.parent.name}-{kept.stem}")
def test_directories_of_each_version(kept: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(kept) as archive:
        archive.extractall(tmp_path)
    for part in re.split(r"^directory ", kept.with_suffix(".txt").read_text("utf-8"), flags=re.M)[1:]:
        name, _, text = part.partition("\n")
        if (tmp_path / name / "resize.ready").exists():
            with pytest.raises(Damage, match="resize"):
                list(records(tmp_path / name))
            continue
        log = Log(tmp_path / name)
        found = [f"record {r.offset} {r.timestamp or 0} {len(r.payload)} {sha256(r.payload)}" for r in log.records()]
        assert found == re.findall(r"^record .*(?<!lost)$", text, re.M)
        assert log.offset == int(re.findall(r"^end (\d+)$", text, re.M)[0])
        assert {consumer: log.offset_at(max(each)) for consumer, each in log.consumers.items()} == {
            consumer: int(offset) for consumer, offset in re.findall(r"^consumer (\S+) committed (\d+)", text, re.M)
        }


def sha256(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(0, 8000)),
        st.tuples(st.just("batch"), st.lists(st.integers(0, 1500), min_size=1, max_size=8)),
        st.tuples(st.just("ack"), st.integers(1, 30)),
        st.tuples(st.just("reopen"), st.none()),
        st.tuples(st.just("kill"), st.none()),
        st.tuples(st.just("flush"), st.none()),
    ),
    max_size=60,
)


@settings(max_examples=200 if LONG else 15, deadline=None)
@given(steps=STEPS, timestamps=st.booleans(), retain=st.booleans())
def test_queues_of_any_shape(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]], timestamps: bool, retain: bool
) -> None:
    directory = tmp_path_factory.mktemp("shapes")
    options: dict[str, Any] = {**(KEEP if retain else SMALL), "timestamps": timestamps}
    queue = mmapqueue.Queue(directory / "0", **options)
    lives = 0
    try:
        for step, value in steps:
            try:
                if isinstance(value, list):
                    queue.push_many([b"%d" % length * length for length in value], atomic=True, timeout=0)
                elif step == "push":
                    queue.push(bytes([value % 256]) * value, timeout=0)
            except mmapqueue.Full:
                queue.ack_many(queue.pop_many(10, timeout=0))
            if step == "ack":
                queue.ack_many(queue.pop_many(value, timeout=0))
            elif step == "flush":
                queue.flush()
            elif step == "reopen":
                queue = mmapqueue.Queue(close(queue), **options)
            elif step == "kill":
                lives += 1
                killed = shutil.copytree(queue.path, directory / f"{lives}")
                assert list(records(killed)) == stored(killed)
                queue.close()
                queue = mmapqueue.Queue(killed, **options)
        close(queue)
    finally:
        queue.close()
        shutil.rmtree(directory)


@pytest.mark.parametrize("timestamps", [True, False])
def test_spanning_and_empty_records_and_batches(open_queue: Open, timestamps: bool) -> None:
    queue = open_queue(**KEEP, timestamps=timestamps)
    late = queue.consumer("late")
    for payload in PAYLOADS:
        queue.push(payload)
    queue.push_many([b"a", b"", b"c" * 5000], atomic=True)
    queue.pop()
    late.ack_up_to(late.pop_many(10)[-1])
    found = list(Log(close(queue)).records())
    assert [(r.offset, r.payload) for r in found] == list(enumerate([*PAYLOADS, b"a", b"", b"c" * 5000]))
    assert [r.offset for r in found if r.flags & BATCH] == [40, 41]
    assert all((r.timestamp is not None) == timestamps for r in found)


def test_a_ring_that_has_wrapped(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    for i in range(400):
        queue.push(b"%d" % i * 300)
        if i < 390:
            queue.ack(queue.pop())
    path = close(queue)
    assert read_meta(path).writing > 5 * 16 * 4096
    assert [(offset, data) for offset, _, data in records(path)] == [(i, b"%d" % i * 300) for i in range(390, 400)]


def test_a_killed_queue_before_and_after_recovery(open_queue: Open, tmp_path: Path) -> None:
    queue = open_queue(**SMALL)
    payloads = [b"%d" % i * 300 for i in range(50)]
    for payload in payloads:
        queue.push(payload)
    # A kill at rest leaves this: no append in flight, no close.
    killed = shutil.copytree(queue.path, tmp_path / "killed")
    before = read_meta(killed)
    assert not before.clean
    assert list(records(killed)) == stored(killed)
    recovered = open_queue(killed)
    recovered.push_many(payloads, atomic=True)
    after = read_meta(close(recovered))
    assert (before.epoch, after.clean, after.epoch) == (1, True, 2)
    assert [(offset, data) for offset, _, data in records(killed)] == list(enumerate(payloads * 2))
    sealed = read_segment(killed, after, (before.writing - 1) // 4096)
    assert (sealed.epoch, read_segment(killed, after, sealed.id + 1).epoch) == (1, 2)
    assert int.from_bytes(sealed.data[before.writing % 4096 :][:4], "little") == PAD | 2


def test_copies_and_rings_of_another_size(open_queue: Open, tmp_path: Path) -> None:
    queue = open_queue(**SMALL)
    for payload in PAYLOADS[:8]:
        queue.push(payload)
    queue.ack_many(queue.pop_many(3))
    path, copied = close(queue), tmp_path / "copy"
    expected = list(records(path))
    assert len(expected) == 5
    mmapqueue.copy(path, copied, segment_size="8k")
    assert list(records(copied)) == expected
    mmapqueue.resize(path, "128k")
    assert (read_meta(path).capacity, list(records(path))) == (32, expected)
    close(open_queue(path))
    close(open_queue(copied))


def test_a_repaired_queue(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    queue.push_many(PAYLOADS[:8])
    path = close(queue)
    expected = list(records(path))
    flip(path / "1_segment.dat", 2000)
    with pytest.raises(Damage, match=r"_segment\.dat, byte \d+: record \d has a wrong checksum"):
        list(records(path))
    mmapqueue.repair(path, in_place=True)
    kept = list(records(path))
    assert len(kept) == 7
    assert set(kept) < set(expected)
    close(open_queue(path))


@pytest.mark.parametrize("options", [{"retain_bytes": "20k"}, {"retain_ms": "12d"}, {"max_consumer_lag": "32k"}])
def test_retention_and_dropped_records(open_queue: Open, options: dict[str, object]) -> None:
    queue = open_queue(**SMALL, **options)
    queue.consumer("default")
    for _ in range(100):
        queue.push(bytes(997))
        if "max_consumer_lag" not in options:
            queue.ack(queue.pop())
    assert 0 < next(records(close(queue)))[0] < 99


def flip(file: Path, byte: int, bits: int = 1) -> None:
    with file.open("r+b") as stream:
        stream.seek(byte)
        found = stream.read(1)[0]
        stream.seek(byte)
        stream.write(bytes([found ^ bits]))


@pytest.mark.parametrize("killed", [False, True])
def test_damage_is_reported_or_in_no_record(open_queue: Open, tmp_path: Path, killed: bool) -> None:
    queue = open_queue(**KEEP)
    queue.consumer("late")
    queue.push_many(PAYLOADS[:5])
    queue.ack(queue.pop())
    queue.flush()
    durable = queue.end_offset()
    queue.push_many(PAYLOADS[5:10], atomic=True)
    path = shutil.copytree(queue.path, tmp_path / "killed") if killed else close(queue)
    expected = stored(path)
    meta = read_meta(path)
    files = [path / f"{n}_segment.dat" for n in range((meta.writing - 1) // 4096 + 1)]
    pages = [path / "meta.dat", *(path / "consumers").glob("*.dat")]
    seed = random.randrange(2**32) if LONG else 1
    chance, reported = random.Random(seed), 0
    for _ in range(4000 if LONG else 150):
        file, bits = chance.choice(files * 3 + pages), 1 << chance.randrange(8)
        byte = chance.choice([chance.randrange(4096), chance.randrange(1024), chance.randrange(152)])
        flip(file, byte, bits)
        what = f"seed {seed}: {file.name}, byte {byte}, bits {bits}"
        try:
            found = list(records(path))
        except Damage:
            reported += 1
        else:
            if file in pages:  # A cursor has no checksum: another one may be a record's end, too
                assert found == expected[len(expected) - len(found) :], what
            elif killed:
                assert len(found) >= durable, what
                assert found == expected[: len(found)], what
            else:
                assert found == expected, what
        flip(file, byte, bits)
    assert list(records(path)) == expected
    assert reported > 10


def test_damage_is_skipped_to_the_next_intact_record(open_queue: Open) -> None:
    queue = open_queue(**KEEP)
    payloads = [b"%03d" % i * 100 for i in range(100)]
    queue.push_many(payloads)
    path = close(queue)
    expected = list(records(path))
    meta = read_meta(path)
    lost = read_segment(path, meta, 2).base_offset
    flip(path / "2_segment.dat", read_segment(path, meta, 2).first_record)
    log = Log(path)
    found = [(r.offset, r.timestamp, r.payload) for r in log.records(skip=True)]
    assert found == [each for each in expected if each[0] != lost]
    assert [(each.file.name, each.byte) for each in log.skipped] == [
        ("2_segment.dat", read_segment(path, meta, 2).first_record)
    ]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, READER, *map(str, arguments)], capture_output=True, text=True, check=False)


def test_command_line(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    queue.push_many([b"one", b"123456789"])
    queue.ack(queue.pop())
    path = close(queue)
    ((_, time, _),) = records(path)
    record, consumer = map(json.loads, run(path, "--json").stdout.splitlines())
    assert record == {"offset": 1, "time": time, "length": 9, "crc": "e3069283"}
    assert consumer == {"consumer": "default", "committed": 88, "dropped": 0, "offset": 1}
    assert run(path).stdout.splitlines() == [
        f"offset=1 time={time} length=9 crc=e3069283",
        "consumer=default committed=88 dropped=0 offset=1",
    ]
    flip(path / "0_segment.dat", 100)
    damaged = f"{path / '0_segment.dat'}, byte {88 + 0}: record 1 has a wrong checksum\n"
    for arguments, lines in (([], 0), (["--skip"], 1)):
        ended = run(path, *arguments)
        assert (ended.returncode, ended.stderr, len(ended.stdout.splitlines())) == (1, damaged, lines)
    missing = run(path / "none")
    assert missing.returncode == 1
    assert "meta.dat" in missing.stderr
