"""Batches of Apache Arrow: read by offset, and pushed."""

import threading
from typing import Any

import pyarrow as pa
import pytest
from arrow_batches import KILOBYTES, RECORDS, SCHEMA, offsets, values

import mmapqueue
from conftest import Open, data


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
    for wrong in (b"x", [b"x"], None, pa.array([b"x"]), pa.chunked_array([[b"x"]])):
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


@pytest.mark.parametrize("atomic", [False, True])
def test_sync_returns_when_the_records_are_durable(open_queue: Open, atomic: bool) -> None:
    # Nothing is flushed by itself.
    never = 2**31 - 1
    queue = open_queue(flush_period="24d", flush_ceiling_num=never, max_event_size="1m")
    for sync in (False, True):
        queue.push_arrow(pa.table({"value": [b"x"] * 10}), atomic=atomic, sync=sync)
        stats = queue.stats()
        assert (stats.durable_position == stats.end_position) is sync
