"""Any sequence of operations gives what a plain list gives."""

import tempfile
from itertools import islice

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import mmapqueue
from conftest import SMALL

records = st.binary(max_size=300) | st.integers(0, 4000).map(lambda size: bytes([size % 256]) * size)


class QueueModel(RuleBasedStateMachine):
    """`log` is all that was ever pushed; a consumer is how far it has read and committed in it."""

    @initialize(timestamps=st.booleans())
    def begin(self, timestamps: bool) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.options = {**SMALL, "timestamps": timestamps}
        self.log: list[bytes] = []
        self.read = {"default": 0, "other": 0}
        self.committed = {"default": 0, "other": 0}
        self.open()

    def open(self) -> None:
        self.queue = mmapqueue.Queue(None, self.directory.name, **self.options)
        self.consumers = {name: self.queue.consumer(name) for name in self.read}
        self.read = dict(self.committed)

    def teardown(self) -> None:
        if hasattr(self, "queue"):
            self.queue.close()
            self.directory.cleanup()

    names = st.sampled_from(["default", "other"])

    def is_next(self, name: str, messages: list[mmapqueue.Message]) -> None:
        start = self.read[name]
        assert [m.offset for m in messages] == list(range(start, start + len(messages)))
        assert [m.data for m in messages] == self.log[start : start + len(messages)]
        self.read[name] += len(messages)

    @rule(record=records)
    def push(self, record: bytes) -> None:
        was_full = self.queue.full()
        try:
            assert self.queue.push(record, block=False) == len(self.log)
        except mmapqueue.Full:
            assert was_full
            assert min(self.committed.values()) < len(self.log)
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

    @rule(name=names)
    def pop(self, name: str) -> None:
        try:
            self.is_next(name, [self.consumers[name].pop(block=False)])
        except mmapqueue.Empty:
            assert self.read[name] == len(self.log)

    @rule(name=names, most=st.integers(1, 30), size=st.none() | st.integers(1, 5000))
    def pop_many(self, name: str, most: int, size: int | None) -> None:
        messages = self.consumers[name].pop_many(most, max_bytes=size)
        assert len(messages) <= most
        assert bool(messages) == (self.read[name] < len(self.log))
        if size is None:
            assert len(messages) == min(most, len(self.log) - self.read[name])
        elif len(messages) > 1:
            assert sum(len(m.data) for m in messages) <= size
        self.is_next(name, messages)

    @rule(name=names, count=st.integers(0, 10), at_once=st.integers(1, 8))
    def consume(self, name: str, count: int, at_once: int) -> None:
        self.is_next(name, list(islice(self.consumers[name].consume(0, max_records=at_once), count)))

    @rule(name=names)
    def peek(self, name: str) -> None:
        message = self.consumers[name].peek()
        if message is None:
            assert self.read[name] == len(self.log)
        else:
            assert (message.offset, message.data) == (self.read[name], self.log[self.read[name]])

    @precondition(lambda self: any(self.read.values()))
    @rule(name=names, back=st.integers(0, 30))
    def ack(self, name: str, back: int) -> None:
        offset = self.read[name] - 1 - back
        if offset >= 0:
            self.consumers[name].ack(offset)
            self.committed[name] = max(self.committed[name], offset + 1)

    @rule(sync=st.booleans())
    def reopen(self, sync: bool) -> None:
        if sync:
            self.queue.flush()
        self.queue.close()
        self.open()

    @invariant()
    def figures(self) -> None:
        if hasattr(self, "queue"):
            for name, consumer in self.consumers.items():
                assert consumer.size() == len(self.log) - self.read[name]
                assert consumer.lag() == len(self.log) - self.committed[name]
            assert self.queue.stats().end_offset == len(self.log)


QueueModel.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestQueueModel = QueueModel.TestCase
