package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** The writer drops records of a consumer that lags by more than max_consumer_lag; its next call throws Dropped. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ConsumerLagTest {
    private static final int LAG = 10_000;
    /** The ring refuses 28 752 bytes. */
    private static final int LAG_OF_RING = 28_500;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path directory;
    /** A queue without its threads, so that only a push drops records. */
    private QueueCore core;

    private void open(long lag) {
        directory = directory == null ? temp.resolve("queue") : directory;
        core = Cores.open(
                QueueConfig.builder(directory)
                        .segmentSize(4096)
                        .queueCapacitySegments(8)
                        .maxInMemSegments(8)
                        .maxEventSize(6000)
                        .flushPeriod(Duration.ofMinutes(10))
                        .maxConsumerLag(lag)
                        .build(),
                DiskStorage.INSTANCE);
    }

    @AfterEach
    void close() {
        core.close();
    }

    private ConsumerCore consumer(String name) {
        return core.consumer(name, StartAt.EARLIEST);
    }

    // Some records span segments, so that not every segment begins with a record.
    private void push(int count) {
        for (int i = 0; i < count; i++) {
            long number = core.endOffset();
            byte[] payload = Payload.numbered(number, number % 20 == 9 ? 6000 : 250);
            core.writer().push(payload, 0, payload.length);
        }
    }

    private long committedPosition() {
        return core.consumerStats().get(0).committedPosition();
    }

    private void read(ConsumerCore consumer, long first, long end) {
        for (long offset = first; offset < end; offset++) {
            Message message = core.poll(consumer);
            assertEquals(offset, message.offset());
            assertEquals(offset, Payload.numberOf(message.data()));
        }
    }

    private void assertReads(ConsumerCore consumer, long first, long end) {
        read(consumer, first, end);
        assertNull(core.poll(consumer));
    }

    /** The next call throws Dropped for a gap from {@code first} on; returns the offset after the gap. */
    private long assertDropped(long first, ConsumerCore consumer) {
        DroppedException dropped = assertThrows(DroppedException.class, () -> core.poll(consumer));
        assertEquals(first, dropped.first());
        assertTrue(dropped.last() >= first, dropped.getMessage());
        assertTrue(
                dropped.getMessage().contains(consumer.name())
                        && dropped.getMessage().contains(first + ".." + dropped.last()),
                dropped.getMessage());
        assertEquals(dropped.last() + 1, consumer.readOffset());
        assertEquals(dropped.last() + 1, consumer.committedOffset());
        assertEquals(0, consumer.unacked());
        return dropped.last() + 1;
    }

    @Test
    void aDroppedConsumerThrowsOnceAndContinuesAfterTheGap() {
        open(LAG);
        ConsumerCore slow = consumer("default");
        push(400);
        long next = assertDropped(0, slow);
        assertTrue(next < 400, "every record was dropped");
        assertReads(slow, next, 400);
        core.ackUpTo(slow, 399);
        push(5);
        assertReads(slow, 400, 405);
    }

    @Test
    void aSlowConsumerNeverStopsTheWriter() {
        open(LAG);
        core.createConsumer("gone", StartAt.EARLIEST);
        ConsumerCore quick = consumer("default");
        for (int i = 0; i < 600; i++) {
            push(1);
            assertEquals(i, core.poll(quick).offset());
            core.ackUpTo(quick, i);
        }
        ConsumerCore gone = consumer("gone");
        assertReads(gone, assertDropped(0, gone), 600);
    }

    /** The writer would drop up to the beginning of this segment. */
    @Test
    void aDamagedHeaderDoesNotStopTheWriter() {
        open(LAG);
        ConsumerCore slow = consumer("default");
        while (core.stats().writingPosition() / 4096 < 7) {
            push(1);
        }
        Directories.flip(directory.resolve("6_segment.dat"), 40, 1);
        push(400);
        long end = core.endOffset();
        assertReads(slow, assertDropped(0, slow), end);
    }

    /** Neither the records before the committed position lead to its offset, nor those after it. */
    @Test
    void damageOnBothSidesOfAConsumerDoesNotStopTheWriter() {
        open(LAG);
        ConsumerCore slow = consumer("default");
        push(9);
        read(slow, 0, 9);
        core.ackUpTo(slow, 3);
        Path file = directory.resolve("0_segment.dat");
        Directories.overwrite(file, 64 + 272, new byte[8]); // the header of record 1, after one of 16 + 256 bytes
        Directories.overwrite(file, 64 + 6 * 272, new byte[8]);
        push(400);
        long end = core.endOffset();
        assertReads(slow, assertDropped(4, slow), end);
    }

    @Test
    void aConsumerWithinTheLimitKeepsEverything() {
        open(3 * LAG); // less than the ring, so that the writer needs the space
        ConsumerCore slow = consumer("default");
        push(20);
        for (int i = 0; i < 600; i += 20) {
            push(20);
            assertTrue(core.consumerStats().get(0).lagBytes() < 3 * LAG);
            read(slow, i, i + 20);
            core.ackUpTo(slow, i + 19);
        }
        assertReads(slow, 600, 620);
    }

    @Test
    void aGapBeginsWithTheFirstUnackedRecord() {
        open(LAG);
        ConsumerCore slow = consumer("default");
        push(9);
        read(slow, 0, 9);
        core.ackUpTo(slow, 3);
        core.ack(slow, new long[] {6});
        push(400);
        DroppedException dropped = assertThrows(DroppedException.class, () -> core.ackUpTo(slow, 8));
        assertEquals(4, dropped.first());
        core.ackUpTo(slow, 8); // before the end of the gap: has no effect
        assertThrows(OutOfRangeException.class, () -> core.nack(slow, 8, 0));
        assertEquals(dropped.last() + 1, slow.committedOffset());
        assertReads(slow, dropped.last() + 1, 409);
    }

    @Test
    void everyGapThrowsAndTwoBeforeACallAreOne() {
        open(LAG);
        ConsumerCore slow = consumer("default");
        push(400);
        long next = assertDropped(0, slow);
        core.poll(slow);
        core.ackUpTo(slow, next);
        push(200);
        push(200);
        assertReads(slow, assertDropped(next + 1, slow), 800);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aGapThrowsAfterAReopening(boolean killed) {
        open(LAG);
        core.createConsumer("named", StartAt.EARLIEST);
        push(5);
        ConsumerCore first = consumer("default");
        assertEquals(0, core.poll(first).offset());
        core.ackUpTo(first, 0);
        push(400);
        Path copy = Directories.copy(directory, temp.resolve("copy"));
        core.close();
        directory = killed ? copy : directory;
        open(LAG);
        ConsumerCore named = consumer("named");
        assertReads(named, assertDropped(0, named), 405);
        ConsumerCore again = consumer("default");
        assertReads(again, assertDropped(1, again), 405);
    }

    @Test
    void eachConsumerThrowsForItsOwnGap() {
        open(LAG);
        ConsumerCore one = consumer("one");
        ConsumerCore two = consumer("two");
        push(8);
        read(one, 0, 8);
        read(two, 0, 8);
        core.ackUpTo(one, 1);
        core.ackUpTo(two, 5);
        push(400);
        assertReads(one, assertDropped(2, one), 408);
        assertReads(two, assertDropped(6, two), 408);
    }

    /** The writer drops more records while the consumer of another process reads the gap. */
    @ParameterizedTest
    @ValueSource(ints = {30, 60, 400})
    void recordsDroppedWhileTheGapIsReadArePartOfIt(int more) {
        open(LAG);
        core.createConsumer("away", StartAt.EARLIEST);
        push(5);
        FaultyStorage storage = new FaultyStorage();
        QueueCore other =
                Cores.open(QueueConfig.builder(directory).readOnly(true).build(), storage);
        try {
            ConsumerCore away = other.consumer("away", StartAt.EARLIEST);
            assertEquals(0, other.poll(away).offset());
            push(400);
            long[] droppedBefore = {core.consumerStats().get(0).committedOffset()};
            boolean[] isDone = {false};
            storage.failWhen((call, path) -> {
                if (call == FaultyStorage.Call.MAP && !isDone[0]) {
                    isDone[0] = true;
                    push(more);
                }
                return false;
            });
            DroppedException dropped = assertThrows(DroppedException.class, () -> other.poll(away));
            assertTrue(isDone[0]);
            assertEquals(0, dropped.first());
            assertTrue(dropped.last() >= droppedBefore[0], "nothing was dropped by the first pushes");
            for (long offset = dropped.last() + 1; offset < 405 + more; offset++) {
                assertEquals(offset, other.poll(away).offset());
            }
            assertNull(other.poll(away));
            other.ackUpTo(away, 404 + more);
            assertEquals(405 + more, core.consumerStats().get(0).committedOffset());
        } finally {
            other.close();
        }
    }

    /** What a crash leaves unused of a segment is dropped like a record: a consumer that stands before it loses nothing. */
    @Test
    void whatIsInFlightStaysSoWhenOnlyTheUnusedEndOfASegmentIsDropped() {
        openBeforeUnusedEnd();
        ConsumerCore slow = consumer("default");
        push(4);
        read(slow, 1, 5);
        long before = committedPosition();
        dropUnusedEnd();
        read(slow, 5, 6);
        assertTrue(committedPosition() > before, "the unused end was dropped");
        assertEquals(1, slow.committedOffset());
        assertEquals(5, slow.unacked());
        slow.ack(3);
        slow.ackUpTo(5);
        assertEquals(6, slow.committedOffset());
    }

    // Record 0 is acked, and the rest of its segment unused.
    private void openBeforeUnusedEnd() {
        open(LAG_OF_RING);
        push(1);
        core.ackUpTo(consumer("default"), core.poll(consumer("default")).offset());
        Directories.copyOpen(directory, temp.resolve("killed"), 4096);
        close();
        directory = temp.resolve("killed");
        open(LAG_OF_RING);
    }

    private void dropUnusedEnd() {
        while (core.stats().writingPosition() <= 30_000) {
            push(1);
        }
    }

    /** As before, of records that were in flight when the consumer was closed. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatWasInFlightStaysSoWhenOnlyTheUnusedEndOfASegmentIsDropped(boolean opened) {
        openBeforeUnusedEnd();
        ConsumerCore slow = consumer("default");
        push(4);
        read(slow, 1, 5);
        slow.ack(3);
        core.closeConsumer(slow);
        if (opened) {
            consumer("default");
        }
        long before = committedPosition();
        dropUnusedEnd();
        slow = consumer("default");
        read(slow, 1, 3);
        assertTrue(committedPosition() > before, "the unused end was dropped");
        assertEquals(4, core.poll(slow).offset());
        slow.ackUpTo(4);
        assertEquals(5, slow.committedOffset());
        read(slow, 5, 6);
    }

    @Test
    void aSeekClearsTheGap() {
        open(LAG);
        ConsumerCore slow = consumer("default");
        push(400);
        assertDropped(0, slow);
        core.seek(slow, StartAt.LATEST);
        assertNull(core.poll(slow));
        push(3);
        assertReads(slow, 400, 403);
    }

    @Test
    void statisticsShowTheRemainingRecords() {
        open(LAG);
        core.createConsumer("away", StartAt.EARLIEST);
        push(400);
        ConsumerStats away = core.consumerStats().get(0);
        assertTrue(away.committedOffset() > 0 && away.committedOffset() < 400, away.toString());
        assertEquals(400 - away.committedOffset(), away.lagRecords());
        assertEquals(away.committedOffset(), core.stats().firstOffset());
        assertEquals(List.of("away"), core.consumerNames());
        assertReads(consumer("away"), assertDropped(0, consumer("away")), 400);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1 << 20})
    void withoutALimitBelowTheRingAPushThrowsFull(long lag) {
        open(lag);
        assertThrows(FullException.class, () -> push(400));
        ConsumerCore slow = consumer("default");
        assertReads(slow, 0, core.endOffset());
    }
}
