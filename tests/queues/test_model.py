"""Any sequence of operations gives what plain lists give."""

import tempfile
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import mmapqueue
from conftest import LONG, SMALL

records = st.binary(max_size=300) | st.integers(0, 4000).map(lambda size: bytes([size % 256]) * size)


class ConsumerModel:
    """What a consumer knows of the log.

    Attributes:
        committed: The first record that is not acked, as the consumer knows it.
        new: The first record that was never popped.
        acked: Records from `committed` on that are acked.
        acked_ahead: Those of them that were before a close. It finds them anew, one by one, as it comes to them.
        out: Records that were handed out.
        requeued: Records to redeliver.
        front: Records that an iterator had popped underneath and has not given.
        attempts: How often each of these was popped.
        was_released: Whether the JVM may hold records that were prefetched and released: it takes an ack of them.
    """

    def __init__(self) -> None:
        self.go_to(0)

    def go_to(self, offset: int) -> None:
        self.committed = self.new = offset
        self.acked: set[int] = set()
        self.acked_ahead: set[int] = set()
        self.out: set[int] = set()
        self.requeued: set[int] = set()
        self.front: list[int] = []
        self.attempts: dict[int, int] = {}
        self.was_released = False

    def to_come(self, end: int) -> list[int]:
        new = (offset for offset in range(self.new, end) if offset not in self.acked)
        return [*self.front, *sorted(self.requeued), *new]

    def attempt(self, offset: int) -> int:
        """The number of the attempt that a pop would be."""
        return self.attempts.get(offset, 0) + (offset not in self.front)

    def take(self, offsets: list[int], front: list[int]) -> None:
        """Pops records, some of them to lie in front of all others then."""
        for offset in [*offsets, *front]:
            self.attempts[offset] = self.attempt(offset)
        taken = {*offsets, *front}
        self.front = front + [offset for offset in self.front if offset not in taken]
        self.requeued -= taken
        self.out |= {*offsets}
        self.new = max([self.new, *(offset + 1 for offset in taken)])

    def is_popped(self, offset: int) -> bool:
        return 0 <= offset < self.new and offset not in self.front

    def is_undecided(self, offset: int) -> bool:
        """Whether it depends on what the consumer has found anew, or prefetched, if this is popped."""
        return self.new <= offset and (self.was_released or self.acked_ahead.issuperset(range(self.new, offset + 1)))

    def ack(self, offsets: set[int]) -> None:
        self.acked |= {offset for offset in offsets if offset >= self.committed}
        self.out -= offsets
        self.requeued -= offsets
        self.front = [offset for offset in self.front if offset not in offsets]

    def release(self) -> None:
        """What was not given counts as not popped."""
        for offset in self.front:
            self.attempts[offset] -= 1
        self.requeued |= {*self.front}
        self.front.clear()
        self.was_released = True

    def nack(self, offset: int) -> None:
        if offset in self.out:
            self.out.remove(offset)
            self.requeued.add(offset)
        self.release()

    def give_all_back(self) -> None:
        self.release()
        self.requeued |= self.out
        self.out.clear()

    def begin_anew(self) -> None:
        """After a close: records that were not acked are redelivered, in order."""
        self.release()
        self.out.clear()
        self.requeued.clear()
        self.was_released = False
        self.acked_ahead = set(self.acked)
        self.new = self.committed

    def check_committed(self, committed: int) -> None:
        """All records before the consumer's position are acked, with a gap, or with records to find again."""
        assert committed >= self.committed
        assert self.acked.issuperset(range(self.committed, committed))
        assert committed not in self.acked
        self.committed = committed
        self.acked = {offset for offset in self.acked if offset >= committed}


