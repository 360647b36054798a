package org.mmapqueue.append;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.Records;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.errors.PoisonedException;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.EndOfStack;
import org.mmapqueue.support.Payload;

/** Appends that end because the stack or the heap has no room. */
@Tag("long-form")
@Tag("slow")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OverflowingAppendTest extends FailingAppends {
    /** Rounds of stack overflows, each at other depths. */
    private static final int ROUNDS = Integer.getInteger("overflow.rounds", 1);

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aMemoryErrorOfTheMachineItselfPoisons(int version) {
        open(version);
        push(100);
        Error failure = new InternalError("a fault occurred in an unsafe memory access operation");
        Throwable root = assertThrows(
                PoisonedException.class, () -> core.writer().push(new FailingBatch(List.of(new byte[9]), 0, failure)));
        while (root.getCause() != null) {
            root = root.getCause();
        }
        assertSame(failure, root);
        assertThrows(PoisonedException.class, () -> core.writer().push(new byte[1], 0, 1));
    }

    /** The array is requested under the lock, and no heap has room for it. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void anArrayThatTheHeapHasNoRoomForIsAnErrorOfThisPushAlone(int version) throws Exception {
        open(version);
        push(100);
        Records greedy = new Records() {
            @Override
            public int count() {
                return 1;
            }

            @Override
            public byte[] array(int i) {
                return new byte[Integer.MAX_VALUE];
            }

            @Override
            public int from(int i) {
                return 0;
            }

            @Override
            public int length(int i) {
                return 100;
            }
        };
        for (int i = 0; i < 10; i++) {
            assertThrows(OutOfMemoryError.class, () -> core.writer().push(greedy));
            push(30);
        }
        assertOnlyExpected(version);
    }

    // One that fails may have stored all of its records, or none.
    private void pushAtEnd(boolean batched) {
        noteLast(batched);
        int number = expected.size();
        List<byte[]> batch = atEnd(batched);
        boolean done = false;
        try {
            long offset = batched
                    ? core.writer().push(Records.of(batch))
                    : core.writer().push(batch.get(0), 0, batch.get(0).length);
            assertEquals(number, offset);
            done = true;
        } finally {
            noteLast(batched);
            assertTrue(!done || expected.size() > number);
        }
    }

    /** What the next push at the end of the stack stores. */
    private List<byte[]> atEnd(boolean batched) {
        byte[] payload = Payload.of(expected.size(), 600);
        return batched ? List.of(payload, payload) : List.of(payload);
    }

    /** Notes what the last push has stored. The end of the stack may cut that off, too: then the next call does it. */
    private void noteLast(boolean batched) {
        long end = core.writer().endOffset();
        if (end > expected.size()) {
            List<byte[]> batch = atEnd(batched);
            assertEquals(expected.size() + batch.size(), end);
            expected.addAll(batch);
        }
    }

    private void assertConsumed(ConsumerCore consumer) {
        for (Message next = consumer.poll(); next != null; next = consumer.poll()) {
            Payload.assertMessages(next.offset(), List.of(expected.get((int) next.offset())), List.of(next));
        }
        assertEquals(expected.size(), consumer.readOffset());
    }

    @ParameterizedTest
    @CsvSource({"1, false", "1, true", "2, false", "2, true"})
    void anOverflowOfTheStackAtAnyDepthBlocksNoOtherThread(int version, boolean batched) throws Exception {
        QueueConfig config = QueueConfig.builder(temp.resolve("queue"))
                .formatVersion(version)
                .segmentSize("8m")
                .queueCapacitySegments(4)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
        core = Cores.open(config, storage);
        ConsumerCore consumer = core.consumer("default", StartAt.EARLIEST);
        for (int round = 0; round < 3 * ROUNDS; round++) {
            assertNull(EndOfStack.reach(() -> pushAtEnd(batched)));
            noteLast(batched);
            push(40);
            assertConsumed(consumer);
            core.writer().flush();
        }
        core.close();
        try (MmapQueue queue = MmapQueue.open(config)) {
            Payload.assertMessages(0, expected, Payload.drain(queue));
            assertEquals(expected.size(), queue.push(new byte[9]));
            assertEquals(expected.size(), queue.consumer().poll().offset());
        }
    }

    /** Where the overflow meets the writer on its way into a segment it may be poisoned, and nothing else. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void anOverflowBetweenSegmentsLosesNothing(int version) throws Exception {
        open(version);
        for (int round = 0; round < 2 * ROUNDS; round++) {
            Throwable failure = EndOfStack.reach(() -> pushAtEnd(false));
            noteLast(false);
            if (failure == null) {
                push(40);
            } else {
                assertInstanceOf(PoisonedException.class, failure);
            }
            core.close();
            core = Cores.open(
                    QueueConfig.builder(temp.resolve("queue"))
                            .maxEventSize(20_000)
                            .v1Recover("writing")
                            .build(),
                    storage);
            ConsumerCore consumer = core.consumer("default", StartAt.EARLIEST);
            Payload.assertMessages(0, expected, drain(consumer));
            core.ackUpTo(consumer, expected.size() - 1);
            core.close();
            Directories.delete(temp.resolve("queue"));
            expected.clear();
            open(version);
        }
    }
}
