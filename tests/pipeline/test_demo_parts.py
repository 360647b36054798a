"""The parts of the demo that need no Spark: inputs, journals, comparison, view, plot."""

import io
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "log_pipeline"))

import demo
import inputs
import journal
import mmapqueue
import outputs
import plot
import services
import view
from compare import File
from conftest import eventually
from journal import Journal
from mmapqueue.pipeline import Event
from mmapqueue.pipeline._event import encode
from mmapqueue.pipeline.event_pb2 import EventType, LogList
from outputs import Row

# ---- inputs


def test_text_files_are_found_and_large_ones_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("one\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "large.log").write_text("x" * 100)
    (tmp_path / "binary").write_bytes(b"\0\1")
    (tmp_path / "packed.gz").write_text("no")
    (tmp_path / "empty").touch()
    taken, left_out = inputs.find(str(tmp_path), most_bytes=50)
    assert taken == [tmp_path / "a.log"]
    assert left_out == [tmp_path / "sub" / "large.log"]
    taken, _ = inputs.find(f"{tmp_path / 'sub' / 'large.log'}:{tmp_path}", most_bytes=50)
    assert taken == [tmp_path / "a.log", tmp_path / "sub" / "large.log"], "a file that is named is taken"


def test_a_missing_path_of_logs_ends_the_demo(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="there is no"):
        inputs.find(str(tmp_path / "missing"))


@pytest.mark.parametrize(
    ("content", "size"),
    [(b"one\ntwo\n", 8), (b"one\ntwo", 4), (b"no end", 6), (b"a\n" + b"x" * 70_000, 2), (b"", 0)],
)
def test_a_file_is_measured_up_to_its_last_newline(tmp_path: Path, content: bytes, size: int) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    measured = inputs.measure(path)
    assert measured == File(path, path.stat().st_ino, size)
    assert inputs.unchanged(measured)
    path.write_bytes(content + b"more\n")
    assert inputs.unchanged(measured), "it may grow"
    path.unlink()
    assert not inputs.unchanged(measured)


def test_a_growing_log_holds_all_lines_and_is_rotated(tmp_path: Path) -> None:
    log = inputs.GrowingLog(tmp_path / "app.log", lines=1000, rate=1e6, hold=700)
    log.start()
    assert eventually(lambda: log.written == 700)
    log.hold = 1000
    assert eventually(log.done)
    log.stop()
    old, new = (tmp_path / "app.log.1").read_bytes(), (tmp_path / "app.log").read_bytes()
    assert old.count(b"\n") == 500
    numbers = [int(line.rpartition(b"n=")[2]) for line in (old + new).splitlines()]
    assert numbers == list(range(1000))
    assert sorted(log.paths) == [tmp_path / "app.log", tmp_path / "app.log.1"]


# ---- journals


def test_a_journal_says_what_was_sent_and_answered(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    noted = Journal(path)
    follower = journal.Follower(path)
    first = noted.sent("logs", [0, 1, 2])
    second = noted.sent("spans", [7])
    third = noted.sent("logs", [3, 9])
    between = time.time()
    noted.answered(first)
    noted.failed(second)
    follower.poll()
    assert (follower.accepted, follower.open) == (3, {third: 2})
    noted.answered(third)
    noted.close()
    follower.poll()
    assert (follower.accepted, follower.open) == (5, {})
    assert follower.answered == {"logs": 2}
    with path.open("a") as file:
        file.write('{"what": "se')  # being written
    requests = journal.read(path)
    assert [(each.kind, each.numbers) for each in requests] == [("logs", [0, 1, 2]), ("spans", [7]), ("logs", [3, 9])]
    assert [each.answered is not None for each in requests] == [True, False, True]
    assert all(each.open_at(between) for each in requests)
    assert not requests[0].open_at(time.time())


def test_a_journal_that_does_not_exist_yet_is_empty(tmp_path: Path) -> None:
    assert journal.read(tmp_path / "none") == []
    follower = journal.Follower(tmp_path / "none")
    follower.poll()
    assert follower.accepted == 0


# ---- outputs


def otlp_logs(numbers: Sequence[int]) -> bytes:
    message = ExportLogsServiceRequest()
    records = message.resource_logs.add().scope_logs.add().log_records
    for number in numbers:
        attribute = records.add().attributes.add()
        attribute.key, attribute.value.int_value = "number", number
    return message.SerializeToString()


def payloads() -> Iterator[tuple[bytes, tuple[str, list[int]]]]:
    from skywalking.protocol.common.Common_pb2 import KeyStringValuePair
    from skywalking.protocol.language_agent.Tracing_pb2 import SegmentObject, SpanObject
    from skywalking.protocol.logging.Logging_pb2 import LogData, LogDataBody, TextLog

    logs = f"{outputs.OTLP}logs"
    yield encode(type=EventType.LOGGING, content_type=logs, data=otlp_logs([3, 4])), ("logs", [3, 4])
    traces = ExportTraceServiceRequest()
    attribute = traces.resource_spans.add().scope_spans.add().spans.add().attributes.add()
    attribute.key, attribute.value.int_value = "number", 5
    content_type = f"{outputs.OTLP}traces"
    data = traces.SerializeToString()
    yield encode(type=EventType.TRACING, content_type=content_type, data=data), ("spans", [5])
    segment = SegmentObject(spans=[SpanObject(tags=[KeyStringValuePair(key="number", value="6")])])
    yield encode(type=EventType.TRACING, segment=segment.SerializeToString()), ("segments", [6])
    texts = [LogData(body=LogDataBody(text=TextLog(text=f"order number={n}"))).SerializeToString() for n in (7, 8)]
    yield encode(type=EventType.LOGGING, logs=texts), ("stream logs", [7, 8])


def test_numbers_are_found_in_every_payload() -> None:
    for record, expected in payloads():
        assert outputs.numbers_of(outputs.row_of(Event.FromString(record))) == expected


def test_a_payload_of_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="text/html"):
        outputs.numbers_of(Row("text/html", b"", {}))


def test_a_queue_gives_its_events(tmp_path: Path) -> None:
    records = [record for record, _ in payloads()]
    with mmapqueue.Queue(tmp_path / "copy", capacity="1m", segment_size="64k") as queue:
        queue.push_many(records)
    rows = list(outputs.rows_of_queue(tmp_path / "copy"))
    assert rows[0].data == otlp_logs([3, 4])
    assert LogList.FromString(rows[3].data).logs
    assert list(outputs.rows_of_queue(tmp_path / "copy")) == [], "a comparison of its own begins where this one ended"


def write_parquet(path: Path, data: Sequence[bytes]) -> None:
    meta = pa.array([[("position", "0")]] * len(data), pa.map_(pa.string(), pa.string()))
    table = {"content_type": ["text/plain"] * len(data), "data": pa.array(data, pa.binary()), "meta": meta}
    parquet.write_table(pa.table({**table, "source": ["/log"] * len(data)}), path)


def test_only_files_that_spark_has_committed_count(tmp_path: Path) -> None:
    log = tmp_path / "_spark_metadata"
    log.mkdir()
    for number in range(4):
        write_parquet(tmp_path / f"part-{number}.parquet", [b"%d" % number])

    def entries(*numbers: int) -> str:
        lines = [json.dumps({"path": f"file://{tmp_path}/part-{n}.parquet", "action": "add"}) for n in numbers]
        return "\n".join(["v1", *lines])

    (log / "0").write_text(entries(9))  # deleted since: the compaction has what counts
    (log / "1.compact").write_text(entries(0, 1))
    (log / "2").write_text(entries(3))
    (log / ".3.crc").write_text("")
    assert [row.data for row in outputs.rows_of_parquet(tmp_path)] == [b"0", b"1", b"3"]


# ---- view and plot


def checkpoint(directory: Path, offsets: dict[int, int], commits: Sequence[int]) -> Path:
    for name in ("offsets", "commits"):
        (directory / name).mkdir(parents=True)
    for batch, end in offsets.items():
        (directory / "offsets" / str(batch)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{{"0":{end},"1":1}}')
    for batch in commits:
        (directory / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return directory


def test_a_checkpoint_says_what_is_committed(tmp_path: Path) -> None:
    assert view.committed(tmp_path / "none") == 0
    assert view.unfinished(tmp_path / "none") == 0
    begun = checkpoint(tmp_path / "begun", {0: 99}, [])
    assert (view.committed(begun), view.unfinished(begun)) == (0, 100)
    more = checkpoint(tmp_path / "more", {0: 99, 1: 149}, [0])
    assert (view.committed(more), view.unfinished(more)) == (100, 50)
    done = checkpoint(tmp_path / "done", {0: 99, 1: 149}, [0, 1])
    assert (view.committed(done), view.unfinished(done)) == (150, 0)


def samples() -> list[view.Sample]:
    return [view.Sample(100.0 + t, 10 * t, t, 20 * t, {"archive": 10 * t, "copy": 5 * t}) for t in range(10)]


def test_rates_are_those_of_each_second() -> None:
    taken = samples()
    times = [each.time for each in taken]
    assert plot.rates(times, [each.stored for each in taken])[1] == [20.0] * 9
    assert plot.best(times, [each.sent["copy"] for each in taken]) == 5.0
    assert plot.best([], []) == 0.0
    assert plot.batch_rates([0.0, 1.0, 2.0, 4.0, 5.0], [0, 0, 10, 10, 40]) == ([2.0, 5.0], [5.0, 10.0])
    assert plot.best_batch(times, [each.sent["copy"] for each in taken]) == 5.0
    assert taken[-1].lag("copy") == 135


def test_a_watch_sees_queue_checkpoints_and_journals(tmp_path: Path) -> None:
    client = Journal(tmp_path / "client")
    client.sent("logs", [1, 2])
    client.close()
    done = checkpoint(tmp_path / "archive", {0: 1}, [0])
    watch = view.Watch(tmp_path / "queue", {"archive": done}, [tmp_path / "client"], tmp_path / "samples")
    assert watch.sample(0).stored == 0, "the queue is not made yet"
    with mmapqueue.Queue(tmp_path / "queue", capacity="1m", segment_size="64k") as queue:
        queue.push_many([b"one", b"two", b"three"])
    sample = watch.sample(7)
    watch.close()
    assert (sample.stored, sample.sent, sample.lag("archive"), sample.lines) == (3, {"archive": 2}, 1, 7)
    assert watch.open_requests() == (1, 2)
    assert plot.samples(tmp_path / "samples")[-1] == sample


def test_a_plot_is_drawn(tmp_path: Path) -> None:
    marks = [{"time": 103.0, "text": "gather killed"}, {"time": 105.0, "text": "gather back"}]
    plot.draw(tmp_path / "run.png", samples(), marks)
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_legends_and_names_of_marks_cover_no_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(plt, "close", figures.append)
    plot.draw(tmp_path / "run.png", samples(), [{"time": 101.0, "text": "process killed"}])
    (figure,) = figures
    monkeypatch.undo()
    curves = [
        line.get_window_extent() for axes in figure.axes for line in axes.get_lines() if np.size(line.get_xdata()) > 2
    ]
    assert len(curves) == 5
    names = [text for axes in figure.axes for text in axes.texts]
    assert [text.get_text() for text in names] == ["process killed"]
    for covering in [*names, *(axes.get_legend() for axes in figure.axes)]:
        assert covering is not None
        extent = covering.get_window_extent()
        assert not any(extent.overlaps(curve) for curve in curves), covering
    plt.close(figure)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_view_shows_rates_and_lag(terminal: bool) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=120)
    with view.View(console, 100) as shown:
        shown.doing("Spark is starting")
        for sample in samples():
            shown.show(sample)
            shown._plain_at = 0.0
    text = out.getvalue()
    assert "Spark is starting" in text
    assert "180" in text, "records in the queue"
    assert "135" in text, "lag of the sender that is last"


def test_a_view_without_a_terminal_says_what_it_waits_for_and_how_long_that_takes() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=False, width=80)
    (sample, *_) = samples()
    with view.View(console, 100) as shown:
        shown.doing("Spark is starting", "15 to 40 s")
        for _ in range(3):
            shown.show(sample)
            shown._plain_at = 0.0
        shown.doing("Spark is starting", "15 to 40 s")
    said, figures, *waits = (line[10:] for line in out.getvalue().splitlines())
    assert said == "Spark is starting: usually 15 to 40 s"
    assert figures.startswith("queue: 0 records")
    assert waits == ["Spark is starting (0 s, usually 15 to 40 s)"] * 2, "once for each wait, and while nothing changes"


# ---- services and the directory of a run


def test_a_service_is_killed_with_its_children(tmp_path: Path) -> None:
    service = services.Service("sleeper", ["sh", "-c", "sleep 1000 & sleep 1000 & echo ready: yes; wait"], tmp_path)
    service.start()
    assert eventually(lambda: service.said("ready:"))
    assert service._process is not None
    children = services.descendants(service._process.pid)
    assert len(children) == 2
    before = time.time()
    assert service.kill() >= before
    assert not service.running
    assert eventually(lambda: not any(_alive(pid) for pid in children))


def _alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_service_that_fails_is_named_with_its_log(tmp_path: Path) -> None:
    service = services.Service("failing", ["sh", "-c", "echo why; exit 3"], tmp_path)
    service.start()

    with pytest.raises(services.ServiceError, match=r"status 3[^$]*why"):
        eventually(service.ended)


def test_only_the_directory_of_an_earlier_run_is_removed(tmp_path: Path) -> None:
    demo.fresh(tmp_path / "out")
    (tmp_path / "out" / "old").touch()
    demo.fresh(tmp_path / "out")
    assert not (tmp_path / "out" / "old").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(SystemExit, match="holds something else"):
        demo.fresh(tmp_path / "other")


def test_a_path_with_special_characters_is_matched_alone(tmp_path: Path) -> None:
    path = tmp_path / "a[1]*?.log"
    path.touch()
    (tmp_path / "a1x.log").touch()
    import glob

    assert glob.glob(services.glob_of(path)) == [str(path)]  # noqa: PTH207
    assert Counter(glob.glob(services.glob_of(tmp_path / "a1x.log"))) == Counter([str(tmp_path / "a1x.log")])  # noqa: PTH207
