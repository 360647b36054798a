"""The metrics of a queue: their names in the documents, their text, and what collects them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families as parse

import mmapqueue
from conftest import SMALL, Open, Script
from mmapqueue._values.prometheus import merged

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


def documented() -> dict[str, tuple[str, str, str]]:
    """Kind, the process that knows it, and meaning of each metric."""
    rows = re.findall(r"^\| `(mmapqueue_\w+)` \| (\w+) \| (\w+) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    return {name: (kind, known, meaning) for name, kind, known, meaning in rows}


def described(text: str) -> dict[str, tuple[str, str]]:
    """Kind and help of each metric of a text."""
    heads = re.findall(r"^# HELP (\w+) (.*)\n# TYPE \1 (\w+)$", text, re.MULTILINE)
    return {name: (kind, help_text) for name, help_text, kind in heads}


def samples(text: str) -> dict[tuple[str, str | None], float]:
    """The samples of one queue, by name and consumer."""
    return {
        (each.name.removeprefix("mmapqueue_"), each.labels.get("consumer")): each.value
        for family in parse(text)
        for each in family.samples
        if "le" not in each.labels
    }


def test_the_reference_has_each_metric_as_it_is(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    queue.push(b"one")
    queue.pop()
    page = documented()
    assert described(queue.metrics()) == {name: (kind, meaning) for name, (kind, _, meaning) in page.items()}
    assert len(page) == 31
    of_consumer = {
        each.name for family in parse(queue.metrics()) for each in family.samples if "consumer" in each.labels
    }
    second = PAGE.read_text().partition("## Of a consumer")[2]
    assert of_consumer == {name for name in page if f"| `{name}` |" in second}


def test_the_reference_says_which_process_knows_what(open_queue: Open, script: Script) -> None:
    queue = open_queue(**SMALL)
    queue.push_many([b"one", b"two"])
    queue.ack(queue.pop())
    code = """
        import sys, mmapqueue
        with mmapqueue.Queue(sys.argv[1], read_only=True) as reader:
            print(reader.metrics())
            mine = reader.consumer("mine", prefetch=0)
            mine.pop()
            print("----")
            print(reader.metrics())
    """
    reader, _, owner = script.run(code, queue.path).partition("----")
    page = documented()

    def known_to(*processes: str) -> set[str]:
        return {name for name, (_, known, _) in page.items() if known in processes}

    assert set(described(reader)) == known_to("all")
    assert set(described(owner)) == known_to("all", "owner")
    assert samples(reader)["lag_records", "default"] == 1
    assert samples(reader)["retained_records", None] + queue.first_offset() == 2
    found = samples(owner)
    assert (found["in_flight_records", "mine"], found["popped_records_total", "mine"]) == (1, 1)
    assert ("redelivered_records_total", "default") not in found
    assert found["in_flight_records", "default"] == samples(queue.metrics())["in_flight_records", "default"]


def test_acks_that_linger_count(open_queue: Open) -> None:
    queue = open_queue(**SMALL, ack_linger="10s")
    queue.push_many([b"one", b"two", b"three"])
    for message in queue.pop_many(2):
        message.ack()
    found = samples(queue.metrics())
    assert found["pushed_records_total", None] == 3
    assert found["acked_records_total", "default"] == 2
    assert found["lag_records", "default"] == 1


def test_a_closed_queue_has_none(open_queue: Open) -> None:
    queue = open_queue()
    collector = mmapqueue.MetricsCollector(queue)
    queue.close()
    with pytest.raises(mmapqueue.Closed):
        queue.metrics()
    assert list(collector.collect()) == []


def test_a_collector_gives_each_metric_once(open_queue: Open, tmp_path: Path) -> None:
    first, second = open_queue(tmp_path / "first", **SMALL), open_queue(tmp_path / 'a "second"\\', **SMALL)
    first.push_many([b"one", b"two"])
    second.push(b"one")
    second.create_consumer("audit")
    registry = CollectorRegistry(auto_describe=True)
    registry.register(mmapqueue.MetricsCollector(first, second, labels={"service": "shop"}))
    text = generate_latest(registry).decode()
    assert text.count("# TYPE mmapqueue_pushed_records_total ") == 1
    pushed = {
        each.labels["queue"]: (each.value, each.labels["service"])
        for family in parse(text)
        for each in family.samples
        if each.name == "mmapqueue_pushed_records_total"
    }
    assert pushed == {first.path: (2, "shop"), second.path: (1, "shop")}
    assert (
        registry.get_sample_value(
            "mmapqueue_lag_records", {"queue": second.path, "consumer": "audit", "service": "shop"}
        )
        == 1
    )


def test_texts_are_merged_by_metric() -> None:
    def text(queue: str, *names: str) -> str:
        return "".join(f'# HELP {name} A {name}.\n# TYPE {name} gauge\n{name}{{q="{queue}"}} 1\n' for name in names)

    assert merged([]) == ""
    assert merged([text("1", "a", "b")]) == text("1", "a", "b")
    assert merged([text("1", "a", "b"), text("2", "b", "c")]) == (
        '# HELP a A a.\n# TYPE a gauge\na{q="1"} 1\n'
        '# HELP b A b.\n# TYPE b gauge\nb{q="1"} 1\nb{q="2"} 1\n'
        '# HELP c A c.\n# TYPE c gauge\nc{q="2"} 1\n'
    )


def test_the_module_needs_no_prometheus_client(script: Script) -> None:
    script.run(
        """
        import sys
        sys.modules["prometheus_client"] = None  # as if it were not installed
        import mmapqueue
        with mmapqueue.Queue(sys.argv[1]) as queue:
            assert "mmapqueue_pushed_records_total{" in queue.metrics()
            try:
                next(mmapqueue.MetricsCollector(queue).collect())
            except ImportError:
                sys.exit()
        raise AssertionError
        """,
        script.directory / "queue",
    )
