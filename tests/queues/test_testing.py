"""The fixtures of `mmapqueue.testing`: queues."""

from collections.abc import Callable, Iterator

import pytest

import mmapqueue

pytest_plugins = ["mmapqueue.testing"]

Open = Callable[..., mmapqueue.Queue]


@pytest.fixture
def seen() -> Iterator[list[mmapqueue.Queue]]:
    """Queues of a test, which must be closed when its other fixtures have ended."""
    queues: list[mmapqueue.Queue] = []
    yield queues
    assert queues
    assert all(queue.closed for queue in queues)


@pytest.mark.parametrize("test", [1, 2])
def test_each_test_has_an_empty_queue(seen: list[mmapqueue.Queue], mmapqueue_queue: mmapqueue.Queue, test: int) -> None:
    seen.append(mmapqueue_queue)
    assert mmapqueue_queue.empty()
    mmapqueue_queue.push(b"%d" % test)
    assert mmapqueue_queue.pop(timeout=10).data == b"%d" % test


def test_one_test_has_several_queues(
    seen: list[mmapqueue.Queue], mmapqueue_open: Callable[..., mmapqueue.Queue]
) -> None:
    orders, refunds = mmapqueue_open("orders"), mmapqueue_open("refunds", segment_size="128k")
    seen.extend((orders, refunds))
    orders.push(b"an order")
    assert refunds.empty()
    assert refunds.config["segment_size"] == 128 << 10
    assert orders.path != refunds.path
