package org.mmapqueue.flush;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.PoisonedException;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;

/** What is fsynced when, in which order; with everything that is fsynced made of memory. */
@Timeout(60)
class FlusherTest {
    private static final int SIZE = 4096;

    private final SyncedMemory memory = new SyncedMemory();
    private final List<String> calls = memory.calls;
    private final MetaPage meta = memory.meta;
    private Flusher flusher = make(3_600_000);

    private Flusher make(long periodMillis) {
        return memory.flusher(new Geometry(Format.V2, SIZE, 10), periodMillis);
    }

    @AfterEach
    void close() {
        flusher.close();
    }

    private void assertCalls(String... expected) {
        memory.assertCalls(expected);
    }

    private static void awaitUntil(BooleanSupplier condition) throws InterruptedException {
        while (!condition.getAsBoolean()) {
            Thread.sleep(1);
        }
    }

    @Test
    void dataThenConsumersThenTheWatermark() {
        meta.writing(500);
        flusher.flush();
        assertCalls("segment 0 0-500", "named", "watermark 500", "meta");
        meta.writing(SIZE + 300);
        flusher.flush();
        assertCalls("segment 0 500-4096", "segment 1 0-300", "named", "watermark 4396", "meta");
    }

    @Test
    void whereNothingHasMovedNothingIsSynced() {
        flusher.flush();
        calls.clear();
        flusher.flush();
        assertCalls();
        memory.named.committed(10);
        flusher.flush();
        assertEquals(
                List.of("named", "meta"),
                calls.stream().filter(call -> !call.startsWith("watermark")).toList());
        calls.clear();
        flusher.flush();
        assertCalls();
    }

    @Test
    void anEndAtASegmentsEndSyncsThatSegmentOnly() {
        meta.writing(SIZE);
        flusher.flush();
        assertCalls("segment 0 0-4096", "named", "watermark 4096", "meta");
        meta.writing(SIZE + 100);
        flusher.flush();
        assertCalls("segment 1 0-100", "named", "watermark 4196", "meta");
    }

    @Test
    void segmentsThatEveryoneHasAckedAreLeftOut() {
        meta.writing(5 * SIZE + 100);
        memory.unnoted.committed(3 * SIZE + 50);
        memory.named.committed(4 * SIZE);
        flusher.flush();
        assertCalls("segment 3 0-4096", "segment 4 0-4096", "segment 5 0-100", "named", "watermark 20580", "meta");
        assertEquals(3 * SIZE + 50, flusher.durableCommitted());
    }

    /** Recovery learns the number of the next record from it, even when all of it is acked. */
    @Test
    void theSegmentOfTheWatermarkIsAlwaysSynced() {
        meta.writing(3 * SIZE);
        memory.unnoted.committed(3 * SIZE);
        memory.named.committed(3 * SIZE);
        flusher.flush();
        assertCalls("segment 2 0-4096", "named", "watermark 12288", "meta");
    }

    @Test
    void theDurableAckIsTheOneThatWasSynced() {
        flusher.startAt(77);
        assertEquals(77, flusher.durableCommitted());
        meta.writing(1000);
        memory.unnoted.committed(900);
        memory.named.committed(600);
        flusher.flush();
        assertEquals(600, flusher.durableCommitted());
        memory.named.committed(1000);
        assertEquals(600, flusher.durableCommitted());
        flusher.flush();
        assertEquals(900, flusher.durableCommitted());
    }

    /** The cursor that was fsynced may be the one before the move. */
    @Test
    void whatIsSyncedWhileAConsumerIsMadeOrMovedCountsAsFarAsIsReclaimed() {
        meta.writing(3 * SIZE);
        memory.unnoted.committed(2 * SIZE + 10);
        memory.named.committed(2 * SIZE + 20);
        meta.reclaimed(SIZE);
        for (String call : List.of("named", "meta")) {
            memory.during = what -> {
                if (what.equals(call)) {
                    meta.countConsumerChange();
                }
            };
            memory.named.committed(memory.named.committed() + 1);
            flusher.flush();
            assertEquals(SIZE, flusher.durableCommitted(), call);
        }
        memory.during = what -> {};
        flusher.flush();
        assertEquals(2 * SIZE + 10, flusher.durableCommitted());
    }

    @Test
    void whatWasSyncedOfACursorThatIsMovedBackDoesNotCountAnyMore() {
        meta.writing(1000);
        memory.unnoted.committed(900);
        memory.named.committed(900);
        flusher.flush();
        flusher.durableAtMost(950);
        assertEquals(900, flusher.durableCommitted());
        flusher.durableAtMost(400);
        assertEquals(400, flusher.durableCommitted());
        flusher.flush();
        assertEquals(900, flusher.durableCommitted());
    }

