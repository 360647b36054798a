"""Statsd: lines as data points of OTLP, over UDP and TCP."""

import socket
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from pydantic import ValidationError

import mmapqueue
from mmapqueue.pipeline import EventType
from mmapqueue.pipeline.gather.receivers._points import Points
from mmapqueue.pipeline.gather.receivers.statsd import StatsdReceiver
from mmapqueue.pipeline.gather.wire import Malformed

from .serving import FakeInbox, Serving, wait_for

UDP, TCP = "udp://127.0.0.1:0", "tcp://127.0.0.1:0"
NOW = 1_760_000_000_123_456_789


def metrics(request: bytes) -> list[Any]:
    parsed = ExportMetricsServiceRequest.FromString(request)
    return list(parsed.resource_metrics[0].scope_metrics[0].metrics)


def one(line: str) -> tuple[str, Any, dict[str, str]]:
    """The kind of a line's metric, its point, and its attributes."""
    points = Points(NOW)
    points.add(line)
    (metric,) = metrics(points.request())
    assert metric.name == "a.b"
    kind = metric.WhichOneof("data")
    (point,) = getattr(metric, kind).data_points
    return kind, point, {each.key: each.value.string_value for each in point.attributes}


def all_names(serving: Serving) -> list[str]:
    return [metric.name for event in serving.events for metric in metrics(event.data)]


def port(serving: Serving) -> int:
    receiver = serving.receivers[0]
    assert isinstance(receiver, StatsdReceiver)
    return receiver.port


@pytest.mark.parametrize(
    ("line", "kind", "value"),
    [
        ("a.b:3|c", "sum", 3),
        ("a.b:-3|c", "sum", -3),
        ("a.b:3|c|@0.5", "sum", 6.0),
        ("a.b:1.5|g", "gauge", 1.5),
        ("a.b:+4|g", "sum", 4),
        ("a.b:-4|g|@0.1", "sum", -4),
        ("a.b:1e3|g", "gauge", 1000.0),
    ],
)
def test_counters_and_gauges(line: str, kind: str, value: float) -> None:
    found, point, attributes = one(line)
    assert (found, attributes, point.time_unix_nano) == (kind, {}, NOW)
    assert (point.as_int if isinstance(value, int) else point.as_double) == value


@pytest.mark.parametrize("kind", ["ms", "h", "d"])
def test_timers_are_histograms(kind: str) -> None:
    found, point, _ = one(f"a.b:2.5|{kind}|@0.25")
    assert (found, point.count, point.sum, point.min, point.max) == ("histogram", 4, 10.0, 2.5, 2.5)
    assert list(point.bucket_counts) == [4]


def test_members_of_sets_and_tags() -> None:
    assert one("a.b:us:er|s")[0::2] == ("gauge", {"statsd.set": "us:er"})
    kind, point, attributes = one("a.b:1|c|#env:prod,flag,url:http://x|c:id-1|T1700000000|x:unknown")
    assert (kind, point.time_unix_nano) == ("sum", 1_700_000_000 * 10**9)
    assert attributes == {"env": "prod", "flag": "", "url": "http://x", "container.id": "id-1"}


def test_points_of_one_metric_are_together() -> None:
    points = Points(NOW)
    for line in ("t:1:2:3|ms", "t:4|ms", "t:5|c"):
        points.add(line)
    assert points.number == 5
    timer, counter = metrics(points.request())
    assert [each.sum for each in timer.histogram.data_points] == [1.0, 2.0, 3.0, 4.0]
    assert (timer.unit, counter.sum.aggregation_temporality, counter.sum.is_monotonic) == ("ms", 1, False)


@pytest.mark.parametrize(
    "line",
    [
        *("x", "a:1", ":1|c", "a:|c", "a:x|c", "a:nan|g", "a:1_0|c", "a:1|q", "a:1|c|@2", "a:1|c|@0", "a:1|ms|@1e-99"),
        *("_e{1,1}:t|x", "_sc|name|0", "a:1:|c", "a:1e999|g", "a:1e300|c|@1e-99"),
        f"a:{'1:' * 1000}1|c|#{'t,' * 1000}",
        f"a:{'1:' * 1000}1|c|#k:{'v' * 5000}",
    ],
)
def test_lines_that_are_none_add_nothing(line: str) -> None:
    points = Points(NOW)
    with pytest.raises(Malformed):
        points.add(line)
    assert points.number == 0


