package org.mmapqueue.lookup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.meta.MetaPageV2;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.swap.Nowhere;
import org.mmapqueue.swap.Swapper;

/** The log start under retain_ms, to the millisecond. */
@Timeout(60)
class LogStartTest {
    private static final int SEGMENT = 4096;
    private static final int SEGMENTS = 5;
    private static final long RETAIN_MILLIS = 1000;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Geometry fill() {
        QueueConfig config = QueueConfig.builder(temp)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(20)
                .flushPeriod(Duration.ofMillis(600_000))
                .retain(Duration.ofMillis(RETAIN_MILLIS))
                .build();
        QueueCore core = Cores.open(config, DiskStorage.INSTANCE);
        ConsumerCore consumer = core.consumer("default", StartAt.EARLIEST);
        byte[] payload = new byte[300];
        while (core.stats().writingPosition() < SEGMENTS * SEGMENT - 1000) {
            for (long now = System.currentTimeMillis(); now == System.currentTimeMillis(); ) {
                Thread.onSpinWait(); // timestamps are whole milliseconds; each record gets a different one
            }
            core.writer().push(payload, 0, payload.length);
            core.ackUpTo(consumer, consumer.poll().offset());
        }
        Geometry geometry = core.settings().geometry();
        core.close();
        return geometry;
    }

    @Test
    void aSegmentIsRetainedUntilItsNewestRecordIsTooOldAndNotLonger() throws IOException {
        Geometry geometry = fill();
        long[] now = {0};
        try (MetaPageV2 meta = MetaPageV2.open(DiskStorage.INSTANCE, temp);
                Registry registry = new Registry(DiskStorage.INSTANCE, temp, meta);
                Swapper swapper =
                        new Swapper(new SegmentRing(DiskStorage.INSTANCE, temp, geometry), 6, false, new Nowhere())) {
            LogStart retained = new LogStart(geometry, meta, swapper, registry, () -> Instant.ofEpochMilli(now[0]));
            assertEquals(0, meta.reclaimed());
            for (int id = 0; id + 1 < SEGMENTS; id++) {
                // No record of a segment is newer than the base time of the next one.
                long newest = Directories.word(temp.resolve(id + 1 + "_segment.dat"), 40) / 1000;
                assertTrue(newest > 0);
                now[0] = newest + RETAIN_MILLIS;
                assertEquals(geometry.position(id, 0), retained.head());
                now[0] = newest + RETAIN_MILLIS + 1;
                assertEquals(geometry.position(id + 1, 0), retained.head());
            }
            now[0] = Long.MAX_VALUE / 2000;
            assertEquals(geometry.position(SEGMENTS - 1, 0), retained.head());
        }
    }
}