class QueueModel(RuleBasedStateMachine):
    """`log` is all that was ever pushed."""

    @initialize(timestamps=st.booleans(), there=st.integers(0, 50))
    def begin(self, timestamps: bool, there: int) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.timestamps = timestamps
        self.options: dict[str, Any] = {**SMALL, "timestamps": timestamps}
        self.log: list[bytes] = []
        self.models = {"default": ConsumerModel(), "other": ConsumerModel()}
        self.open()
        self.push_many([b"%d" % number for number in range(there)], lazily=False)

    def open(self) -> None:
        self.queue = mmapqueue.Queue(self.directory.name, **self.options)
        self.consumers = {name: self.queue.consumer(name) for name in self.models}

    def teardown(self) -> None:
        if hasattr(self, "queue"):
            self.queue.close()
            self.directory.cleanup()

    names = st.sampled_from(["default", "other"])
    numbers = st.integers(0, 200)

    def first(self) -> int:
        return min(model.committed for model in self.models.values())

    def somewhere(self, name: str, number: int) -> int:
        """An offset between the consumer's position and the log end, or a little beyond."""
        return self.models[name].committed - 2 + number % (len(self.log) - self.models[name].committed + 5)

    def are(self, messages: list[mmapqueue.Message], offsets: list[int], attempts: list[int]) -> None:
        assert [(m.offset, m.attempts) for m in messages] == list(zip(offsets, attempts, strict=True))
        assert [m.data for m in messages] == [self.log[offset] for offset in offsets]
        assert all((m.timestamp is not None) == self.timestamps for m in messages)

    def are_next(self, name: str, messages: list[mmapqueue.Message], prefetched: int = 0) -> None:
        model = self.models[name]
        to_come = model.to_come(len(self.log))
        offsets = to_come[: len(messages)]
        self.are(messages, offsets, [model.attempt(offset) for offset in offsets])
        model.take(offsets, to_come[len(messages) : len(messages) + prefetched])

    # ---- writing

    @rule(record=records)
    def push(self, record: bytes) -> None:
        was_full = self.queue.full()
        try:
            assert self.queue.push(record, block=False) == len(self.log)
        except mmapqueue.Full:
            assert was_full
            assert self.first() < len(self.log)
        else:
            self.log.append(record)

    @rule(batch=st.lists(records, max_size=20), lazily=st.booleans())
    def push_many(self, batch: list[bytes], lazily: bool) -> None:
        pushed = len(batch)
        try:
            assert self.queue.push_many(iter(batch) if lazily else batch, block=False) == pushed
        except mmapqueue.Full as full:
            pushed = full.pushed
            assert pushed < len(batch)
        self.log += batch[:pushed]

    @rule(batch=st.lists(records, max_size=8))
    def push_atomic(self, batch: list[bytes]) -> None:
        pushed = len(batch)
        try:
            assert self.queue.push_many(batch, block=False, atomic=True) == pushed
        except mmapqueue.Full as full:
            pushed = full.pushed
        assert pushed in (0, len(batch))
        self.log += batch[:pushed]

    # ---- popping

    @rule(name=names)
    def pop(self, name: str) -> None:
        try:
            self.are_next(name, [self.consumers[name].pop(block=False)])
        except mmapqueue.Empty:
            assert not self.models[name].to_come(len(self.log))

    @rule(name=names, most=st.integers(1, 30), size=st.none() | st.integers(1, 5000))
    def pop_many(self, name: str, most: int, size: int | None) -> None:
        messages = self.consumers[name].pop_many(most, max_bytes=size)
        there = len(self.models[name].to_come(len(self.log)))
        assert len(messages) <= most
        assert bool(messages) == bool(there)
        if size is None:
            assert len(messages) == min(most, there)
        elif len(messages) > 1:
            assert sum(len(m.data) for m in messages) <= size
        self.are_next(name, messages)

    @rule(name=names, count=st.integers(0, 10), at_once=st.integers(1, 8))
    def consume(self, name: str, count: int, at_once: int) -> None:
        messages = list(islice(self.consumers[name].consume(timeout=0, max_records=at_once), count))
        there = len(self.models[name].to_come(len(self.log)))
        assert len(messages) == min(count, there)
        self.are_next(name, messages, min(-len(messages) % at_once, there - len(messages)))

    @rule(name=names)
    def peek(self, name: str) -> None:
        message = self.consumers[name].peek()
        model = self.models[name]
        to_come = model.to_come(len(self.log))[:1]
        self.are([] if message is None else [message], to_come, [model.attempt(offset) for offset in to_come])

    # ---- acks

    def try_ack(self, name: str, offsets: list[int], acked: set[int], call: Any, *arguments: Any) -> None:
        model = self.models[name]
        if not any(map(model.is_undecided, offsets)):
            allowed = all(map(model.is_popped, offsets))
            self.raises_unless(allowed, call, *arguments)
            if allowed:
                model.ack(acked)

    def raises_unless(self, allowed: bool, call: Any, *arguments: Any) -> None:
        if allowed:
            call(*arguments)
        else:
            with pytest.raises(mmapqueue.OutOfRange):
                call(*arguments)

    @rule(name=names, number=numbers)
    def ack_up_to(self, name: str, number: int) -> None:
        offset = self.somewhere(name, number)
        self.try_ack(name, [offset], {*range(offset + 1)}, self.consumers[name].ack_up_to, offset)

    @precondition(lambda self: any(model.new for model in self.models.values()))
    @rule(name=names, back=st.integers(0, 30))
    def ack_up_to_what_was_popped(self, name: str, back: int) -> None:
        """More often than by chance."""
        offset = self.models[name].new - 1 - back
        if self.models[name].is_popped(offset):
            self.try_ack(name, [offset], {*range(offset + 1)}, self.consumers[name].ack_up_to, offset)

    @rule(name=names, number=numbers)
    def ack(self, name: str, number: int) -> None:
        offset = self.somewhere(name, number)
        self.try_ack(name, [offset], {offset}, self.consumers[name].ack, offset)

    @rule(name=names, chosen=st.lists(numbers, max_size=5))
    def ack_many(self, name: str, chosen: list[int]) -> None:
        wanted = [self.somewhere(name, number) for number in chosen]
        self.try_ack(name, wanted, {*wanted}, self.consumers[name].ack_many, wanted)

    @rule(name=names, number=numbers)
    def nack(self, name: str, number: int) -> None:
        offset, model = self.somewhere(name, number), self.models[name]
        if not model.is_undecided(offset):
            allowed = model.is_popped(offset) and offset >= model.committed and offset not in model.acked
            self.raises_unless(allowed, self.consumers[name].nack, offset)
            if allowed:
                model.nack(offset)

    @precondition(lambda self: any(model.front for model in self.models.values()))
    @rule(name=names, number=st.integers(0, 7))
    def ack_or_nack_an_undelivered_record(self, name: str, number: int) -> None:
        front, consumer = self.models[name].front, self.consumers[name]
        if front:
            offset = front[number % len(front)]
            for call in (consumer.ack, consumer.ack_up_to, consumer.nack):
                self.raises_unless(False, call, offset)
            self.raises_unless(False, consumer.ack_many, [offset])

    @precondition(lambda self: any(model.front for model in self.models.values()))
    @rule(name=names)
    def ack_beyond_what_was_not_given(self, name: str) -> None:
        beyond = [offset for offset in self.models[name].out if offset > min(self.models[name].front, default=0)]
        if beyond:
            self.try_ack(name, beyond[:1], {*range(beyond[0] + 1)}, self.consumers[name].ack_up_to, beyond[0])

    # ---- going back

    @rule(name=names, number=numbers)
    def seek(self, name: str, number: int) -> None:
        offset = self.somewhere(name, number)
        allowed = self.first() <= offset <= len(self.log)
        self.raises_unless(allowed, self.consumers[name].seek, offset)
        if allowed:
            self.models[name].go_to(offset)

    @rule(name=names, start=st.sampled_from(["earliest", "latest", "committed"]))
    def seek_word(self, name: str, start: str) -> None:
        self.consumers[name].seek(start)
        if start == "committed":
            self.models[name].give_all_back()
        else:
            self.models[name].go_to(self.first() if start == "earliest" else len(self.log))

    @rule(number=numbers)
    def get(self, number: int) -> None:
        offset = self.first() - 1 + number % (len(self.log) - self.first() + 2)
        if self.first() <= offset < len(self.log):
            self.are([self.queue.read_at(offset)], [offset], [0])
        else:
            with pytest.raises(mmapqueue.OutOfRange):
                self.queue.read_at(offset)

    @rule(number=st.integers(0, 20), most=st.integers(1, 100))
    def get_many(self, number: int, most: int) -> None:
        offset = self.first() + number
        if offset < len(self.log):
            wanted = list(range(offset, min(offset + most, len(self.log))))
            self.are(self.queue.read_many(offset, most), wanted, [0] * len(wanted))

    def timestamp(self, offset: int) -> datetime:
        found = self.queue.read_at(offset).timestamp
        assert found is not None
        return found

    @precondition(lambda self: self.timestamps)
    @rule(number=st.integers(0, 20), later=st.sampled_from([0, 1]))
    def find(self, number: int, later: int) -> None:
        retained = range(self.first(), len(self.log))
        if number < len(retained):
            time = self.timestamp(retained[number]) + timedelta(microseconds=later)
            expected = [offset for offset in retained if self.timestamp(offset) >= time]
            assert self.queue.find(time) == (expected[0] if expected else None)

    # ---- all of it

    @rule(name=names)
    def close_consumer(self, name: str) -> None:
        self.consumers[name].close()
        self.consumers[name] = self.queue.consumer(name)
        self.models[name].begin_anew()

    @rule(sync=st.booleans())
    def reopen(self, sync: bool) -> None:
        if sync:
            self.queue.flush()
        self.queue.close()
        for model in self.models.values():
            model.begin_anew()
        self.open()

    @invariant()
    def figures(self) -> None:
        if hasattr(self, "queue"):
            stats = self.queue.consumer_stats()
            for name, consumer in self.consumers.items():
                model = self.models[name]
                exists = name in stats
                model.check_committed(stats[name].committed_offset if exists else len(self.log) - consumer.lag())
                assert consumer.lag() == len(self.log) - model.committed - len(model.acked)
                assert consumer.qsize() == len(model.to_come(len(self.log)))
                assert consumer.unacked() == len(model.out)
            assert self.queue.end_offset() == self.queue.stats().end_offset == len(self.log)
            assert self.queue.first_offset() == self.first()


QueueModel.TestCase.settings = settings(
    max_examples=150 if LONG else 25, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)
TestQueueModel = pytest.mark.long_form(QueueModel.TestCase)
