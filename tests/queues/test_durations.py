"""Durations and sizes are written in one way, wherever they are arguments."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

import mmapqueue
from conftest import SMALL, Open
from mmapqueue._values.arguments import size_in_bytes
from mmapqueue._values.configuration import PERIODS
from mmapqueue._values.durations import delay_micros, period_millis, seconds
from mmapqueue.pipeline import plugins

TABLES = Path(__file__).parents[2] / "jvm/src/test/resources"


def table(name: str) -> list[tuple[str, int | None]]:
    """Strings, and what they mean; None for those that are refused. JUnit has the same table."""
    with (TABLES / name).open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return [(text, int(value) if value else None) for text, value in rows]


@pytest.mark.parametrize(("text", "micros"), table("durations.csv"))
def test_strings_of_durations(text: str, micros: int | None) -> None:
    calls: list[Callable[[], float]] = [
        lambda: delay_micros("name", text) / 1000,
        lambda: period_millis("name", text),
        lambda: TypeAdapter(plugins.Duration).validate_python(text) / timedelta(milliseconds=1),
    ]
    for call in calls:
        if micros is None:
            with pytest.raises(ValueError, match=r"allowed: .*500ms"):
                call()
        else:
            assert call() == pytest.approx(min(micros / 1000, 1e12), abs=1)


@pytest.mark.parametrize(("text", "size"), table("sizes.csv"))
def test_strings_of_sizes(text: str, size: int | None) -> None:
    calls: list[Callable[[], int]] = [
        lambda: size_in_bytes("name", text, minimum=0),
        lambda: TypeAdapter(plugins.Bytes).validate_python(text),
    ]
    for call in calls:
        if size is None:
            with pytest.raises(ValueError, match="allowed: a number of bytes from 0 on, or one with k"):
                call()
        else:
            assert call() == size


def test_numbers_are_seconds_and_timedeltas_what_they_are() -> None:
    assert [seconds("timeout", each) for each in (0, 2, 0.25, timedelta(days=1))] == [0, 2, 0.25, 86_400]
    assert seconds("timeout", float("inf")) == seconds("timeout", "100000d") == 1e9


@pytest.mark.parametrize("wrong", [-1, -0.001, float("nan"), "", "30", "1 month", "-1s", "1sx", timedelta(seconds=-1)])
def test_errors_name_the_argument_the_value_and_what_is_allowed(wrong: Any) -> None:
    with pytest.raises(mmapqueue.ConfigError, match=r'^lock_timeout = .* allowed: seconds from 0 on.*"30s"') as caught:
        seconds("lock_timeout", wrong)
    assert (caught.value.key, caught.value.value) == ("lock_timeout", str(wrong))


@pytest.mark.parametrize("wrong", [True, None, b"1s", [1]])
def test_other_types_are_type_errors(wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"timeout is a number of seconds.* not {type(wrong).__name__}"):
        seconds("timeout", wrong)


def test_periods_are_milliseconds() -> None:
    given = ("250ms", "1us", "7d", timedelta(seconds=2), timedelta(microseconds=1), 0, "0")
    assert [period_millis("flush_period", each) for each in given] == [250, 1, 7 * 86_400_000, 2000, 1, 0, 0]


@pytest.mark.parametrize("key", sorted(PERIODS))
@pytest.mark.parametrize("number", [5, 0.5, "250"])
def test_a_key_without_a_unit_is_refused(key: str, number: object, tmp_path: Path) -> None:
    says = f'^{key} = {number!r} is invalid; allowed: "{number}s" or "{number}ms", a timedelta, or a time with its unit'
    options: dict[str, Any] = {key: number}
    with pytest.raises(mmapqueue.ConfigError, match=says):
        mmapqueue.Queue(tmp_path, **options)


@pytest.mark.parametrize("wrong", [True, -1, float("nan"), "often", b"1s", timedelta(seconds=-1)])
def test_a_key_of_another_kind_is_refused(wrong: object) -> None:
    with pytest.raises(
        mmapqueue.ConfigError, match=r"^flush_period = .* is invalid; allowed: a timedelta, or a time with"
    ):
        period_millis("flush_period", wrong)


def test_a_queue_takes_durations_and_sizes_of_every_kind(open_queue: Open) -> None:
    queue = open_queue(
        lock_timeout="5s",
        flush_period="250ms",
        retain_ms="7d",
        visibility_timeout=timedelta(minutes=1),
        gc_on_idle="5ms",
    )
    found = queue.config
    keys = ("flush_period", "retain_ms", "visibility_timeout", "gc_on_idle")
    assert [found[key] for key in keys] == [250, 7 * 86_400_000, 60_000, 5]  # type: ignore[literal-required]
    queue.push_many([b"x" * 600] * 4)
    assert len(queue.pop_many(max_bytes="1k")) == 1
    assert next(queue.consume(timeout="1s", max_bytes="1k")).offset == 1
    with pytest.raises(ValueError, match="max_bytes = 'much' is invalid"):
        queue.pop_many(max_bytes="much")


CALLS: dict[str, Callable[[Any, Any], object]] = {
    "push": lambda queue, timeout: queue.push(b"x", timeout=timeout),
    "push_many": lambda queue, timeout: queue.push_many([b"x"], timeout=timeout),
    "push_once": lambda queue, timeout: queue.push_once("p", 1, [b"x"], timeout=timeout),
    "pop": lambda queue, timeout: queue.pop(timeout=timeout),
    "pop_many": lambda queue, timeout: queue.pop_many(timeout=timeout),
    "consume": lambda queue, timeout: queue.consume(timeout=timeout),
    "aconsume": lambda queue, timeout: queue.aconsume(timeout=timeout),
    "process": lambda queue, timeout: queue.process(print, timeout=timeout),
    "retry_delay": lambda queue, delay: queue.process(str, timeout=0, retry_delay=delay),
    "nack": lambda queue, delay: queue.nack(0, delay=delay),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_every_call_takes_them(open_queue: Open, call: Callable[[Any, Any], object]) -> None:
    queue = open_queue(**SMALL, retain_bytes="32k")
    queue.push(b"first")
    queue.nack(queue.pop())
    for duration in ("1ms", timedelta(milliseconds=1), 0.001):
        call(queue, duration)
        queue.seek(0)
        queue.nack(queue.pop())
    with pytest.raises(mmapqueue.ConfigError, match="'soon' is invalid"):
        call(queue, "soon")


# The configuration has types


def test_the_configuration_has_all_keys_in_their_types(open_queue: Open, tmp_path: Any) -> None:
    queue = open_queue(max_attempts=3, dead_letter_dir=tmp_path / "dead", read_only=False)
    found = queue.config
    words = json.loads(queue._handle._calls["config"]())
    assert list(found) == list(words)
    texts = ["" if value is None else str(value).lower() for value in found.values()]
    assert texts == [word.lower() for word in words.values()]
    assert (found["timestamps"], found["max_attempts"], found["dead_letter_dir"]) == (True, 3, str(tmp_path / "dead"))
    assert open_queue(tmp_path / "other").config["dead_letter_dir"] is None
    assert set(found) == {"queue_dir", *mmapqueue.Configuration.__annotations__}
    found["max_attempts"] = 4
    assert queue.config["max_attempts"] == 3
