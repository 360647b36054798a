"""Events on Spark: the functions of the catalog, and the filters. What the decoders make of bytes is tested in Java."""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import mmapqueue
from mmapqueue.pipeline import EventType, encode, events, events_batch, explode

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from mmapqueue.pipeline.process import filters
from mmapqueue.pipeline.process.events import record

TIME = 1_760_000_000_123
LINES = "text/plain"


@pytest.fixture(scope="module")
def queue_dir(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A queue that only batches read: a stream acks."""
    return filled(spark, tmp_path_factory.mktemp("pipe") / "queue")


def filled(spark: SparkSession, path: Path) -> Path:
    """A queue with four events; the second is not an event, the third holds what its content type does not say."""
    log = {"level": "info", "status": 200}
    records = [
        encode(
            type=EventType.LOGGING,
            content_type=LINES,
            data=b"GET /a\nPOST /b\n" + json.dumps(log).encode(),
            name="access",
            time_ms=TIME,
            meta={"peer": "1.2.3.4"},
            fields={"n": 1, "deep": {"list": [True, None]}},
            id="first",
            source="http",
        ),
        b"\xff no event",
        encode(type=EventType.TRACING, content_type="application/x-protobuf; proto=otlp.traces", data=b"\xff", id="3"),
        encode(type=EventType.LOGGING, content_type=LINES, data=b"GET /a", id="first", time_ms=TIME),
    ]
    with mmapqueue.Queue(path, spark=spark, segment_size="64k") as queue:
        queue.push_many(records)
    return path


def collected(frame: DataFrame, *order: str) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.orderBy(*(order or ("offset",))).collect()]


def test_columns_of_events(spark: SparkSession, queue_dir: Path) -> None:
    rows = collected(events_batch(spark, queue_dir))
    first = rows[0]
    assert json.loads(first.pop("fields")) == {"n": 1, "deep": {"list": [True, None]}}
    assert first.pop("pushed") is not None
    assert first == {
        "time": datetime.fromtimestamp(TIME / 1000, timezone.utc).replace(tzinfo=None),
        "name": "access",
        "type": "Logging",
        "remote": True,
        "meta": {"peer": "1.2.3.4"},
        "content_type": LINES,
        "data": b'GET /a\nPOST /b\n{"level": "info", "status": 200}',
        "id": "first",
        "source": "http",
        "partition": 0,
        "offset": 0,
        "error": None,
    }
    assert bytes(rows[1]["data"]) == b"\xff no event"
    assert rows[1]["error"]
    assert rows[1]["type"] is None
    assert [row["type"] for row in rows[2:]] == ["Tracing", "Logging"]


def test_a_key_that_comes_twice_ends_no_query(spark: SparkSession, tmp_path: Path) -> None:
    with mmapqueue.Queue(tmp_path / "queue", spark=spark, segment_size="64k") as queue:
        queue.push(
            encode(
                type=EventType.LOGGING,
                content_type="text/x-syslog",
                data=b'<34>1 - - - - - [origin ip="192.0.2.1" ip="192.0.2.129"] x',
            )
        )
    rows = explode(events_batch(spark, tmp_path / "queue"), "logs")
    parsed = filters.parse_json(rows, "attributes", "facility int, origin struct<ip: array<string>>")
    (row,) = parsed.select("facility", "origin").collect()
    assert (row.facility, row.origin.ip) == (4, ["192.0.2.1", "192.0.2.129"])
    if spark.version >= "4":
        (row,) = rows.selectExpr("parse_json(attributes) AS v").selectExpr("v:facility::int AS f").collect()
        assert row.f == 4


@pytest.mark.parametrize(
    ("content_type", "data"),
    [
        ("text/plain; version=0.0.4; charset=utf-8", b'# TYPE up gauge\nup{job="a"} 1\n'),
        ("application/openmetrics-text; version=1.0.0", b'# TYPE up gauge\nup{job="a"} 1\n# EOF\n'),
    ],
)
def test_a_scrape_is_points(spark: SparkSession, tmp_path: Path, content_type: str, data: bytes) -> None:
    with mmapqueue.Queue(tmp_path / "queue", spark=spark, segment_size="64k") as queue:
        queue.push(encode(type=EventType.METRICS, content_type=content_type, data=data, source="http://a/metrics"))
    (row,) = explode(events_batch(spark, tmp_path / "queue"), "points").collect()
    assert (row.name, row.kind, row.value, row.attributes) == ("up", "gauge", 1.0, '{"job":"a"}')
    assert (row.source, row.error) == ("http://a/metrics", None)


def test_an_event_is_decoded_once(spark: SparkSession, queue_dir: Path) -> None:
    frame = events_batch(spark, queue_dir).where("error IS NULL AND type = 'Logging'")
    assert str(frame._jdf.queryExecution().executedPlan().toString()).count("EventRowsFunction") == 1
    rows = explode(frame, "logs").where("error IS NULL AND body LIKE 'GET%'").select("body", "service")
    assert str(rows._jdf.queryExecution().executedPlan().toString()).count("LogsFunction") == 1


def test_explode(spark: SparkSession, queue_dir: Path) -> None:
    frame = explode(events_batch(spark, queue_dir), "logs")
    rows = collected(frame, "offset", "index")
    assert [(row["offset"], row["index"], row["body"]) for row in rows if row["error"] is None] == [
        (0, 0, "GET /a"),
        (0, 1, "POST /b"),
        (0, 2, '{"level": "info", "status": 200}'),
        (3, 0, "GET /a"),
    ]
    assert rows[0]["time"] == rows[0]["event_time"] is not None
    assert rows[0]["event_name"] == "access"
    assert rows[0]["data"] is None
    wrong = [row for row in rows if row["error"] is not None]
    assert [(row["offset"], bytes(row["data"])) for row in wrong] == [(1, b"\xff no event"), (2, b"\xff")]
    assert "has no log records" in wrong[1]["error"]
    spans = collected(explode(events_batch(spark, queue_dir).where("offset = 2"), "spans"))
    assert spans[0]["error"].startswith(
        "spans of application/x-protobuf; proto=otlp.traces: truncated varint at byte 0"
    )
    with pytest.raises(ValueError, match="allowed: logs, spans, points"):
        explode(frame, "lines")  # type: ignore[arg-type]


def test_records_are_the_inverse_of_events(spark: SparkSession, queue_dir: Path, tmp_path: Path) -> None:
    decoded = events_batch(spark, queue_dir).where("error IS NULL")
    mmapqueue.write(decoded.select(record(decoded).alias("value")), tmp_path / "copy")
    position = ("offset", "pushed")
    assert collected(events_batch(spark, tmp_path / "copy").drop(*position), "id", "name") == collected(
        decoded.drop(*position), "id", "name"
    )
    # Missing columns are empty.
    bare = decoded.select("data", "content_type", sql.create_map(sql.lit("k"), sql.lit("v")).alias("meta"))
    mmapqueue.write(bare.select(record(bare).alias("value")), tmp_path / "bare")
    row = collected(events_batch(spark, tmp_path / "bare"))[0]
    assert (row["type"], row["remote"], row["time"], row["meta"]) == ("Other", True, None, {"k": "v"})


def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    stream = explode(events(spark, filled(spark, tmp_path / "queue"), max_offsets_per_trigger=2), "logs").where(
        "error IS NULL"
    )
    rows = filters.dedupe(filters.sample(stream, 1.0), ["id", "body"], within=timedelta(minutes=1))
    query = (
        rows.writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(180)
    assert query.exception() is None
    bodies = [row.body for row in spark.read.parquet(str(tmp_path / "out")).collect()]
    assert sorted(bodies) == ["GET /a", "POST /b", '{"level": "info", "status": 200}']


def test_fields_as_variant(spark: SparkSession, queue_dir: Path) -> None:
    if spark.version < "4":
        with pytest.raises(ValueError, match="needs Spark 4"):
            events_batch(spark, queue_dir, fields="variant")
        return
    frame = events_batch(spark, queue_dir, fields="variant").where("offset = 0")
    assert frame.selectExpr("fields:n::int AS n").first() == (1,)


def test_filters_of_columns(spark: SparkSession, queue_dir: Path) -> None:
    rows = explode(events_batch(spark, queue_dir), "logs").where("error IS NULL")
    kept = filters.Where(condition="body LIKE '{%'").apply(rows)
    parsed = filters.ParseJson(fields={"level": "string", "status": "int"}).apply(kept)
    assert filters.Select(columns=["level", "status + 1 AS next"]).apply(parsed).first() == ("info", 201)
    nested = filters.parse_json(kept, "body", "status int", into="parsed").select("parsed.status").first()
    assert nested == (200,)
    texts = spark.createDataFrame(
        [(each,) for each in (None, "", "plain", "5", "[1]", "{", '{"b": 1}', '{"a": "x"}', '{"a": 7}')], "t string"
    )
    made = filters.parse_json(texts, "t", "a int", into="made").select("made").collect()
    assert [row.made and row.made.asDict() for row in made] == [None] * 6 + [{"a": None}] * 2 + [{"a": 7}]
    found = filters.Regex(pattern=r"^(?<method>[A-Z]+) (?:x|)(?<path>/\w)").apply(rows)
    assert collected(found.select("offset", "index", "method", "path"), "offset", "index")[:3] == [
        {"offset": 0, "index": 0, "method": "GET", "path": "/a"},
        {"offset": 0, "index": 1, "method": "POST", "path": "/b"},
        {"offset": 0, "index": 2, "method": None, "path": None},
    ]
    assert filters.regex(rows, "body", "(?<m>POST)", keep_others=False).count() == 1
    assert "body" not in filters.Drop(columns=["body", "scope"]).apply(rows).columns
    with pytest.raises(ValueError, match="drop: no column nothing"):
        filters.Drop(columns=["nothing"]).apply(rows)


def test_samples_are_the_same_each_time(spark: SparkSession) -> None:
    rows = spark.range(4000).selectExpr("0 AS partition", "id AS offset")
    some = {row.offset for row in filters.Sample(fraction=0.25).apply(rows).collect()}
    again = {row.offset for row in filters.sample(rows.repartition(3), 0.25).collect()}
    assert some == again
    assert 800 < len(some) < 1200
    assert filters.sample(rows, 0).count() == 0
    assert filters.sample(rows, 1).count() == 4000


def test_rows_without_keys_are_kept(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [(0, 0, "a"), (0, 1, "a"), (0, 2, None), (0, 3, None)], "partition int, offset int, id string"
    )
    assert filters.dedupe(rows, ["id"], within=timedelta(minutes=1)).count() == 3


def doubled(frame: DataFrame, times: int = 2) -> DataFrame:
    return frame.selectExpr("*", f"offset * {times} AS more")


def none(frame: DataFrame) -> None:
    assert frame.columns


def test_a_function_of_python(spark: SparkSession) -> None:
    rows = spark.range(3).selectExpr("id AS offset")
    made = filters.PythonFilter(function=f"{__name__}:doubled", arguments={"times": 3}).apply(rows)
    assert [row.more for row in made.orderBy("offset").collect()] == [0, 3, 6]
    with pytest.raises(TypeError, match="returned NoneType"):
        filters.python(rows, f"{__name__}:none")
    with pytest.raises(ValueError, match="there is no function"):
        filters.python(rows, f"{__name__}:missing")


@pytest.mark.parametrize(
    ("plugin", "options"),
    [
        (filters.Sample, {"fraction": 1.5}),
        (filters.Regex, {"pattern": "no groups"}),
        (filters.Regex, {"pattern": "(?P<name>python)"}),
        (filters.Regex, {"pattern": r"\(?<name>\)"}),
        (filters.PythonFilter, {"function": "os.system"}),
        (filters.Explode, {"rows": "lines"}),
        (filters.Dedupe, {"within": "0s"}),
        (filters.ParseJson, {"fields": {}}),
        (filters.Where, {"condition": "x", "unknown": 1}),
    ],
)
def test_options_out_of_range(plugin: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        plugin(**options)
