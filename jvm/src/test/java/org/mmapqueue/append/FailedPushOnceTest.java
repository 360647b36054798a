package org.mmapqueue.append;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.Records;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.MmapQueueException;
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

/** An idempotent batch that fails, or is killed, between locking the log end and its return. */
@Tag("long-form")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailedPushOnceTest {
    private static final int SEGMENT = 16_384;
    private static final int SPANNING = 9000;
    /** Of overflows of the stack; each meets another depth. */
    private static final int ROUNDS = Integer.getInteger("overflow.rounds", 2);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final FaultyStorage storage = new FaultyStorage();
    private final List<byte[]> expected = new ArrayList<>();
    private long known = -1;
    private QueueCore core;

    private QueueConfig config(Path directory) {
        return QueueConfig.builder(directory)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(20)
                .maxInMemSegments(6)
                .maxEventSize(20_000)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    @BeforeEach
    void open() {
        core = Cores.open(config(temp.resolve("queue")), storage);
    }

    @AfterEach
    void close() {
        storage.heal();
        core.close();
    }

    private static byte[] payload(long number, int length) {
        return Payload.of(number, length);
    }

    private List<byte[]> two(int length) {
        return List.of(payload(expected.size(), length), payload(expected.size() + 1, length));
    }

    private long pushOnce(long sequence, Records batch, boolean sync) throws InterruptedException {
        return core.writer().producers().push("p", sequence, null, batch, 0, sync, () -> false);
    }

    private void pushes(int length, boolean sync) throws InterruptedException {
        List<byte[]> batch = two(length);
        assertEquals(expected.size(), pushOnce(known + 1, Records.of(batch), sync));
        expected.addAll(batch);
        known++;
        assertKnown(core);
        assertEquals(-1, pushOnce(known, Records.of(batch), sync));
    }

    private void pushesPlain() {
        byte[] payload = payload(expected.size(), 24);
        assertEquals(expected.size(), core.writer().push(payload, 0, payload.length));
        expected.add(payload);
    }

    private void assertKnown(QueueCore queue) {
        assertEquals(
                known < 0 ? OptionalLong.empty() : OptionalLong.of(known),
                queue.writer().producers().lastSequence("p"));
        assertEquals(expected.size(), queue.endOffset());
    }

    /** What a kill would leave now is opened: the records and the sequence that are expected, and no other. */
    private void assertLeftByAKill() {
        Path left = Directories.copy(temp.resolve("queue"), temp.resolve("killed-" + System.nanoTime()));
        QueueCore taken = Cores.open(config(left), new FaultyStorage());
        try {
            assertKnown(taken);
            Payload.assertMessages(0, expected, drain(taken));
        } finally {
            taken.close();
        }
    }

    private void reopen() {
        core.close();
        open();
        assertKnown(core);
        Payload.assertMessages(0, expected, drain(core));
        core.closeConsumer(core.consumer("default", StartAt.EARLIEST));
    }

    private static List<Message> drain(QueueCore queue) {
        ConsumerCore consumer = queue.consumer("default", StartAt.EARLIEST);
        List<Message> all = new ArrayList<>();
        for (Message next = consumer.poll(); next != null; next = consumer.poll()) {
            all.add(next);
        }
        return all;
    }

    /** Records with a second payload that fails. */
    private static Records failing(List<byte[]> payloads, Error failure) {
        Records whole = Records.of(payloads);
        return new Records() {
            @Override
            public int count() {
                return whole.count();
            }

            @Override
            public byte[] array(int i) {
                if (i == 1) {
                    throw failure;
                }
                return whole.array(i);
            }

            @Override
            public int from(int i) {
                return whole.from(i);
            }

            @Override
            public int length(int i) {
                return whole.length(i);
            }
        };
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatFailsBeforeItIsPublishedIsNotKnownAndCanBeTriedAgain(boolean sync) throws InterruptedException {
        pushes(100, sync);
        for (Error failure : List.of(new OutOfMemoryError("injected"), new StackOverflowError("injected"))) {
            assertSame(failure, assertThrows(Error.class, () -> pushOnce(known + 1, failing(two(700), failure), sync)));
            assertKnown(core);
            assertLeftByAKill();
            pushesPlain();
            assertLeftByAKill();
            pushes(700, sync);
            pushes(SPANNING, sync);
        }
        reopen();
    }

    @Test
    void whatFailsInTheNextSegmentIsNotKnownAndCanBeTriedAgain() throws InterruptedException {
        pushes(100, false);
        pushes(SPANNING, false);
        Error failure = new OutOfMemoryError("injected");
        assertSame(failure, assertThrows(Error.class, () -> pushOnce(known + 1, failing(two(19_000), failure), false)));
        assertKnown(core);
        assertLeftByAKill();
        pushesPlain();
        assertLeftByAKill();
        pushes(19_000, false);
        reopen();
    }

    /**
     * The failed batch has left its last record, whole, at the start of a later segment. A record that then ends with the
     * segment before must not be followed by it: neither after a kill, nor after a loss of power for which the kernel has
     * written the pages back.
     */
    @Test
    void noRecordOfAFailedBatchFollowsALaterOneThatEndsWithItsSegment() throws Exception {
        core.close();
        PowerLossStorage disk = new PowerLossStorage();
        FaultyStorage faulty = new FaultyStorage(disk);
        SplittableRandom random = new SplittableRandom(1);
        Path directory = temp.resolve("aligned");
        core = Cores.open(config(directory), faulty);
        int whole = SEGMENT - new Geometry(Format.V2, SEGMENT, 20).dataStart() - RecordDescriptor.SMALLEST;
        assertEquals(0, core.writer().push(payload(0, whole), 0, whole));
        assertEquals(SEGMENT, core.stats().writingPosition());
        core.writer().flush();
        StackOverflowError failure = new StackOverflowError("injected");
        AtomicInteger left = new AtomicInteger(1);
        faulty.failWhen((call, path) -> {
            if (isSyncOfPage(call, path) && left.getAndDecrement() > 0) {
                for (int pages = 0; pages < 50; pages++) {
                    disk.writeBack(directory, random);
                }
                throw failure;
            }
            return false;
        });
        Records batch = Records.of(List.of(payload(1, whole), payload(2, 100)));
        assertSame(failure, assertThrows(StackOverflowError.class, () -> pushOnce(0, batch, true)));
        assertEquals(1, core.writer().push(payload(1, whole), 0, whole));
        assertEquals(2 * SEGMENT, core.stats().writingPosition());
        core.writer().flush();
        List<byte[]> pushed = List.of(payload(0, whole), payload(1, whole));
        Path killed = Directories.copy(directory, temp.resolve("killed"));
        Path lost = disk.lose(directory, temp.resolve("lost"), random, 0);
        for (Path found : List.of(killed, lost)) {
            QueueCore taken = Cores.open(config(found), new FaultyStorage());
            try {
                Payload.assertMessages(0, pushed, drain(taken));
                assertEquals(2, taken.writer().push(new byte[8], 0, 8));
            } finally {
                taken.close();
            }
        }
    }

    private static boolean isSyncOfPage(FaultyStorage.Call call, Path path) {
        return call == FaultyStorage.Call.SYNC && path.endsWith("producers/p.dat");
    }

    /** The slot is stored, and its fsync fails. */
    @ParameterizedTest
    @ValueSource(ints = {100, SPANNING})
    void aSyncOfThePageThatFailsPoisons(int length) throws InterruptedException {
        pushes(100, true);
        storage.failWhen(FailedPushOnceTest::isSyncOfPage);
        assertThrows(PoisonedException.class, () -> pushOnce(known + 1, Records.of(two(length)), true));
        assertThrows(PoisonedException.class, () -> pushOnce(known + 1, Records.of(two(length)), false));
        assertKnown(core);
        storage.heal();
        assertLeftByAKill();
        reopen();
        pushes(length, true);
        reopen();
    }

    @Test
    void aSyncOfThePageThatFailsInAFlushPoisons() throws InterruptedException {
        pushes(100, false);
        storage.failWhen(FailedPushOnceTest::isSyncOfPage);
        assertThrows(PoisonedException.class, () -> core.writer().flush());
        storage.heal();
        reopen();
        pushes(100, false);
    }

    /** An error between slot and publication; the slot must be gone before others give its end to their records. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void aStoredSlotIsRolledBackBeforeTheNextAppend(int times) throws InterruptedException {
        pushes(100, true);
        AtomicInteger left = new AtomicInteger(times);
        StackOverflowError failure = new StackOverflowError("injected");
        storage.failWhen((call, path) -> {
            if (isSyncOfPage(call, path) && left.getAndDecrement() > 0) {
                throw failure;
            }
            return false;
        });
        // The first push fails itself, the second in the rollback, the third in the next push.
        assertSame(
                failure, assertThrows(StackOverflowError.class, () -> pushOnce(known + 1, Records.of(two(24)), true)));
        assertKnown(core);
        if (times == 3) {
            assertSame(
                    failure,
                    assertThrows(StackOverflowError.class, () -> core.writer().push(new byte[8], 0, 8)));
        }
        pushesPlain();
        assertTrue(left.get() < 0 || times == 1, "the page was not fsynced again");
        pushesPlain();
        pushesPlain();
        assertKnown(core);
        assertLeftByAKill();
        pushes(24, true);
        assertLeftByAKill();
        reopen();
    }

    @Test
    void aSlotThatCannotBeRolledBackPoisons() throws InterruptedException {
        pushes(100, true);
        AtomicInteger calls = new AtomicInteger();
        storage.failWhen((call, path) -> {
            if (!isSyncOfPage(call, path)) {
                return false;
            }
            if (calls.getAndIncrement() == 0) {
                throw new StackOverflowError("injected");
            }
            return true;
        });
        assertThrows(PoisonedException.class, () -> pushOnce(known + 1, Records.of(two(24)), true));
        assertThrows(PoisonedException.class, () -> core.writer().push(new byte[8], 0, 8));
        storage.heal();
        reopen();
        pushes(24, true);
    }

    /** Killed between slot and publication; the records that get the same offsets afterwards must not make it count. */
    @ParameterizedTest
    @ValueSource(ints = {24, SPANNING})
    void aSlotThatAKillHasLeftWithoutItsBatchIsVoid(int length) throws InterruptedException {
        pushes(100, true);
        pushes(24, false);
        List<Path> left = new ArrayList<>();
        storage.failWhen((call, path) -> {
            if (isSyncOfPage(call, path)) {
                left.add(Directories.copy(temp.resolve("queue"), temp.resolve("left-" + left.size())));
            }
            return false;
        });
        assertEquals(expected.size(), pushOnce(known + 1, Records.of(two(length)), true));
        storage.heal();
        core.close();
        for (int i = 0; i < 3; i++) {
            core = Cores.open(config(left.get(0)), storage);
            assertKnown(core);
            pushesPlain();
            pushesPlain();
            pushesPlain();
            Path killed = Directories.copy(left.get(0), temp.resolve("again"));
            core.close();
            core = Cores.open(config(killed), storage);
            assertKnown(core);
            core.close();
            Directories.delete(killed);
            core = Cores.open(config(left.get(0)), storage);
            pushes(24, i == 1);
            core.close();
        }
    }

    @Test
    void aPageThatCanNotBeMadeStoresNothing() throws InterruptedException {
        storage.failWhen((call, path) -> call == FaultyStorage.Call.RENAME && path.endsWith("producers/p.dat"));
        MmapQueueException refused =
                assertThrows(MmapQueueException.class, () -> pushOnce(0, Records.of(two(24)), false));
        assertTrue(refused.getMessage().contains("producer p"), refused.getMessage());
        assertEquals(0, core.endOffset());
        storage.heal();
        pushes(24, false);
        reopen();
    }

    @Test
    void aProducerThatCanNotBeForgottenIsStillKnown() throws InterruptedException {
        pushes(24, false);
        storage.failWhen((call, path) -> call == FaultyStorage.Call.DELETE);
        assertThrows(MmapQueueException.class, () -> core.writer().producers().forget("p"));
        storage.heal();
        assertKnown(core);
        pushes(24, false);
        reopen();
        core.writer().producers().forget("p");
        known = -1;
        reopen();
        pushes(24, false);
    }

    // One that fails may have stored all of its records, or none; the sequence tells.
    private void pushAtEnd() throws InterruptedException {
        int number = expected.size();
        List<byte[]> batch = two(600);
        boolean done = false;
        try {
            assertEquals(number, pushOnce(known + 1, Records.of(batch), false));
            done = true;
        } finally {
            long end = core.writer().endOffset();
            if (done || end > number) {
                assertEquals(number + 2, end);
                expected.addAll(batch);
                known++;
            }
        }
    }

    @Test
    void anOverflowOfTheStackAtAnyDepthDoublesAndLosesNothing() throws InterruptedException {
        core.close();
        QueueConfig config = QueueConfig.builder(temp.resolve("deep"))
                .segmentSize("8m")
                .queueCapacitySegments(4)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
        core = Cores.open(config, storage);
        ConsumerCore consumer = core.consumer("default", StartAt.EARLIEST);
        for (int round = 0; round < 2 * ROUNDS; round++) {
            assertNull(EndOfStack.reach(this::pushAtEnd));
            pushesPlain();
            assertKnown(core);
            for (Message next = consumer.poll(); next != null; next = consumer.poll()) {
                Payload.assertMessages(next.offset(), List.of(expected.get((int) next.offset())), List.of(next));
            }
            core.ackUpTo(consumer, expected.size() - 1);
            core.writer().flush();
        }
        core.close();
        core = Cores.open(config, storage);
        assertKnown(core);
        assertNull(core.consumer("default", StartAt.EARLIEST).poll());
    }
}
