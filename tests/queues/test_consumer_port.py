"""The consumer in memory that tests use behaves as the one in the JVM."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from memory_port import MemoryPort

from conftest import Open
from mmapqueue._queue.consuming.jvm_port import JvmPort
from mmapqueue._queue.consuming.port import AckRange, ConsumerPort
from mmapqueue._values.errors import MmapQueueError
from mmapqueue._values.origin import Origin

_ORIGIN = Origin("", None)


def outcome(port: Any, buffer: Any, call: str, arguments: tuple[Any, ...]) -> object:
    """What a call returns or raises, and the records that it reads."""
    try:
        result = getattr(port, call)(*([buffer] if call in ("pop", "repeat", "peek") else []), *arguments)
    except MmapQueueError as error:
        return type(error).__name__
    if call not in ("pop", "repeat", "peek"):
        return result
    found = buffer.read(_ORIGIN) if result > 0 else []
    return [(message.offset, message.data, message.attempts) for message in found]


def drawn(random: Random, end: int) -> tuple[str, tuple[Any, ...]]:
    def offset() -> int:
        return random.randrange(max(1, end) + 2)

    def some() -> list[int]:
        return [offset() for _ in range(random.randrange(1, 4))]

    call = random.choice(
        ["pop"] * 6
        + ["ack", "ack_up_to", "ack_many", "nack", "release", "peek", "repeat"]
        + ["size", "lag", "unacked", "committed_offset"]
        + ["seek"] * (random.random() < 0.3)
    )
    arguments: dict[str, Any] = {
        "pop": lambda: (random.randrange(1, 6), random.choice([1, 20, 10_000]), 0),
        "ack": lambda: (offset(),),
        "ack_up_to": lambda: (offset(),),
        "ack_many": lambda: (some(),),
        "nack": lambda: (offset(), 0),
        "release": lambda: (some(),),
        "seek": lambda: (random.choice(["latest", "committed", f"offset:{offset()}"]),),
    }
    return call, arguments.get(call, tuple)()


@pytest.mark.parametrize("limit", [1 << 20, 8])
def test_both_ports_give_the_same_answers(open_queue: Open, limit: int) -> None:
    queue = open_queue(retain_bytes="1m", max_unacked=limit, prefetch=0)
    for seed in range(30):
        random = Random(seed)
        memory = MemoryPort(max_unacked=limit)
        jvm = JvmPort(queue._handle, f"consumer-{seed}", "latest")
        # Offsets of the JVM's consumer count from here.
        base = queue.end_offset()
        ports: list[tuple[ConsumerPort | MemoryPort, Any]] = [
            (memory, memory.small_buffer()),
            (jvm, jvm.small_buffer()),
        ]
        trace = []
        for _ in range(60):
            if random.random() < 0.25:
                records = [b"%d" % random.randrange(1000) for _ in range(random.randrange(1, 6))]
                memory.push(*records)
                queue.push_many(records)
            call, arguments = drawn(random, len(memory.log))
            there = _shifted(call, arguments, base)
            expected = outcome(*ports[0], call, arguments)
            found = _unshifted(call, outcome(*ports[1], call, there), base)
            trace.append((call, arguments, expected))
            assert found == expected, f"seed {seed}: {call}{arguments} after {trace[-8:]}"
        jvm.close()
        queue.delete_consumer(f"consumer-{seed}")


def _shifted(call: str, arguments: tuple[Any, ...], base: int) -> tuple[Any, ...]:
    """The arguments with offsets of the JVM's queue."""
    if call not in ("ack", "ack_up_to", "ack_many", "nack", "release", "seek"):
        return arguments
    first, *others = arguments
    if isinstance(first, list):
        first = [offset + base for offset in first]
    elif isinstance(first, str):
        word, _, offset = first.partition(":")
        first = f"{word}:{int(offset) + base}" if offset else word
    else:
        first += base
    return (first, *others)


def _unshifted(call: str, result: Any, base: int) -> Any:
    if isinstance(result, list):
        return [(offset - base, data, attempts) for offset, data, attempts in result]
    return result - base if call == "committed_offset" else result


def test_both_ports_ack_with_a_pop(open_queue: Open) -> None:
    queue = open_queue(prefetch=0)
    queue.push_many([b"x"] * 10)
    memory, jvm = MemoryPort(), JvmPort(queue._handle, "other", "earliest")
    memory.push(*[b"x"] * 10)
    for port in (memory, jvm):
        buffer: Any = port.small_buffer()
        assert port.pop(buffer, 4, 1000, 0) == 4
        assert port.pop(buffer, 1, 1000, 0, AckRange(1, 2)) == 1
        assert (port.lag(), port.unacked()) == (8, 3)
        assert port.pop(buffer, 1, 1000, 0, AckRange(-1, 3)) == 1
        assert (port.lag(), port.unacked()) == (6, 2)