@pytest.mark.parametrize("listen", [UDP, TCP])
def test_lines_are_stored(listen: str, caplog: pytest.LogCaptureFixture) -> None:
    with Serving(StatsdReceiver(listen=listen)) as serving:
        kind = socket.SOCK_DGRAM if listen == UDP else socket.SOCK_STREAM
        with socket.socket(socket.AF_INET, kind) as client:
            client.connect(("127.0.0.1", port(serving)))
            name = client.getsockname()
            client.sendall(b"one:1|c\ntwo:2|g\nno line\n\n")
            client.sendall(b"three:3|ms\r\n")
            wait_for(lambda: all_names(serving) == ["one", "two", "three"])
        event = serving.events[0]
        assert (event.type, event.content_type) == (EventType.METRICS, "application/x-protobuf; proto=otlp.metrics")
        assert event.source == f"statsd+{listen[:3]}://127.0.0.1:{name[1]}"
        assert serving.host.counted == {"malformed": 1}
    assert "'no line' is not a line of statsd" in caplog.text


@pytest.mark.parametrize("listen", [UDP, TCP])
def test_the_client_from_pypi(listen: str) -> None:
    statsd = pytest.importorskip("statsd", reason="the oldest libraries' run has no statsd")
    with Serving(StatsdReceiver(listen=listen)) as serving:
        kind = statsd.StatsClient if listen == UDP else statsd.TCPStatsClient
        client = kind("127.0.0.1", port(serving), prefix="shop")
        client.incr("sales", 3)
        client.gauge("stock", 7)
        client.gauge("stock", -2, delta=True)
        client.timing("pay", 12.5)
        client.set("users", "anna")
        with client.pipeline() as pipe:
            for _ in range(100):
                pipe.incr("hits")
        client.close()
        wait_for(lambda: sum(all_values(serving, "shop.hits")) == 100)
        assert all_values(serving, "shop.sales") == [3]
        assert all_values(serving, "shop.stock") == [7, -2]
        (timer,) = points_of(serving, "shop.pay")
        assert (timer.count, timer.sum) == (1, 12.5)
        (member,) = points_of(serving, "shop.users")
        assert member.attributes[0].value.string_value == "anna"
        assert serving.host.counted == {}


def points_of(serving: Serving, name: str) -> list[Any]:
    found = [each for event in serving.events for each in metrics(event.data) if each.name == name]
    return [point for each in found for point in getattr(each, each.WhichOneof("data")).data_points]


def all_values(serving: Serving, name: str) -> list[int]:
    return [point.as_int for point in points_of(serving, name)]


def test_udp_is_lost_and_tcp_waits_while_the_queue_is_full() -> None:
    with Serving(StatsdReceiver(listen=UDP)) as serving:
        serving.inbox.failures.append(mmapqueue.Full("no consumer"))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.connect(("127.0.0.1", port(serving)))
            client.send(b"lost:1|c")
            wait_for(lambda: serving.inbox.refused == 1)
            client.send(b"kept:1|c")
            wait_for(lambda: serving.events)
        assert all_names(serving) == ["kept"]
    with Serving(StatsdReceiver(listen=TCP)) as serving:
        serving.inbox.failures += [mmapqueue.Full("no consumer")] * 2
        with socket.create_connection(("127.0.0.1", port(serving)), 60) as client:
            client.sendall(b"kept:1|c\n")
            wait_for(lambda: serving.events)
        assert (all_names(serving), serving.inbox.refused) == (["kept"], 2)


def test_points_are_divided_among_events() -> None:
    with Serving(StatsdReceiver(listen=TCP), inbox=FakeInbox(16_384)) as serving:
        with socket.create_connection(("127.0.0.1", port(serving)), 60) as client:
            client.sendall(b"".join(b"m%d:1|c\n" % number for number in range(2000)))
        wait_for(lambda: len(all_names(serving)) == 2000)
        assert all_names(serving) == [f"m{number}" for number in range(2000)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"listen": "127.0.0.1:8125"}, "expected udp://HOST:PORT"),
        ({"listen": "udp://127.0.0.1:70000"}, "expected udp://HOST:PORT"),
        ({"listen": UDP, "max_connections": 5}, "max_connections has no effect"),
        ({"listen": UDP, "max_held_bytes": "1m"}, "max_held_bytes has no effect"),
    ],
)
def test_options_that_are_wrong(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        StatsdReceiver(**options)
