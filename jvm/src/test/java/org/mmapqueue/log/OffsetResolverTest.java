package org.mmapqueue.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.QuickDirectory;

/** The offset of the record that begins at a position. */
@Timeout(60)
class OffsetResolverTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private QueueCore open(boolean timestamps) {
        return Cores.open(
                QueueConfig.builder(temp.resolve("queue"))
                        .segmentSize(4096)
                        .queueCapacitySegments(40)
                        .maxInMemSegments(6)
                        .maxEventSize(20_000)
                        .timestamps(timestamps)
                        .flushPeriod(Duration.ofMinutes(10))
                        .build(),
                DiskStorage.INSTANCE);
    }

    private static long find(QueueCore core, long position) throws IOException {
        LogReaderV2 reader = (LogReaderV2) core.log().reader();
        try {
            return OffsetResolver.find(reader, position, core.stats().writingPosition())
                    .nextOffset();
        } finally {
            reader.leave();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void everyEndOfARecordIsFound(boolean timestamps) throws IOException {
        QueueCore core = open(timestamps);
        SplittableRandom random = new SplittableRandom(3);
        List<Long> ends = new ArrayList<>(List.of(0L));
        // Small ones, ones over several segments, and ones that fill a segment to its last byte.
        for (int i = 0; i < 150; i++) {
            long left = 4096 - core.stats().writingPosition() % 4096;
            int exact = (int) left - RecordDescriptor.SMALLEST;
            int length = i % 10 == 9 && exact >= 0 && left < 4096
                    ? exact
                    : i % 17 == 0 ? 4000 + random.nextInt(9000) : random.nextInt(400);
            core.writer().push(new byte[length], 0, length);
            ends.add(core.stats().writingPosition());
        }
        for (int i = 0; i < ends.size(); i++) {
            assertEquals(i, find(core, ends.get(i)), "at position " + ends.get(i));
        }
        assertTrue(ends.stream().anyMatch(end -> end > 0 && end % 4096 == 0));
        core.close();
    }

    @Test
    void aPositionInsideOfARecordIsDamage() throws IOException {
        QueueCore core = open(true);
        for (int i = 0; i < 30; i++) {
            core.writer().push(new byte[200], 0, 200);
        }
        long end = core.stats().writingPosition();
        for (long wrong : new long[] {64 + 8, end - 8, end + 8, 4096 + 64 + 3, 5000}) {
            CorruptException found = assertThrows(CorruptException.class, () -> find(core, wrong));
            assertTrue(found.file().endsWith(wrong / 4096 + "_segment.dat"), found.getMessage());
        }
        core.close();
    }

    @Test
    void theNewestTimestampIsKnown() throws IOException {
        QueueCore core = open(true);
        ConsumerCore consumer = core.consumer("default", StartAt.EARLIEST);
        for (int i = 0; i < 40; i++) {
            core.writer().push(new byte[300], 0, 300);
            long timestamp = consumer.poll().timestampMicros();
            LogReaderV2 reader = (LogReaderV2) core.log().reader();
            LogEnd resolved = OffsetResolver.find(
                    reader, core.stats().writingPosition(), core.stats().writingPosition());
            assertEquals(timestamp, resolved.lastTimestamp());
            reader.leave();
        }
        core.close();
    }
}