    /** The disk knows it before the caller overwrites it; a position that was given up is not retained again. */
    @Test
    void whatIsGivenUpIsSyncedBeforeItIsOverwritten() throws InterruptedException {
        flusher.giveUpBefore(3 * SIZE);
        assertCalls("meta");
        assertEquals(3 * SIZE, meta.intact());
        flusher.giveUpBefore(2 * SIZE);
        assertEquals(3 * SIZE, meta.intact());
        calls.clear();
        memory.fails = new IOException("injected");
        assertThrows(PoisonedException.class, () -> flusher.giveUpBefore(4 * SIZE));
        memory.fails = null;
        calls.clear();
        assertThrows(PoisonedException.class, () -> flusher.giveUpBefore(5 * SIZE));
        assertCalls();
        assertEquals(4 * SIZE, meta.intact());
        // None of them leaves a lock held.
        Thread other = new Thread(() -> flusher.durableAtMost(0));
        other.start();
        other.join(30_000);
        assertEquals(0, flusher.durableCommitted());
        assertEquals(Thread.State.TERMINATED, other.getState());
    }

    @Test
    void acksAreSyncedAloneWhereTheRecordsAreOnTheDisk() {
        meta.writing(5 * SIZE + 100);
        flusher.flush();
        calls.clear();
        meta.writing(6 * SIZE);
        memory.unnoted.committed(4 * SIZE);
        memory.named.committed(3 * SIZE + 40);
        flusher.syncAcks(3 * SIZE);
        assertCalls("named", "watermark 20580", "meta");
        assertEquals(3 * SIZE + 40, flusher.durableCommitted());
        flusher.flush();
        assertCalls("segment 5 100-4096", "named", "watermark 24576", "meta");
    }

    /** Of what is not, as much as a recovery would need to find the slowest consumer's place. */
    @Test
    void acksOfRecordsThatWereNotSyncedTakeTheirSegmentAlong() {
        meta.writing(8 * SIZE);
        memory.unnoted.committed(7 * SIZE);
        memory.named.committed(5 * SIZE + 48);
        flusher.syncAcks(4 * SIZE);
        assertCalls("segment 5 0-48", "named", "watermark 20528", "meta");
        assertEquals(5 * SIZE + 48, flusher.durableCommitted());
        assertEquals(5 * SIZE, meta.intact());
        flusher.flush();
        assertCalls("segment 5 48-4096", "segment 6 0-4096", "segment 7 0-4096", "named", "watermark 32768", "meta");
    }

    /** The cursors may be durable: a recovery that does not find their position begins at the recovery point. */
    @Test
    void noAckIsDurableBeyondTheWatermark() {
        meta.writing(2 * SIZE);
        flusher.flush();
        meta.writing(6 * SIZE);
        memory.unnoted.committed(5 * SIZE);
        memory.named.committed(5 * SIZE);
        calls.clear();
        flusher.syncAcks(SIZE);
        assertCalls("named", "watermark 8192", "meta");
        assertEquals(2 * SIZE, flusher.durableCommitted());
    }

    @Test
    void whatIsAckedDuringAFlushIsLeftOut() {
        meta.writing(6 * SIZE + 100);
        memory.during = what -> {
            if (what.startsWith("segment 1")) {
                memory.unnoted.committed(5 * SIZE + 16);
                memory.named.committed(4 * SIZE + 16);
            }
        };
        flusher.flush();
        assertCalls(
                "segment 0 0-4096",
                "segment 1 0-4096",
                "segment 4 0-4096",
                "segment 5 0-4096",
                "segment 6 0-100",
                "named",
                "watermark 24676",
                "meta");
        assertEquals(4 * SIZE + 16, flusher.durableCommitted());
        assertEquals(4 * SIZE, meta.intact());
    }

    @Test
    void acksNeedNotWaitForTheEndOfAFlush() throws InterruptedException {
        meta.writing(6 * SIZE);
        memory.named.committed(SIZE + 16);
        memory.unnoted.committed(SIZE + 16);
        Thread acks = new Thread(() -> flusher.syncAcks(SIZE));
        memory.during = what -> {
            if (what.startsWith("segment 2")) {
                acks.start();
                while (acks.getState() != Thread.State.WAITING) {
                    Thread.onSpinWait();
                }
            }
        };
        flusher.flush();
        acks.join();
        assertCalls(
                "segment 1 0-4096",
                "segment 2 0-4096",
                "segment 1 0-16",
                "named",
                "watermark 4112",
                "meta",
                "segment 3 0-4096",
                "segment 4 0-4096",
                "segment 5 0-4096",
                "named",
                "watermark 24576",
                "meta");
    }

