package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.damage.RecordPositions;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.ChangingRecords;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Micros;
import org.mmapqueue.support.Waiting;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Progress;

/** A ring that overflows, while its archive cannot be written, lacks records, or belongs to another directory. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OverflowLossTest extends OverflowSetup {
    // ---- records that a purge has kept from the archive

    /** Leaves records 1000 to 1019 out of the archive, and fills the ring once more; returns the log end. */
    private int purgeUnshipped() throws InterruptedException {
        fill();
        try (MmapQueue queue = MmapQueue.open(plain().build())) {
            push(queue, MANY, MANY + 20);
            queue.purge();
        }
        int end = 2 * MANY;
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            push(queue, MANY + 20, end);
            assertTrue(queue.awaitShipped(end - 1, LONG));
            assertTrue(queue.firstOffset() > MANY + 20, "the ring begins at " + queue.firstOffset());
        }
        return end;
    }

    @Test
    void aConsumerThatGoesBackStopsAtWhatAPurgeHasKeptFromTheArchive() throws Exception {
        int end = purgeUnshipped();
        try (MmapQueue queue = MmapQueue.openToRead(directory())) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            consumer.seek(StartAt.offset(MANY - 30));
            checkAll(consumer, MANY - 30, MANY);
            for (int i = 0; i < 2; i++) {
                ArchiveException gap = assertThrows(ArchiveException.class, () -> consumer.pop(LONG));
                assertNames(gap, "records 1000 to 1019 are missing", archive(), "dropped");
                assertEquals(MANY + 20, gap.missingTo());
                assertEquals(MANY, consumer.committedOffset());
            }
            consumer.seek(StartAt.offset(MANY + 20));
            checkAll(consumer, MANY + 20, end);
            assertNull(consumer.poll());
        }
    }

    @Test
    void aConsumerThatSkipsCountsWhatAPurgeHasKeptFromTheArchive() throws Exception {
        int end = purgeUnshipped();
        try (MmapQueue queue = MmapQueue.open(readOnly().onDamage("skip").build())) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            consumer.seek(StartAt.offset(MANY - 30));
            checkAll(consumer, MANY - 30, MANY);
            checkAll(consumer, MANY + 20, end);
            assertEquals(1, consumer.damagedRanges().size());
            DamagedRange lost = consumer.damagedRanges().get(0);
            assertEquals(MANY, lost.firstOffset());
            assertEquals(MANY + 19, lost.lastOffset());
            assertEquals(end, consumer.committedOffset());
        }
    }

    @Test
    void aRecordThatARepairHasGivenUpHasNoOffsetInTheArchiveEither() throws Exception {
        try (MmapQueue queue = MmapQueue.open(plain().build())) {
            queue.createConsumer("late", StartAt.EARLIEST);
            push(queue, 0, 10);
            TestDisk.push(queue, new ChangingRecords(payload(10)));
            push(queue, 11, 20);
        }
        assertEquals(
                1,
                Repairer.repairInPlace(directory(), false, Progress.NONE).lost().size());
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            push(queue, 20, MANY);
            assertTrue(queue.firstOffset() > 20);
            assertNames(assertThrows(OutOfRangeException.class, () -> queue.get(10)), "lost", 10);
            check(queue.get(11), 11, 0);
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            checkAll(consumer, 0, 10);
            checkAll(consumer, 11, MANY);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aRecordThatTheRingHasLostIsReadInTheArchive(boolean isFirst) throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.createConsumer("late", StartAt.EARLIEST);
            push(queue, 0, 20);
            assertTrue(queue.awaitShipped(19, LONG));
        }
        int lost = isFirst ? 0 : 4;
        damage(lost);
        try (MmapQueue queue = MmapQueue.openToRead(directory())) {
            assertEquals(0, queue.firstOffset());
            Message found = check(queue.get(lost), lost, 0);
            check(queue.getMany(lost, 2).get(0), lost, 0);
            long[] next = {lost};
            assertTrue(queue.getMany(
                            lost,
                            5,
                            1 << 20,
                            (offset, time, data, start, length, attempts) -> assertEquals(next[0]++, offset))
                    > 0);
            long first = queue.find(Micros.instant(found.timestampMicros())).getAsLong();
            assertEquals(found.timestampMicros(), queue.get(first).timestampMicros());
            hide();
            assertNames(assertThrows(MmapQueueException.class, () -> queue.get(lost)), "offset " + lost, "may have it");
            check(queue.get(lost + 1), lost + 1, 0);
        }
    }

    @Test
    void aRecordThatNeitherTheRingNorTheArchiveHasIsLost() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.createConsumer("late", StartAt.EARLIEST);
            push(queue, 0, 3);
            assertTrue(queue.awaitShipped(2, LONG));
        }
        try (MmapQueue queue = MmapQueue.open(plain().build())) {
            push(queue, 3, 20);
        }
        damage(4);
        try (MmapQueue queue = MmapQueue.openToRead(directory())) {
            assertNames(assertThrows(OutOfRangeException.class, () -> queue.get(4)), "a lost record", "0..19");
        }
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            assertTrue(queue.awaitShipped(19, LONG));
            assertNames(assertThrows(OutOfRangeException.class, () -> queue.get(4)), "a lost record", "0..19");
        }
    }

    /** Damages a record of the closed queue, and gives it up by a repair. */
    private void damage(int offset) throws IOException {
        Path segment = Directories.segments(directory()).get(0);
        Directories.flip(segment, RecordPositions.of(segment).get(offset) + 8, 1);
        assertEquals(
                1,
                Repairer.repairInPlace(directory(), false, Progress.NONE).lost().size());
    }

    // ---- another archive, which lacks what the former one has

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anotherArchiveGetsWhatAConsumerNeedsBeforeTheRingGivesItUp(boolean isLeft) throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.createConsumer("late", StartAt.EARLIEST);
            push(queue, 0, 50);
            assertTrue(queue.awaitShipped(49, LONG));
            assertEquals(0, queue.firstOffset());
        }
        QueueConfig other = config().archiveUri(temp.resolve("other").toUri()).build();
        assertTrue(isLeft ? MmapQueue.leaveArchive(directory()) : MmapQueue.changeArchive(other, false));
        try (MmapQueue queue = MmapQueue.open(other)) {
            push(queue, 50, MANY);
            assertTrue(queue.firstOffset() > 50);
            checkAll(queue.consumer("late", StartAt.COMMITTED), 0, MANY);
        }
    }

    // ---- an archive that can be read only, or is full

    @Test
    void whileTheArchiveCannotBeWrittenConsumersReadOnAndProducersLearnWhy() throws Exception {
        fill();
        Path unfinished = archive().resolve(".tmp");
        Path aside = temp.resolve("aside");
        Files.move(unfinished, aside);
        Files.createFile(unfinished); // no file can be stored
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            checkAll(consumer, 0, 100);
            push(queue, MANY, MANY + 1);
            Waiting.until(
                    "an outage", () -> queue.shipStats().orElseThrow().failure().isPresent());
            FullException full = assertThrows(FullException.class, () -> {
                for (int i = MANY + 1; i < 2 * MANY; i++) {
                    queue.push(payload(i));
                }
            });
            assertNames(full, archive(), "has failed since", ".tmp");
            int end = (int) queue.endOffset();
            checkAll(consumer, 100, 600);
            Waiting.Running<Long> pushing = Waiting.start(() -> queue.push(payload(end), LONG));
            Files.delete(unfinished);
            Files.move(aside, unfinished);
            assertEquals(end, pushing.result());
            push(queue, end + 1, end + 300);
            checkAll(consumer, 600, end + 300);
            assertNull(consumer.poll());
        }
    }

    // ---- two directories

    @Test
    void aBackupIsNotShippedAndItsConsumersReadTheCommonRecords() throws Exception {
        fill();
        Path backup = temp.resolve("backup");
        Directories.copy(directory(), backup);
        int end = 2 * MANY;
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            checkAll(queue.consumer("late", StartAt.COMMITTED), 0, 200);
            push(queue, MANY, end);
            assertTrue(queue.awaitShipped(end - 1, LONG));
        }
        Directories.delete(directory());
        Files.move(backup, directory());
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            Waiting.until(
                    "the shipper ends", () -> queue.shipStats().orElseThrow().hasEnded());
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            checkAll(consumer, 0, MANY); // what it acked after the backup comes again
            assertNull(consumer.poll());
            // Its own records: the archive has others at these offsets.
            FullException full = assertThrows(FullException.class, () -> {
                for (int i = 0; i < MANY; i++) {
                    queue.push(new byte[] {7});
                    queue.push(new byte[900]);
                }
            });
            assertNames(full, "has ended", archive());
            assertTrue(queue.firstOffset() <= MANY, "the ring begins at " + queue.firstOffset());
            assertEquals(1, consumer.pop(LONG).data().length);
        }
    }

    @Test
    void ofTwoCopiesThatRunTheSecondOneKeepsItsRecordsInItsRing() throws Exception {
        fill();
        Path other = temp.resolve("other");
        Directories.copy(directory(), other);
        try (MmapQueue first = MmapQueue.open(config().build());
                MmapQueue second = MmapQueue.open(QueueConfig.builder(other)
                        .flushPeriod(Duration.ofMillis(5))
                        .archiveUri(archive().toUri())
                        .shipPeriod(Duration.ofMillis(5))
                        .overflow("archive")
                        .build())) {
            Waiting.until(
                    "one of them ships, and the other one does not",
                    () -> Stream.of(first, second)
                                    .filter(each ->
                                            each.shipStats().orElseThrow().hasEnded())
                                    .count()
                            == 1);
            boolean isFirst = second.shipStats().orElseThrow().hasEnded();
            MmapQueue ships = isFirst ? first : second;
            MmapQueue refused = isFirst ? second : first;
            push(ships, MANY, 2 * MANY);
            assertThrows(FullException.class, () -> {
                for (int i = 0; i < MANY; i++) {
                    refused.push(new byte[900]);
                }
            });
            long end = refused.endOffset();
            checkAll(ships.consumer("late", StartAt.COMMITTED), 0, 2 * MANY);
            Consumer consumer = refused.consumer("late", StartAt.COMMITTED);
            checkAll(consumer, 0, MANY);
            for (long offset = MANY; offset < end; offset++) {
                Message message = consumer.pop(LONG);
                assertEquals(offset, message.offset());
                assertEquals(900, message.data().length, "record " + offset);
            }
            assertNull(consumer.poll());
        }
    }

    // ---- the clock

    @ParameterizedTest
    @ValueSource(longs = {-365, 365})
    void aClockThatWasWrongMovesNoConsumer(long days) throws Exception {
        try (MmapQueue queue = MmapQueue.open(plain().build())) {
            queue.createConsumer("late", StartAt.EARLIEST);
            push(queue, 0, 50);
        }
        Repairer.restamp(directory(), old -> old + Duration.ofDays(days).toSeconds() * 1_000_000);
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            push(queue, 50, MANY);
            assertTrue(queue.firstOffset() > 100);
        }
        try (MmapQueue queue = MmapQueue.openToRead(directory())) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            checkAll(consumer, 0, MANY);
            long micros = queue.get(10).timestampMicros();
            consumer.seek(StartAt.timestamp(Micros.instant(micros)));
            Message first = consumer.pop(LONG);
            assertTrue(first.offset() <= 10 && first.timestampMicros() >= micros, first.toString());
        }
    }
}
