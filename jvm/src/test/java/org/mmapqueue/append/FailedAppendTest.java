package org.mmapqueue.append;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.Records;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.PoisonedException;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.EndOfStack;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.PowerLossStorage;
import org.mmapqueue.support.QuickDirectory;

/** A thread that fails between locking the log end and publishing its record. */
@Tag("long-form")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailedAppendTest {
    private static final int SEGMENT = 16_384;
    /** Rounds of stack overflows, each at other depths. */
    private static final int ROUNDS = Integer.getInteger("overflow.rounds", 2);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final FaultyStorage storage = new FaultyStorage();
    private final List<byte[]> expected = new ArrayList<>();
    private QueueCore core;

    private QueueConfig config(int version) {
        return QueueConfig.builder(temp.resolve("queue"))
                .formatVersion(version)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(20)
                .maxInMemSegments(6)
                .maxEventSize(20_000)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    private void open(int version) {
        core = Cores.open(config(version), storage);
    }

    @AfterEach
    void close() {
        storage.heal();
        if (core != null) {
            core.close();
        }
    }

    private void push(int length) {
        byte[] payload = Payload.of(expected.size(), length);
        assertEquals(expected.size(), core.writer().push(payload, 0, length));
        expected.add(payload);
    }

    /** Payloads that fail at the n-th access. */
    private static final class FailingBatch implements Records {
        private final Records whole;
        private final Throwable failure;
        private int left;

        FailingBatch(List<byte[]> payloads, int calls, Throwable failure) {
            this.whole = Records.of(payloads);
            this.left = calls;
            this.failure = failure;
        }

        @Override
        public int count() {
            return whole.count();
        }

        @Override
        public byte[] array(int i) {
            return whole.array(i);
        }

        @Override
        public int from(int i) {
            if (left-- == 0) {
                throw FailedAppendTest.<RuntimeException>unchecked(failure);
            }
            return whole.from(i);
        }

        @Override
        public int length(int i) {
            return whole.length(i);
        }
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <E extends Throwable> E unchecked(Throwable failure) throws E {
        throw (E) failure;
    }

    private void fails(Throwable failure, int calls, byte[]... payloads) {
        assertSame(
                failure,
                assertThrows(
                        failure.getClass(),
                        () -> core.writer().push(new FailingBatch(List.of(payloads), calls, failure))));
        assertEquals(expected.size(), core.writer().endOffset());
    }

    /** Every record and no other: in this process, after a copy is recovered, and after a clean close. */
    private void assertOnlyExpected(int version) throws Exception {
        ConsumerCore consumer = core.consumer("default", StartAt.EARLIEST);
        for (int i = (int) consumer.readOffset(); i < expected.size(); i++) {
            Payload.assertMessages(i, expected.subList(i, i + 1), List.of(consumer.poll()));
        }
        assertNull(consumer.poll());
        Path killed = Directories.copy(temp.resolve("queue"), temp.resolve("killed-" + expected.size()));
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(killed)
                .maxEventSize(20_000)
                .v1Recover("writing")
                .build())) {
            Payload.assertMessages(0, expected, Payload.drain(queue));
        }
        core.close();
        try (MmapQueue queue = MmapQueue.open(config(version))) {
            Payload.assertMessages(0, expected, Payload.drain(queue));
            assertEquals(expected.size(), queue.push(new byte[8]));
            assertEquals(expected.size(), queue.consumer().poll().offset());
        }
    }

    /** The kernel has written the failed record back: on the disk it would follow the log end. */
    @Test
    void theZerosOverAnUndoneAppendReachTheDisk() throws Exception {
        PowerLossStorage disk = new PowerLossStorage();
        SplittableRandom random = new SplittableRandom(1);
        Path directory = temp.resolve("queue");
        core = Cores.open(config(2), disk);
        push(100);
        core.writer().flush(); // from now on parts are fsynced, and not the whole file
        // It ends with a page, so that its fsync does not cover the bytes after it.
        int length = 8192
                - 2 * (RecordDescriptor.HEADER + Long.BYTES)
                - new Geometry(Format.V2, SEGMENT, 20).dataStart()
                - 104;
        Records batch = Records.of(List.of(new byte[length], Payload.of(1, 500), Payload.of(2, 500)));
        RuntimeException failure = new RuntimeException("injected");
        Records failing = new Records() {
            @Override
            public int count() {
                return batch.count();
            }

            @Override
            public byte[] array(int i) {
                if (i == 2) {
                    for (int pages = 0; pages < 50; pages++) {
                        disk.writeBack(directory, random);
                    }
                    throw failure;
                }
                return batch.array(i);
            }

            @Override
            public int from(int i) {
                return batch.from(i);
            }

            @Override
            public int length(int i) {
                return batch.length(i);
            }
        };
        assertSame(
                failure,
                assertThrows(RuntimeException.class, () -> core.writer().push(failing)));
        push(length);
        assertEquals(8192, core.stats().writingPosition());
        core.close();
        Path lost = disk.lose(directory, temp.resolve("lost"), random, 0);
        try (MmapQueue queue =
                MmapQueue.open(QueueConfig.builder(lost).maxEventSize(20_000).build())) {
            Payload.assertMessages(0, expected, Payload.drain(queue));
        }
    }

    static List<Throwable> failures() {
        return List.of(
                new ArrayIndexOutOfBoundsException("injected"),
                new OutOfMemoryError("injected"),
                new StackOverflowError("injected"),
                new Error("injected"));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aBatchThatFailsAtAnyRecordStoresNothing(int version) throws Exception {
        open(version);
        push(100);
        for (Throwable failure : failures()) {
            for (int calls = 0; calls < (version == 1 ? 3 : 6); calls++) {
                // Bytes that are no zeros, so that what is left of them would be taken for a header.
                fails(failure, calls, Payload.of(1, 700), Payload.of(2, 700), Payload.of(3, 700));
                push(24);
                assertNotNull(core.consumer("default", StartAt.EARLIEST).poll());
            }
        }
        assertOnlyExpected(version);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aBatchThatFailsBeforeItsRollIsRolledBack(int version) throws Exception {
        open(version);
        push(100);
        for (Throwable failure : failures()) {
            fails(failure, 0, Payload.of(1, 15_000), Payload.of(2, 15_000));
            fails(failure, version == 1 ? 1 : 2, Payload.of(1, 9000), Payload.of(2, 15_000));
            push(24);
        }
        push(15_900);
        push(3000);
        assertOnlyExpected(version);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aBatchThatFailsAfterItsRollPoisonsAndDoesNotExistAfterTheNextOpen(int version) throws Exception {
        open(version);
        push(100);
        Error failure = new OutOfMemoryError("injected");
        PoisonedException poisoned = assertThrows(
                PoisonedException.class,
                () -> core.writer()
                        .push(new FailingBatch(List.of(new byte[17_000], new byte[9]), version == 1 ? 1 : 3, failure)));
        assertSame(failure, poisoned.getCause());
        assertSame(
                failure,
                assertThrows(PoisonedException.class, () -> core.writer().push(new byte[1], 0, 1))
                        .getCause());
        assertEquals(0, core.consumer("default", StartAt.EARLIEST).poll().offset());
        core.close();
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                .maxEventSize(20_000)
                .v1Recover("writing")
                .build())) {
            Payload.assertMessages(0, expected, Payload.drain(queue));
            assertEquals(1, queue.push(new byte[8]));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aMemoryErrorOfTheMachineItselfPoisons(int version) {
        open(version);
        push(100);
        Error failure = new InternalError("a fault occurred in an unsafe memory access operation");
        assertSame(
                failure,
                assertThrows(
                                PoisonedException.class,
                                () -> core.writer().push(new FailingBatch(List.of(new byte[9]), 0, failure)))
                        .getCause());
        assertThrows(PoisonedException.class, () -> core.writer().push(new byte[1], 0, 1));
    }

    @ParameterizedTest
    @CsvSource({"-1, 10", "95, 10", "200, 1"})
    void aRangeOutsideOfItsArrayLeavesNothing(int from, int length) throws Exception {
        open(2);
        push(100);
        assertThrows(IndexOutOfBoundsException.class, () -> core.writer().push(new byte[100], from, length));
        push(50);
        assertOnlyExpected(2);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aRollbackThatCannotBeFsyncedPoisons(int version) {
        open(version);
        push(100);
        storage.failWhen((call, path) -> call == FaultyStorage.Call.SYNC);
        Runnable push = () ->
                core.writer().push(new FailingBatch(List.of(new byte[9]), 0, new IllegalStateException("no payload")));
        if (version == 1) {
            assertThrows(IllegalStateException.class, push::run); // nothing is wiped
            push(7);
        } else {
            PoisonedException poisoned = assertThrows(PoisonedException.class, push::run);
            assertEquals("injected: SYNC of 0_segment.dat", poisoned.getCause().getMessage());
        }
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
            core.ack(consumer, expected.size() - 1);
            core.close();
            Directories.delete(temp.resolve("queue"));
            expected.clear();
            open(version);
        }
    }

    private static List<Message> drain(ConsumerCore consumer) {
        List<Message> all = new ArrayList<>();
        for (Message next = consumer.poll(); next != null; next = consumer.poll()) {
            all.add(next);
        }
        return all;
    }
}