    @Test
    void aFailureWhileAcksAreSyncedPoisons() {
        meta.writing(5 * SIZE);
        flusher.flush();
        memory.named.committed(3 * SIZE + 16);
        memory.unnoted.committed(3 * SIZE + 16);
        memory.failsAt = "named";
        memory.fails = new IOException("broken");
        PoisonedException first = assertThrows(PoisonedException.class, () -> flusher.syncAcks(2 * SIZE));
        assertSame(memory.fails, first.getCause());
        memory.fails = null;
        assertEquals(0, flusher.durableCommitted());
        assertThrows(PoisonedException.class, () -> flusher.syncAcks(2 * SIZE));
        assertThrows(PoisonedException.class, () -> flusher.flush());
    }

    @Test
    void waitingForAPositionSyncsDataOnce() {
        meta.writing(500);
        flusher.awaitDurable(400);
        assertEquals("segment 0 0-500", calls.get(0));
        calls.clear();
        flusher.awaitDurable(500);
        assertCalls();
    }

    @Test
    void aFailureOfAnyFsyncPoisonsAndMovesNoRecoveryPoint() {
        for (String failing : List.of("segment", "named")) {
            meta.watermark(0);
            meta.writing(500);
            flusher = make(3_600_000);
            memory.failsAt = failing;
            memory.fails = new IOException("broken");
            PoisonedException first = assertThrows(PoisonedException.class, () -> flusher.flush());
            assertSame(memory.fails, first.getCause());
            assertEquals(0, meta.watermark());
            memory.fails = null;
            calls.clear();
            assertThrows(PoisonedException.class, () -> flusher.flush());
            assertThrows(PoisonedException.class, () -> flusher.awaitDurable(500));
            assertThrows(PoisonedException.class, () -> flusher.throwIfPoisoned());
            assertThrows(PoisonedException.class, () -> flusher.end());
            assertEquals(0, meta.watermark());
            assertTrue(
                    calls.stream().noneMatch(call -> call.startsWith("segment") || call.equals("meta")),
                    calls.toString());
        }
    }

    @Test
    void theFirstCauseOfAPoisoningStays() {
        assertNull(flusher.failure());
        flusher.throwIfPoisoned();
        IllegalStateException first = new IllegalStateException("one");
        flusher.poison(first);
        flusher.poison(new IllegalStateException("two"));
        assertSame(first, flusher.failure());
    }

    @Test
    void aRequestIsDoneByTheThread() throws InterruptedException {
        flusher.start();
        meta.writing(500);
        flusher.request();
        awaitUntil(() -> meta.watermark() == 500);
        meta.writing(600);
        flusher.request();
        awaitUntil(() -> meta.watermark() == 600);
    }

    @Test
    void thePeriodBringsAFlush() throws InterruptedException {
        flusher = make(5);
        flusher.start();
        for (long end = 100; end < 500; end += 100) {
            meta.writing(end);
            long expected = end;
            awaitUntil(() -> meta.watermark() == expected);
        }
    }

    @Test
    void aFailureInTheThreadIsToldToWhoeverComesNext() throws InterruptedException {
        flusher.start();
        memory.fails = new IOException("broken");
        meta.writing(500);
        flusher.request();
        awaitUntil(() -> flusher.failure() != null);
        assertThrows(PoisonedException.class, () -> flusher.throwIfPoisoned());
        flusher.close();
    }

    @Test
    void afterTheEndEveryCallIsRefused() {
        meta.writing(500);
        flusher.end();
        assertEquals(500, meta.watermark());
        assertThrows(ClosedException.class, () -> flusher.flush());
        assertThrows(ClosedException.class, () -> flusher.awaitDurable(600));
        assertThrows(ClosedException.class, () -> flusher.syncAcks(100));
    }

    @Test
    void threadsThatWaitTogetherShareASync() throws Exception {
        List<Thread> threads = new ArrayList<>();
        meta.writing(500);
        for (int i = 0; i < 8; i++) {
            Thread thread = new Thread(() -> flusher.awaitDurable(500));
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(
                1, calls.stream().filter(call -> call.startsWith("segment")).count());
    }
}
