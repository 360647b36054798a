package org.mmapqueue.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.Appender;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;
import org.mmapqueue.tool.repair.Repairer;

/** {@code max_age}: records that are too old are dropped where consumers have not acked them, and logged. */
class AgeLimitTest {
    private static final long HOUR_MICROS = 3_600_000_000L;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private QueueConfig.Builder config() {
        return QueueConfig.builder(temp.resolve("queue")).segmentSize(4096).queueCapacitySegments(16);
    }

    // Records 0 to 29 are two hours old, 30 to 39 are new.
    private void make() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.createConsumer("slow", StartAt.EARLIEST);
            queue.createConsumer("quick", StartAt.EARLIEST);
            for (int i = 0; i < 30; i++) {
                queue.push(new byte[300]);
            }
        }
        Repairer.restamp(temp.resolve("queue"), old -> old - 2 * HOUR_MICROS);
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            for (int i = 30; i < 40; i++) {
                queue.push(new byte[300]);
            }
            Consumer quick = queue.consumer("quick", StartAt.EARLIEST);
            while (quick.readOffset() < 35) {
                quick.poll();
            }
            quick.ackUpTo(34);
        }
    }

    private static long dropped(List<ConsumerStats> stats, String consumer) {
        return stats.stream()
                .filter(each -> each.name().equals(consumer))
                .mapToLong(ConsumerStats::droppedRecords)
                .sum();
    }

    @Test
    void theOldOnesAreDroppedAndTheConsumerIsToldOnce() throws Exception {
        make();
        // The housekeeper looks every 10 s at this age: here the test takes its step.
        QueueCore core = Cores.open(config().maxAge(Duration.ofHours(1)).build(), DiskStorage.INSTANCE);
        try {
            ConsumerCore slow = core.consumer("slow", StartAt.EARLIEST);
            assertEquals(0, core.poll(slow).offset());
            core.writer().dropAged();
            DroppedException error = assertThrows(DroppedException.class, () -> core.poll(slow));
            assertEquals(0, error.first());
            assertEquals(29, error.last());
            assertEquals(30, core.poll(slow).offset());
            assertEquals(30, dropped(core.consumerStats(), "slow"));
            assertEquals(0, dropped(core.consumerStats(), "quick"));
            assertEquals(30, core.log().firstOffset());
        } finally {
            core.close();
        }
    }

    /** A recovery leaves the rest of a segment unused: whoever has acked all records before it loses none. */
    @Test
    void theUnusedEndOfASegmentIsNoRecord() throws Exception {
        QueueConfig.Builder limited = config().maxAge(Duration.ofHours(1));
        Path killed = temp.resolve("killed");
        QueueCore before = Cores.open(limited.build(), DiskStorage.INSTANCE);
        try {
            ConsumerCore consumer = before.consumer("a", StartAt.EARLIEST);
            before.writer().push(new byte[10], 0, 10);
            before.ackUpTo(consumer, before.poll(consumer).offset());
            Directories.copy(temp.resolve("queue"), killed);
        } finally {
            before.close();
        }
        QueueCore core = Cores.open(
                QueueConfig.builder(killed).maxAge(Duration.ofHours(1)).build(), DiskStorage.INSTANCE);
        try {
            ConsumerCore consumer = core.consumer("a", StartAt.EARLIEST);
            core.writer().push(new byte[10], 0, 10);
            assertEquals(1, core.poll(consumer).offset());
            core.writer().dropAged();
            core.ackUpTo(consumer, 1);
            assertNull(core.poll(consumer));
            assertEquals(0, dropped(core.consumerStats(), "a"));
        } finally {
            core.close();
        }
    }

    /** The search by time meets the header; headers that are whole show that the records before them are old. */
    @Test
    void aDamagedHeaderDoesNotKeepAllOldRecords() throws Exception {
        make();
        QueueCore core = Cores.open(config().maxAge(Duration.ofHours(1)).build(), DiskStorage.INSTANCE);
        try {
            ConsumerCore slow = core.consumer("slow", StartAt.EARLIEST);
            Directories.flip(temp.resolve("queue/2_segment.dat"), 40, 1);
            core.writer().dropAged();
            DroppedException error = assertThrows(DroppedException.class, () -> core.poll(slow));
            assertEquals(0, error.first());
            assertTrue(error.last() > 0 && error.last() < 30, error.getMessage());
            assertEquals(error.last() + 1, core.poll(slow).offset());
        } finally {
            core.close();
        }
    }

    /** All records are too old: the consumer continues with the next one, and pushes find room. */
    @Test
    void aQueueThatNobodyReadsNeverFills() throws Exception {
        try (MmapQueue queue =
                MmapQueue.open(config().maxAge(Duration.ofMillis(20)).build())) {
            queue.createConsumer("gone", StartAt.EARLIEST);
            for (int i = 0; i < 1000; i++) {
                queue.push(new byte[1000], Waiting.LONG); // 16 segments hold 48 of them
            }
            // The housekeeper counts them after it has moved the consumer.
            Waiting.until("all are counted", () -> dropped(queue.consumerStats(), "gone") >= 1000);
            assertEquals(1000, dropped(queue.consumerStats(), "gone"));
            assertEquals(1000, queue.firstOffset());
            Consumer gone = queue.consumer("gone", StartAt.EARLIEST);
            DroppedException error = assertThrows(DroppedException.class, gone::poll);
            assertEquals(999, error.last());
        }
        try (MmapQueue queue =
                MmapQueue.open(config().maxAge(Duration.ofMillis(20)).build())) {
            queue.deleteConsumer("gone");
            queue.push(new byte[10]);
            Waiting.until("what nobody reads is dropped", () -> queue.firstOffset() == queue.endOffset());
        }
    }

    /** The system's clock and a monotonic one, which a test moves. */
    private static final class Clocks {
        private long millis = System.currentTimeMillis();
        private long nanos = 7;

        AgeLimit limit(QueueCore core) {
            return core.writer().ageLimit(() -> Instant.ofEpochMilli(millis), () -> nanos);
        }

        /** Some time passes. */
        void pass(Duration time) {
            millis += time.toMillis();
            nanos += time.toNanos();
        }

        /** The system's clock is set ahead. */
        void jump(Duration ahead) {
            millis += ahead.toMillis();
        }
    }

    private static long push(QueueCore core, int count) {
        for (int i = 0; i < count; i++) {
            core.writer().push(new byte[300], 0, 300);
        }
        return core.endOffset();
    }

    @Test
    void aClockThatIsSetAheadDropsNothingThatIsYoungToThisProcess() {
        QueueCore core = Cores.open(config().maxAge(Duration.ofHours(1)).build(), DiskStorage.INSTANCE);
        try {
            core.createConsumer("slow", StartAt.EARLIEST);
            Clocks clocks = new Clocks();
            AgeLimit limit = clocks.limit(core);
            push(core, 10);
            clocks.pass(Duration.ofMinutes(10));
            limit.run();
            clocks.jump(Duration.ofHours(2));
            limit.run();
            assertEquals(0, dropped(core.consumerStats(), "slow"));
            long first = push(core, 5);
            clocks.pass(Duration.ofMinutes(51));
            limit.run();
            assertEquals(0, dropped(core.consumerStats(), "slow"), "seen 51 minutes ago");
            clocks.pass(Duration.ofMinutes(10));
            limit.run();
            assertEquals(first - 5, dropped(core.consumerStats(), "slow"), "seen for an hour");
        } finally {
            core.close();
        }
    }

    /** A check that throws is repeated, and would throw each time. */
    @Test
    void anExceptionOfTheLogKeepsNothing() {
        QueueCore core = Cores.open(config().maxAge(Duration.ofHours(1)).build(), DiskStorage.INSTANCE);
        try (Appender log = Appender.throwing(AgeLimit.class)) {
            core.createConsumer("slow", StartAt.EARLIEST);
            Clocks clocks = new Clocks();
            AgeLimit limit = clocks.limit(core);
            long end = push(core, 10);
            clocks.pass(Duration.ofMinutes(1));
            limit.run();
            clocks.jump(Duration.ofHours(2));
            limit.run();
            clocks.pass(Duration.ofMinutes(61));
            limit.run();
            assertEquals(end, dropped(core.consumerStats(), "slow"));
            assertEquals(1, log.lines());
        } finally {
            core.close();
        }
    }

    /** Records from before the open: their age at the open is known, and the time since. */
    @Test
    void aClockThatIsSetAheadDropsNothingThatWasYoungAtTheOpen() {
        QueueCore before = Cores.open(config().build(), DiskStorage.INSTANCE);
        before.createConsumer("slow", StartAt.EARLIEST);
        long end = push(before, 10);
        before.close();
        QueueCore core = Cores.open(config().maxAge(Duration.ofHours(1)).build(), DiskStorage.INSTANCE);
        try {
            Clocks clocks = new Clocks();
            AgeLimit limit = clocks.limit(core);
            clocks.jump(Duration.ofHours(2));
            clocks.pass(Duration.ofMinutes(50));
            limit.run();
            assertEquals(0, dropped(core.consumerStats(), "slow"));
            clocks.pass(Duration.ofMinutes(11));
            limit.run();
            assertEquals(end, dropped(core.consumerStats(), "slow"));
        } finally {
            core.close();
        }
    }

    /** Checks each minute, for a day: a record is dropped when it is an hour old, and a tenth of an hour later at most. */
    @Test
    void recordsAreDroppedAtTheirAge() {
        QueueCore core = Cores.open(config().maxAge(Duration.ofHours(1)).build(), DiskStorage.INSTANCE);
        try {
            core.createConsumer("slow", StartAt.EARLIEST);
            Clocks clocks = new Clocks();
            AgeLimit limit = clocks.limit(core);
            long end = push(core, 10);
            for (int minutes = 1; minutes <= 59; minutes++) {
                clocks.pass(Duration.ofMinutes(1));
                limit.run();
                assertEquals(0, dropped(core.consumerStats(), "slow"), minutes + " minutes");
            }
            for (int minutes = 60; minutes <= 66; minutes++) {
                clocks.pass(Duration.ofMinutes(1));
                limit.run();
            }
            assertEquals(end, dropped(core.consumerStats(), "slow"));
        } finally {
            core.close();
        }
    }

    /** A clock that is set back makes records younger by their timestamps; they are dropped later. */
    @Test
    void aClockThatIsSetBackDropsNothingEarly() {
        QueueCore core = Cores.open(config().maxAge(Duration.ofHours(1)).build(), DiskStorage.INSTANCE);
        try {
            core.createConsumer("slow", StartAt.EARLIEST);
            Clocks clocks = new Clocks();
            AgeLimit limit = clocks.limit(core);
            long end = push(core, 10);
            clocks.pass(Duration.ofMinutes(1));
            limit.run();
            clocks.jump(Duration.ofMinutes(-30));
            clocks.pass(Duration.ofMinutes(69));
            limit.run();
            assertEquals(0, dropped(core.consumerStats(), "slow"));
            clocks.pass(Duration.ofMinutes(30));
            limit.run();
            assertEquals(end, dropped(core.consumerStats(), "slow"));
        } finally {
            core.close();
        }
    }

    @Test
    void anAgeNeedsTimestamps() {
        ConfigException error = assertThrows(
                ConfigException.class,
                () -> MmapQueue.open(
                        config().timestamps(false).maxAge(Duration.ofSeconds(1)).build()));
        assertEquals("max_age", error.key());
        assertTrue(assertThrows(
                        ConfigException.class,
                        () -> MmapQueue.open(config().formatVersion(1)
                                .maxAge(Duration.ofSeconds(1))
                                .build()))
                .getMessage()
                .contains("max_age"));
    }
}
