"""Batches of Apache Arrow: pushed, popped and read straight through shared memory."""

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timezone
from typing import Any

import pyarrow as pa
import pytest

import mmapqueue
from conftest import SMALL, Open, Script, data
from mmapqueue._jvm import shared_buffer, shared_memory
from mmapqueue._jvm.shared_buffer import LENT_BYTES, MAX_LENT

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("us", "UTC")),
        pa.field("value", pa.binary(), nullable=False),
    ]
)
RECORDS = [bytes([i % 256]) * (i * 31 % 1000) for i in range(3000)]
#: As many as a batch of 1 MB has: such a batch is lent.
KILOBYTES = [b"%04d" % i * 256 for i in range(1000)]


def values(batch: Any) -> list[bytes]:
    batch.validate(full=True)
    assert batch.schema.equals(SCHEMA)
    found: list[bytes] = batch["value"].to_pylist()
    return found


def offsets(batch: Any) -> list[int]:
    found: list[int] = batch["offset"].to_pylist()
    return found


# ---- pop


def test_a_pop_returns_the_records(any_queue: mmapqueue.Queue) -> None:
    pushed = [b"one", b"", b"three" * 100]
    any_queue.push_many(pushed)
    batch = any_queue.pop_arrow()
    assert (values(batch), offsets(batch)) == (pushed, [0, 1, 2])
    stamped = any_queue.config["timestamps"] in ("true", True)
    times = batch["timestamp"].to_pylist()
    if stamped:
        messages = any_queue.read_many(0, 3)
        assert times == [message.timestamp for message in messages]
        assert times[0].tzinfo is not None
        assert times[0].utcoffset() == timezone.utc.utcoffset(None)
    else:
        assert times == [None, None, None]
    any_queue.ack(batch)
    assert any_queue.lag() == 0


def test_nothing_left_is_an_empty_batch(any_queue: mmapqueue.Queue) -> None:
    batch = any_queue.pop_arrow()
    assert (values(batch), batch.num_rows) == ([], 0)
    any_queue.push(b"x")
    any_queue.pop()
    any_queue.ack(batch)
    any_queue.ack_many(batch)
    assert any_queue.lag() == 1


def test_one_record(any_queue: mmapqueue.Queue) -> None:
    any_queue.push(b"one")
    assert values(any_queue.pop_arrow(1)) == [b"one"]


def test_limits(open_queue: Open) -> None:
    queue = open_queue()
    queue.push_many(KILOBYTES)
    assert queue.pop_arrow(7).num_rows == 7
    assert queue.pop_arrow(max_bytes=3000).num_rows == 2
    assert queue.pop_arrow(max_bytes="5k").num_rows == 5
    assert queue.pop_arrow(max_bytes=1).num_rows == 1
    assert offsets(queue.pop_arrow()) == list(range(15, 1000))
    for wrong in ({"max_records": 0}, {"max_bytes": 0}):
        with pytest.raises(ValueError, match="must be at least 1"):
            queue.pop_arrow(**wrong)


def test_more_than_a_buffer_holds_comes_in_several_batches(open_queue: Open) -> None:
    queue = open_queue(capacity="32m")
    queue.push_many(KILOBYTES * 9)
    batches = []
    while (batch := queue.pop_arrow()).num_rows:
        assert batch["value"].nbytes <= LENT_BYTES
        batches.append(batch)
    assert len(batches) == 3
    assert [value for batch in batches for value in values(batch)] == KILOBYTES * 9


def test_a_record_larger_than_a_buffer(open_queue: Open) -> None:
    queue = open_queue(capacity="64m", max_event_size="10m")
    large = os.urandom(LENT_BYTES + 12_345)
    assert queue.push_arrow(pa.table({"value": [b"before", large, b"after"]})) == 3
    assert [values(queue.pop_arrow()) for _ in range(3)] == [[b"before"], [large], [b"after"]]
    assert values(queue.read_arrow()) == [b"before", large, b"after"]


def test_a_pop_waits_for_the_first_record(
    small_queue: mmapqueue.Queue, in_thread: Callable[[Callable[[], Any]], Any]
) -> None:
    popped = in_thread(lambda: small_queue.pop_arrow(timeout=60))
    small_queue.push(b"late")
    assert values(popped.result()) == [b"late"]


def test_a_closed_queue_raises(small_queue: mmapqueue.Queue) -> None:
    small_queue.close()
    batch = pa.table({"value": [b"x"]})
    for call in (
        small_queue.pop_arrow, small_queue.read_arrow, small_queue.iter_arrow, lambda: small_queue.push_arrow(batch),
    ):  # fmt: skip
        with pytest.raises(mmapqueue.Closed):
            call()


