"""Batches of Arrow in pandas, polars and DuckDB, in one line each: `make test-frames`."""

import json
from typing import Any

import pytest

import mmapqueue
from conftest import Open, data

ROWS = [{"city": "Zürich", "n": 1}, {"city": "Bern", "n": 2}, {"city": "Zürich", "n": 3}]


@pytest.fixture
def queue(open_queue: Open) -> mmapqueue.Queue:
    opened = open_queue()
    opened.push_many([json.dumps(row, ensure_ascii=False).encode() for row in ROWS])
    return opened


def test_pandas(queue: mmapqueue.Queue) -> None:
    pandas: Any = pytest.importorskip("pandas", reason="make test-frames has it")
    frame = queue.pop_arrow().to_pandas()
    assert list(frame.columns) == ["offset", "timestamp", "value"]
    assert [json.loads(value) for value in frame["value"]] == ROWS
    assert frame["offset"].tolist() == [0, 1, 2]
    assert str(frame["timestamp"].dtype) == "datetime64[us, UTC]"
    assert queue.iter_arrow().read_pandas()["value"].tolist() == frame["value"].tolist()
    assert queue.push_arrow(pandas.DataFrame({"value": ["a", "b"]})) == 2
    assert data(queue) == [b"a", b"b"]


def test_polars(queue: mmapqueue.Queue) -> None:
    polars: Any = pytest.importorskip("polars", reason="make test-frames has it")
    frame = polars.from_arrow(queue.pop_arrow())
    assert frame["offset"].to_list() == [0, 1, 2]
    assert [json.loads(value) for value in frame["value"]] == ROWS
    assert polars.from_arrow(queue.read_arrow()).equals(frame)
    decoded = frame.select(polars.col("value").cast(polars.String).str.json_decode(polars.Struct({"n": polars.Int64})))
    assert decoded.unnest("value")["n"].sum() == 6
    assert queue.push_arrow(polars.DataFrame({"value": ["a", "b" * 100]})) == 2
    assert data(queue) == [b"a", b"b" * 100]


def test_duckdb(queue: mmapqueue.Queue) -> None:
    duckdb: Any = pytest.importorskip("duckdb", reason="make test-frames has it")
    batch = queue.read_arrow()
    query = 'SELECT count(*), min("offset"), sum(strlen(decode(value))) FROM batch'
    assert batch.num_rows == 3
    assert duckdb.sql(query).fetchall()[0][:2] == (3, 0)
    stream = queue.iter_arrow(max_records=2)
    assert stream.schema == batch.schema
    assert duckdb.sql('SELECT max("offset") FROM stream').fetchall() == [(2,)]
    assert queue.push_arrow(duckdb.sql("SELECT 'row ' || i AS value FROM range(3) t(i)")) == 3
    assert queue.read_arrow(3)["value"].to_pylist() == [b"row 0", b"row 1", b"row 2"]
