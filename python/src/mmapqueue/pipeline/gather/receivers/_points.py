"""Lines of statsd and DogStatsD, as data points of OTLP."""

import re
from math import isfinite
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric

from mmapqueue.pipeline.gather.wire import Malformed

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_SECONDS = re.compile(r"[0-9]{1,10}", re.ASCII)
_DISTRIBUTIONS = {"ms": "ms", "h": "", "d": ""}
#: A sample that stands for more is an error of its client.
_MOST_SAMPLES = 1e15
#: Bytes of a point in a request besides its own: of its metric, and of lengths.
_AROUND = 64
#: The maximum number of values and tags that a line becomes: each of its values has all of its tags.
_MOST_PARTS = 20_000
#: The maximum number of characters of the tags of all points of a line.
_MOST_CHARACTERS = 4 << 20
_SET = "statsd.set"
_CONTAINER = "container.id"


class Points:
    """Data points of one request. Not safe for several threads.

    A counter is a delta sum, scaled by its sample rate. A gauge is a gauge, and with a sign a delta sum that may fall.
    A timer, histogram or distribution is a delta histogram of one bucket. A member of a set is a gauge of 1 with the
    member as attribute `statsd.set`.

    Args:
        now: Nanoseconds since 1970, of points without a time.

    Attributes:
        size: Bytes of the request, about, and not less.
        number: The number of points.
    """

    def __init__(self, now: int) -> None:
        self.size = 0
        self.number = 0
        self._now = now
        self._metrics: dict[tuple[str, str], Metric] = {}

    def add(self, line: str) -> None:
        """Adds the points of a line.

        Raises:
            Malformed: The line is none of a metric; nothing is added.
        """
        head, *parts = line.split("|")
        name, _, values = head.partition(":")
        if not name or not values or not parts:
            raise Malformed(f"{_shown(line)} is not a line of statsd: name:value|type")
        kind, rate, time = parts[0], 1.0, self._now
        tags: list[tuple[str, str]] = []
        for part in parts[1:]:
            if part.startswith("@"):
                rate = _number(part[1:], line)
                if not 0 < rate <= 1:
                    raise Malformed(f"{_shown(line)} has a sample rate that is not in 0 … 1")
            elif part.startswith("#"):
                tags += [(key, value) for key, _, value in (each.partition(":") for each in part[1:].split(",")) if key]
            elif part.startswith("c:"):
                tags.append((_CONTAINER, part[2:]))
            elif part.startswith("T") and _SECONDS.fullmatch(part[1:]):
                time = int(part[1:]) * 1_000_000_000
        each_value = [values] if kind == "s" else values.split(":")
        if kind not in ("c", "g", "s", *_DISTRIBUTIONS):
            raise Malformed(f"{_shown(line)} has the type {_shown(kind)}; known: c, g, ms, h, d, s")
        numbers = [] if kind == "s" else [_number(each, line) for each in each_value]
        if not all(isfinite(each / rate) for each in numbers):
            raise Malformed(f"{_shown(line)} has a value that is too large")
        if len(each_value) * (1 + len(tags)) > _MOST_PARTS:
            raise Malformed(f"{_shown(line)} has {len(each_value)} values and {len(tags)} tags, which are too many")
        characters = len(each_value) * sum(len(key) + len(value) for key, value in tags)
        if characters > _MOST_CHARACTERS:
            raise Malformed(
                f"{_shown(line)} has {len(each_value)} values whose tags have {characters} characters in all; allowed: "
                f"{_MOST_CHARACTERS}"
            )
        if kind in _DISTRIBUTIONS and 1 / rate > _MOST_SAMPLES:
            raise Malformed(f"{_shown(line)} has a sample rate below {1 / _MOST_SAMPLES}")
        for position, text in enumerate(each_value):
            if kind == "s":
                point = self._gauge(name).data_points.add(as_int=1)
                point.attributes.add(key=_SET).value.string_value = text
            elif kind in _DISTRIBUTIONS:
                point = self._observed(name, _DISTRIBUTIONS[kind], numbers[position], round(1 / rate))
            elif kind == "g" and text[0] not in "+-":
                point = _valued(self._gauge(name).data_points.add(), text, 1.0)
            else:
                point = _valued(self._sum(name, kind).data_points.add(), text, 1.0 if kind == "g" else rate)
            point.time_unix_nano = time
            for key, value in tags:
                point.attributes.add(key=key).value.string_value = value
            self.size += point.ByteSize() + len(name.encode()) + _AROUND
            self.number += 1

    def request(self) -> bytes:
        """An Export request of OTLP."""
        request = ExportMetricsServiceRequest()
        request.resource_metrics.add().scope_metrics.add().metrics.extend(self._metrics.values())
        serialized: bytes = request.SerializeToString()
        return serialized

    def _metric(self, name: str, kind: str, unit: str = "") -> Metric:
        found = self._metrics.get((name, kind))
        if found is None:
            found = self._metrics[name, kind] = Metric(name=name, unit=unit)
        return found

    def _gauge(self, name: str) -> Any:
        return self._metric(name, "gauge").gauge

    def _sum(self, name: str, kind: str) -> Any:
        # Counters of statsd may fall, too.
        found = self._metric(name, "sum").sum if kind == "c" else self._metric(name, "changed").sum
        found.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
        return found

    def _observed(self, name: str, unit: str, value: float, count: int) -> Any:
        histogram = self._metric(name, f"histogram {unit}", unit).histogram
        histogram.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
        return histogram.data_points.add(count=count, sum=value * count, bucket_counts=[count], min=value, max=value)


def _valued(point: Any, text: str, rate: float) -> Any:
    if rate == 1 and _INTEGER.fullmatch(text):
        point.as_int = int(text)
    else:
        point.as_double = float(text) / rate
    return point


def _number(text: str, line: str) -> float:
    if _NUMBER.fullmatch(text) is None:
        raise Malformed(f"{_shown(line)} has a value that is not a number: {_shown(text)}")
    return float(text)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
