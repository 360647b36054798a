package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.ArchivePartition;
import org.mmapqueue.archive.ShipSource;
import org.mmapqueue.archive.files.LocalFiles;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.Waiting;

/** A ring that gives up records for the archive, and consumers that read them there. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OverflowTest extends OverflowSetup {
    @Test
    void aConsumerReadsOnInTheArchiveAndBackInTheRing() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            Consumer consumer = queue.consumer("late", StartAt.EARLIEST);
            push(queue, 0, 10);
            checkAll(consumer, 0, 5);
            push(queue, 10, MANY);
            assertTrue(queue.firstOffset() > 5, "the ring begins at " + queue.firstOffset());
            checkAll(consumer, 5, MANY);
            assertNull(consumer.poll());
            push(queue, MANY, MANY + 20);
            checkAll(consumer, MANY, MANY + 20);
        }
    }

    @Test
    void aConsumerThatIsBehindContinuesWhereItWasAfterAReopen() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            Consumer consumer = queue.consumer("late", StartAt.EARLIEST);
            push(queue, 0, MANY);
            checkAll(consumer, 0, 7);
        }
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            Consumer consumer = queue.consumer("late", StartAt.EARLIEST);
            assertEquals(7, consumer.committedOffset());
            checkAll(consumer, 7, 300);
        }
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            checkAll(queue.consumer("late", StartAt.EARLIEST), 300, MANY);
        }
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            assertNull(queue.consumer("late", StartAt.EARLIEST).poll());
        }
    }

    @Test
    void recordsInFlightStaySoWhenTheRingGivesThemUp() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            Consumer consumer = queue.consumer("late", StartAt.EARLIEST);
            push(queue, 0, 20);
            List<Message> popped = consumer.popBatch(10, Long.MAX_VALUE, LONG);
            consumer.ack(popped.get(3));
            push(queue, 20, MANY);
            consumer.ack(popped.get(5));
            consumer.nack(popped.get(0));
            check(consumer.pop(LONG), 0, 2);
            check(consumer.pop(LONG), 10, 1);
            consumer.nack(popped.get(7));
        }
        // Attempts and acks out of order survive a close.
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            Consumer consumer = queue.consumer("late", StartAt.EARLIEST);
            for (int offset : new int[] {0, 1, 2, 4, 6, 7, 8, 9, 10}) {
                check(consumer.pop(LONG), offset, offset == 0 ? 3 : 2);
            }
            consumer.ackUpTo(10);
            checkAll(consumer, 11, MANY);
            assertEquals(MANY, consumer.committedOffset());
        }
    }

    @Test
    void aProcessThatOnlyReadsFindsTheArchiveByItself() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build());
                MmapQueue reading = MmapQueue.openToRead(temp.resolve("queue"))) {
            Consumer consumer = reading.consumer("late", StartAt.EARLIEST);
            push(queue, 0, MANY);
            checkAll(consumer, 0, MANY);
        }
    }

    @Test
    void aConsumerBeginsInTheArchiveByOffsetAndByTime() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            Consumer first = queue.consumer("first", StartAt.EARLIEST);
            push(queue, 0, 100);
            first.popBatch(51, Long.MAX_VALUE, LONG);
            Instant time = queue.get(50).timestamp().orElseThrow();
            push(queue, 100, MANY);
            assertTrue(queue.firstOffset() > 100);
            queue.createConsumer("created", StartAt.offset(17));
            assertEquals(17, queue.consumer("created", StartAt.COMMITTED).pop().offset());
            Consumer timed = queue.consumer("timed", StartAt.timestamp(time));
            Message message = timed.pop();
            assertTrue(message.offset() <= 50
                    && message.timestampMicros() >= StartAt.timestamp(time).value());
            first.seek(StartAt.offset(MANY - 1));
            assertEquals(MANY - 1, first.pop().offset());
            first.seek(StartAt.offset(3));
            checkAll(first, 3, 60);
            first.seek(StartAt.timestamp(time));
            assertEquals(message.offset(), first.pop().offset());
            assertEquals(message.offset(), queue.find(time).orElse(-1));
            Instant last = queue.get(MANY - 1).timestamp().orElseThrow();
            assertEquals(
                    last, queue.get(queue.find(last).orElse(-1)).timestamp().orElseThrow());
            assertTrue(queue.find(last.plusSeconds(1)).isEmpty());
        }
    }

    @Test
    void aConsumerThatWasBehindCommitsWhereItSeeksInARingThatRetains() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().retainBytes(1 << 20).build())) {
            Consumer consumer = queue.consumer("late", StartAt.EARLIEST);
            push(queue, 0, MANY);
            checkAll(consumer, 0, MANY);
            long first = queue.firstOffset();
            consumer.seek(StartAt.offset(first));
            checkAll(consumer, (int) first, (int) first + 3);
            assertEquals(first + 3, consumer.committedOffset());
        }
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            long committed = consumer.committedOffset();
            assertEquals(committed, consumer.pop(LONG).offset());
            assertTrue(committed < MANY - 10, "committed " + committed);
        }
    }

    @Test
    void recordsAreReadByOffsetInTheArchiveAndInTheRing() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            push(queue, 0, MANY);
            long first = queue.firstOffset();
            assertTrue(first > 10 && queue.overflows());
            check(queue.get(0), 0, 0);
            check(queue.get(first), first, 0);
            assertEquals(7, queue.getMany(3, 7).size());
            check(queue.getMany(first - 2, 4).get(1), first - 1, 0);
            List<Long> seen = new ArrayList<>();
            assertEquals(5, queue.getMany(1, 5, Long.MAX_VALUE, (offset, timestamp, data, start, length, attempts) -> {
                assertArrayEquals(payload(offset), Arrays.copyOfRange(data, start, start + length));
                seen.add(offset);
            }));
            assertEquals(List.of(1L, 2L, 3L, 4L, 5L), seen);
            long[] parts = queue.split(0, MANY, 20_000);
            assertTrue(parts.length > 10, "parts " + Arrays.toString(parts));
            assertTrue(queue.bytes(0, MANY) > queue.bytes(first, MANY));
            long next = 0;
            for (int i = 0; i + 1 < parts.length; i++) {
                try (RecordReader reader = queue.reader(parts[i], parts[i + 1])) {
                    long[] expected = {parts[i]};
                    while (reader.read(13, 5000, (offset, timestamp, data) -> {
                                assertEquals(expected[0]++, offset);
                                assertArrayEquals(payload(offset), data);
                            })
                            > 0) {}
                    assertEquals(parts[i + 1], expected[0]);
                    assertEquals(parts[i + 1], reader.offset());
                    next = reader.offset();
                }
            }
            assertEquals(MANY, next);
            assertThrows(OutOfRangeException.class, () -> queue.get(MANY));
        }
    }

    @Test
    void anOverflowWithoutAnArchiveIsRefused() {
        QueueConfig.Builder without = QueueConfig.builder(temp.resolve("queue")).overflow("archive");
        assertThrows(ConfigException.class, () -> MmapQueue.open(without.build()));
    }

    @Test
    void nothingIsDroppedInAQueueThatHasOverflown() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.push(payload(1));
        }
        QueueConfig.Builder dropping =
                QueueConfig.builder(temp.resolve("queue")).maxConsumerLag(9000);
        assertTrue(assertThrows(ConfigException.class, () -> MmapQueue.open(dropping.build()))
                .getMessage()
                .contains("archive"));
        assertTrue(Files.exists(temp.resolve("queue/overflow.uri")));
    }

    @Test
    void maxAgeBoundsWhatTheArchiveKeepsForAConsumer() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.consumer("forgotten", StartAt.EARLIEST);
            push(queue, 0, MANY);
            queue.awaitShipped(MANY - 1, LONG);
        }
        QueueConfig.Builder bounded = config().maxAge(Duration.ofMillis(1)).archiveRetain(Duration.ofMillis(1));
        try (MmapQueue queue = MmapQueue.open(bounded.build())) {
            Consumer consumer = queue.consumer("forgotten", StartAt.EARLIEST);
            try (Archive archive = Archive.open(new LocalFiles(temp.resolve("archive")))) {
                ArchivePartition partition =
                        archive.partition(archive.partitions().get(0));
                Waiting.until("the archive has deleted the first records", () -> {
                    partition.refresh();
                    return partition.firstOffset() > 0;
                });
            }
            long lost = 0;
            Message next = null;
            while (next == null) {
                try {
                    next = consumer.pop(LONG);
                } catch (DroppedException dropped) { // one for each look at an archive that deletes run after run
                    assertEquals(lost, dropped.first());
                    lost = dropped.last() + 1;
                }
            }
            assertTrue(lost > 0, "nothing is dropped");
            assertEquals(lost, next.offset());
            check(next, next.offset(), 1);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theArchiveKeepsWhatAConsumerBehindTheRingNeedsWhetherTheRingOverflowsNowOrHasBefore(boolean overflows)
            throws Exception {
        fill();
        QueueConfig.Builder shipping = plain().archiveUri(archive().toUri()).archiveRetain(Duration.ofMillis(1));
        try (MmapQueue queue = new TestDisk().open((overflows ? shipping.overflow("archive") : shipping).build())) {
            ShipSource source = queue.core().shipping().source(archive().toUri());
            assertEquals(0, source.consumedOffset());
            checkAll(queue.consumer("late", StartAt.COMMITTED), 0, 300);
            assertEquals(300, source.consumedOffset());
        }
    }

    @Test
    void aMaxAgeThatWouldHaveNoEffectIsRefused() {
        QueueConfig.Builder never = config().maxAge(Duration.ofDays(1));
        QueueConfig.Builder shorter = config().maxAge(Duration.ofDays(1)).archiveRetain(Duration.ofDays(2));
        for (QueueConfig.Builder each : List.of(never, shorter)) {
            ConfigException e = assertThrows(ConfigException.class, () -> MmapQueue.open(each.build()));
            assertEquals("max_age", e.key());
            assertTrue(e.getMessage().contains("archive_retain"), e.getMessage());
        }
    }
}