def test_what_was_popped_and_not_delivered_comes_first(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many([b"%d" % i for i in range(10)])
    for message in any_queue.consume(timeout=0):
        assert message.offset == 0
        break
    assert offsets(any_queue.pop_arrow(4)) == [1, 2, 3, 4]
    assert [message.offset for message in any_queue.pop_many(2)] == [5, 6]
    assert offsets(any_queue.pop_arrow()) == [7, 8, 9]


def test_undelivered_records_and_new_ones_are_one_batch(open_queue: Open) -> None:
    queue = open_queue()
    queue.push_many(KILOBYTES)
    for _ in queue.consume(timeout=0, max_records=10):
        break
    batch = queue.pop_arrow()
    assert values(batch) == KILOBYTES[1:]
    assert offsets(batch) == list(range(1, 1000))


def test_requeued_records_are_redelivered(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many([b"a", b"b", b"c", b"d"])
    any_queue.pop_arrow(3)
    any_queue.nack(1)
    assert offsets(any_queue.pop_arrow()) == [1, 3]


def test_dropped_and_unacked_limit_are_raised(open_queue: Open) -> None:
    queue = open_queue(**SMALL, max_unacked=2)
    queue.push_many([b"x"] * 5)
    assert queue.pop_arrow().num_rows == 2
    with pytest.raises(mmapqueue.UnackedLimit):
        queue.pop_arrow()
    assert queue.unacked() == 2


def test_an_ack_of_a_batch(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many([b"x"] * 10)
    first, second, third = any_queue.pop_arrow(3), any_queue.pop_arrow(3), any_queue.pop_arrow()
    any_queue.ack_many(second)
    assert (any_queue.lag(), any_queue.unacked()) == (10, 7)
    any_queue.ack(first)
    assert (any_queue.lag(), any_queue.unacked()) == (4, 4)
    any_queue.ack(third.slice(1, 2), single=True)
    assert any_queue.unacked() == 2
    any_queue.ack_many(pa.Table.from_batches([third.slice(0, 1), third.slice(3)]))
    assert any_queue.lag() == 0
    with pytest.raises(TypeError, match="column offset"):
        any_queue.ack(third.select(["value"]))
    with pytest.raises(TypeError, match="nack takes a message or an offset, not RecordBatch"):
        any_queue.nack(third)


def test_records_that_were_not_popped_cannot_be_acked(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many([b"x"] * 3)
    read = any_queue.read_arrow()
    any_queue.pop_arrow(1)
    for ack in (any_queue.ack, any_queue.ack_many):
        with pytest.raises(mmapqueue.OutOfRange):
            ack(read)
    assert any_queue.lag() == 3


def test_each_record_goes_to_one_thread(open_queue: Open, in_thread: Callable[[Callable[[], Any]], Any]) -> None:
    queue = open_queue(capacity="32m")
    queue.push_many(RECORDS * 4)

    def pop() -> list[int]:
        found: list[int] = []
        while (batch := queue.pop_arrow(500)).num_rows:
            found += offsets(batch)
        return found

    popped = [in_thread(pop) for _ in range(6)]
    assert sorted(offset for each in popped for offset in each.result()) == list(range(len(RECORDS) * 4))


# ---- the memory of a batch


def test_a_batch_stays_valid(open_queue: Open) -> None:
    queue = open_queue()
    queue.push_many(KILOBYTES * 2)
    first = queue.pop_arrow(1000)
    second = queue.pop_arrow(1000)
    queue.ack(second)
    for _ in range(5):
        queue.push_many([b"other" * 200] * 1000)
        queue.ack(queue.pop_arrow())
    assert values(first) == values(second) == KILOBYTES
    queue.close()
    gc.collect()
    assert values(first) == values(second) == KILOBYTES


def test_a_part_of_a_batch_keeps_the_memory(open_queue: Open) -> None:
    queue = open_queue()
    queue.push_many(KILOBYTES)
    part = queue.pop_arrow().slice(500, 3)["value"]
    gc.collect()
    for _ in range(3):
        queue.push_many([b"other" * 200] * 1000)
        queue.ack(queue.pop_arrow())
    assert part.to_pylist() == KILOBYTES[500:503]


def addresses(batch: Any) -> int:
    address: int = batch["value"].buffers()[2].address
    return address


def test_released_memory_is_used_again(open_queue: Open) -> None:
    queue = open_queue(capacity="32m")
    queue.push_many(KILOBYTES * 8)
    held = queue.pop_arrow(1000)
    used = [addresses(held)]
    for _ in range(6):
        used.append(addresses(queue.pop_arrow(1000)))
    assert len(set(used)) == 2
    assert used.count(used[0]) == 1
    assert values(held) == KILOBYTES


def test_when_all_buffers_are_lent_batches_are_copied(open_queue: Open) -> None:
    queue = open_queue(capacity="64m")
    count = MAX_LENT + 6
    queue.push_many(KILOBYTES * count)
    held = [queue.pop_arrow(1000) for _ in range(count)]
    assert all(values(batch) == KILOBYTES for batch in held)
    assert shared_buffer._lent_left == []
    queue.close()
    assert all(values(batch) == KILOBYTES for batch in held)
    del held
    gc.collect()
    assert len(shared_buffer._lent_left) == MAX_LENT


def test_small_batches_are_copied(open_queue: Open) -> None:
    queue = open_queue()
    queue.push_many(KILOBYTES[:100] * 3)
    held = [queue.pop_arrow(100) for _ in range(3)]
    assert all(values(batch) == KILOBYTES[:100] for batch in held)
    assert len(queue._handle.pool._lent) == 0


def test_a_fork_keeps_the_batches_of_the_child(script: Script, tmp_path: Any) -> None:
    out = script.run(
        """
        import os, sys
        import mmapqueue
        queue = mmapqueue.Queue(sys.argv[1])
        queue.push_many([b"kept" * 256] * 1000)
        batch = queue.pop_arrow()
        go, went = os.pipe()
        child = os.fork()
        if child == 0:
            os.read(go, 1)
            same = set(batch["value"].to_pylist()) == {b"kept" * 256}
            os.write(1, b"same" if same else b"changed")
            os._exit(0)
        del batch
        for _ in range(3):
            queue.push_many([b"over" * 256] * 1000)
            queue.pop_arrow()
        queue.close()
        os.write(went, b"x")
        os.waitpid(child, 0)
        """,
        tmp_path / "queue",
    )
    assert out == "same"


@pytest.mark.parametrize("shared", [True, False])
def test_memory_with_a_name_and_none_at_all(open_queue: Open, monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
    monkeypatch.setattr(shared_memory.Allocator, "_map_anonymous" if shared else "_map", lambda *_: None)
    queue = open_queue(lock_timeout=0.0)
    if shared:
        use(queue)
    else:
        with pytest.warns(RuntimeWarning, match="many times slower"):
            use(queue)


def use(queue: mmapqueue.Queue) -> None:
    assert queue.push_arrow(pa.table({"value": RECORDS})) == len(RECORDS)
    assert values(queue.read_arrow()) == RECORDS
    popped: list[bytes] = []
    while (batch := queue.pop_arrow()).num_rows:
        popped += values(batch)
        queue.ack(batch)
    assert popped == RECORDS


def test_an_interrupted_pop_loses_nothing(open_queue: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = open_queue()
    queue.push_many(KILOBYTES)
    from mmapqueue._queue.arrow import reading

    def fail(_chunks: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(reading, "record_batch", fail)
        with pytest.raises(KeyboardInterrupt):
            queue.pop_arrow()
    assert queue.unacked() == 0
    assert queue.pop().data == KILOBYTES[0]
    batch = queue.pop_arrow()
    assert (values(batch), offsets(batch)) == (KILOBYTES[1:], list(range(1, 1000)))


def test_a_pop_that_the_jvm_answered_and_python_did_not_see(open_queue: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = open_queue()
    queue.push_many(KILOBYTES)
    queue.pop_arrow(10)
    buffer = queue._handle.pool.get_lendable()
    assert buffer is not None
    queue._handle.pool.put(buffer)
    pop = buffer.pop

    def lose(*arguments: int) -> int:
        pop(*arguments)
        raise mmapqueue.MmapQueueError("the answer is lost")

    with monkeypatch.context() as patch:
        patch.setattr(buffer, "pop", lose)
        with pytest.raises(mmapqueue.MmapQueueError, match="lost"):
            queue.pop_arrow()
    assert queue.pop().data == KILOBYTES[10]
    assert values(queue.pop_arrow()) == KILOBYTES[11:]


def test_without_pyarrow_the_error_says_what_to_install(tmp_path: Any) -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
import mmapqueue
with mmapqueue.Queue(sys.argv[1]) as queue:
    queue.push(b"x")
    for call in (queue.pop_arrow, queue.read_arrow, queue.iter_arrow, lambda: queue.push_arrow(None)):
        try:
            call()
        except ImportError as error:
            assert "pip install 'mmapqueue[arrow]'" in str(error), error
        else:
            raise AssertionError(call)
    assert queue.pop().data == b"x"
    queue.ack(0)
"""
    subprocess.run([sys.executable, "-c", code, tmp_path / "queue"], check=True, timeout=120)


def test_importing_the_package_imports_no_pyarrow() -> None:
    code = "import sys, mmapqueue; assert 'pyarrow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


# ---- read


def test_a_range_is_half_open(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many([b"%d" % i for i in range(6)])
    assert values(any_queue.read_arrow(1, 3)) == [b"1", b"2"]
    assert offsets(any_queue.read_arrow(4)) == [4, 5]
    assert offsets(any_queue.read_arrow(end=2)) == [0, 1]
    assert offsets(any_queue.read_arrow(4, 100)) == [4, 5]
    assert offsets(any_queue.read_arrow(3, 3)) == offsets(any_queue.read_arrow(6)) == []
    assert any_queue.qsize() == 6
    for wrong in (7, -1):
        with pytest.raises(mmapqueue.OutOfRange):
            any_queue.read_arrow(wrong, 10)
    with pytest.raises(ValueError, match="end = 2: it must be at least first = 3"):
        any_queue.read_arrow(3, 2)


def test_a_large_range_is_one_batch(open_queue: Open) -> None:
    queue = open_queue(capacity="64m")
    queue.push_many(KILOBYTES * 20)
    batch = queue.read_arrow()
    assert values(batch) == KILOBYTES * 20
    assert offsets(batch) == list(range(20_000))


def test_a_reclaimed_record_is_out_of_range(small_queue: mmapqueue.Queue) -> None:
    for _ in range(20):
        small_queue.push_many([b"x" * 1000] * 10)
        small_queue.ack(small_queue.pop_arrow())
    small_queue.push(b"last")
    assert small_queue.first_offset() > 0
    with pytest.raises(mmapqueue.OutOfRange):
        small_queue.read_arrow(0)
    assert offsets(small_queue.read_arrow())[0] >= small_queue.first_offset()


def test_a_reader_reads_batch_by_batch(open_queue: Open) -> None:
    queue = open_queue(capacity="32m")
    queue.push_many(KILOBYTES * 9)
    reader = queue.iter_arrow()
    assert reader.schema.equals(SCHEMA)
    queue.push(b"later")
    batches = list(reader)
    assert len(batches) == 3
    assert [value for batch in batches for value in values(batch)] == KILOBYTES * 9
    assert [batch.num_rows for batch in queue.iter_arrow(5, 12, max_records=3)] == [3, 3, 1]
    with pytest.raises(ValueError, match="max_records = 0"):
        queue.iter_arrow(max_records=0)
    with pytest.raises(mmapqueue.OutOfRange):
        queue.iter_arrow(100_000)


def test_an_error_within_a_reader_is_raised_as_it_is(small_queue: mmapqueue.Queue) -> None:
    small_queue.push_many([b"x"] * 10)
    reader = small_queue.iter_arrow(max_records=5)
    assert next(reader).num_rows == 5
    small_queue.close()
    with pytest.raises(mmapqueue.Closed):
        next(reader)


# ---- push


@pytest.mark.parametrize(
    "kind",
    [pa.binary(), pa.large_binary(), pa.string(), pa.large_string(), pa.binary_view(), pa.string_view(),
     pa.dictionary(pa.int32(), pa.string()), pa.binary(3)],
    ids=str,
)  # fmt: skip
def test_every_kind_of_binary_and_text(any_queue: mmapqueue.Queue, kind: Any) -> None:
    texts = ["abc", "xyz", "äb"] if kind == pa.binary(3) else ["", "abc", "Zürich", "x" * 5000]
    plain = pa.array([text.encode() for text in texts]) if "binary" in str(kind) else pa.array(texts)
    array = plain.cast(kind) if not pa.types.is_dictionary(kind) else plain.dictionary_encode()
    assert any_queue.push_arrow(pa.record_batch({"any name": array})) == len(texts)
    assert data(any_queue) == [text.encode() for text in texts]


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()], ids=str)
def test_slices_and_chunks(open_queue: Open, atomic: bool, kind: Any) -> None:
    queue = open_queue(capacity="32m")
    array = pa.array(RECORDS, kind)
    chunked = pa.chunked_array([array.slice(100, 1000), array.slice(0, 0), array.slice(2500), array.slice(7, 1)])
    table = pa.table({"other": pa.nulls(len(chunked)), "value": chunked})
    expected = RECORDS[100:1100] + RECORDS[2500:] + RECORDS[7:8]
    assert queue.push_arrow(table, atomic=atomic) == len(expected)
    assert queue.push_arrow(table.slice(3, 1200), atomic=atomic) == 1200
    assert data(queue) == expected + expected[3:1203]


def test_no_rows(any_queue: mmapqueue.Queue) -> None:
    for atomic in (False, True):
        assert any_queue.push_arrow(pa.table({"value": pa.array([], pa.binary())}), atomic=atomic) == 0
    assert any_queue.push_arrow(pa.record_batch({"value": pa.array([b"x"])}).slice(1)) == 0
    assert any_queue.end_offset() == 0


def test_a_stream(any_queue: mmapqueue.Queue) -> None:
    class Frame:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pa.table({"value": ["a", "b"]}).__arrow_c_stream__(requested_schema)

    batches = [pa.record_batch({"value": [b"%d" % i]}) for i in range(3)]
    assert any_queue.push_arrow(pa.RecordBatchReader.from_batches(batches[0].schema, batches)) == 3
    assert any_queue.push_arrow(Frame()) == 2
    assert data(any_queue) == [b"0", b"1", b"2", b"a", b"b"]


def test_what_was_popped_can_be_pushed(open_queue: Open, tmp_path: Any) -> None:
    source, target = open_queue(), open_queue(tmp_path / "target")
    source.push_many(KILOBYTES)
    while (batch := source.pop_arrow(300)).num_rows:
        assert target.push_arrow(batch) == batch.num_rows
        source.ack(batch)
    assert data(target) == KILOBYTES


@pytest.mark.parametrize("atomic", [False, True])
def test_a_null_is_no_record(any_queue: mmapqueue.Queue, atomic: bool) -> None:
    chunked = pa.chunked_array([[b"a", b"b"], [b"c", None]])
    with pytest.raises(ValueError, match="row 3 is null") as caught:
        any_queue.push_arrow(pa.table({"value": chunked}), atomic=atomic)
    assert caught.value.pushed == 0  # type: ignore[attr-defined]
    assert any_queue.end_offset() == 0
    encoded = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    with pytest.raises(ValueError, match="row 1 is null"):
        any_queue.push_arrow(pa.table({"value": encoded}))


def test_what_cannot_be_pushed(any_queue: mmapqueue.Queue) -> None:
    with pytest.raises(TypeError, match="column n is int64; expected binary or string"):
        any_queue.push_arrow(pa.table({"n": [1]}))
    with pytest.raises(ValueError, match="the columns are a, b; expected a single one"):
        any_queue.push_arrow(pa.table({"a": [b"x"], "b": [b"y"]}))
    with pytest.raises(ValueError, match="the columns are none"):
        any_queue.push_arrow(pa.table({}))
    for wrong in (b"x", [b"x"], None, pa.array([b"x"])):
        with pytest.raises(TypeError, match="push_arrow takes a RecordBatch"):
            any_queue.push_arrow(wrong)


def test_a_full_queue_says_how_many_were_pushed(small_queue: mmapqueue.Queue) -> None:
    table = pa.table({"value": [b"%04d" % i * 250 for i in range(200)]})
    with pytest.raises(mmapqueue.Full) as caught:
        small_queue.push_arrow(table, timeout=0)
    assert 0 < caught.value.pushed < 200
    assert data(small_queue) == table["value"].to_pylist()[: caught.value.pushed]
    with pytest.raises(mmapqueue.Full) as caught:
        small_queue.push_arrow(table.slice(0, 50), block=False, atomic=True)
    assert caught.value.pushed == 0


def test_a_record_that_is_too_large(small_queue: mmapqueue.Queue) -> None:
    table = pa.table({"value": [b"a", b"b", b"x" * 8001, b"c"]})
    with pytest.raises(mmapqueue.TooLarge) as caught:
        small_queue.push_arrow(table)
    assert caught.value.pushed == 2
    with pytest.raises(mmapqueue.TooLarge):
        small_queue.push_arrow(table, atomic=True)
    assert data(small_queue) == [b"a", b"b"]
    assert small_queue.push_arrow(table.slice(0, 2)) == 2


def test_a_push_waits_for_room(small_queue: mmapqueue.Queue) -> None:
    table = pa.table({"value": [b"%04d" % i * 250 for i in range(400)]})
    pushing = threading.Thread(target=small_queue.push_arrow, args=(table,))
    small_queue.consumer("reader")
    popped: list[bytes] = []
    pushing.start()
    reader = small_queue.consumer("reader")
    while len(popped) < 400:
        batch = reader.pop_arrow(timeout=60)
        popped += values(batch)
        reader.ack(batch)
    pushing.join()
    assert popped == table["value"].to_pylist()
