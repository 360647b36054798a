package org.mmapqueue.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.Records;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.QuickDirectory;

/** What a reader finds between the publication of a batch and the store of the log end. */
@Timeout(60)
class LogReaderV2Test {
    private static final int SEGMENT = 4096;
    private static final int HEADERS = 16; // of a record with a timestamp

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private long logEnd;

    private int rest(QueueCore core) {
        return SEGMENT - (int) (core.stats().writingPosition() % SEGMENT) - HEADERS;
    }

    @Test
    void aBatchIsWholeWhereARecordOfItEndsAtTheSegmentsEnd() throws IOException {
        QueueCore core = Cores.open(
                QueueConfig.builder(temp.resolve("queue"))
                        .segmentSize(SEGMENT)
                        .queueCapacitySegments(8)
                        .flushPeriod(Duration.ofMinutes(10))
                        .build(),
                DiskStorage.INSTANCE);
        core.writer().push(new byte[8], 0, 8);
        logEnd = core.stats().writingPosition();
        core.writer().push(Records.of(List.of(new byte[rest(core)], new byte[8])));
        assertEquals(SEGMENT + 64 + HEADERS + 8, core.stats().writingPosition());
        UUID id = core.id();
        MetaFields fields = new MetaFields(
                2, 8, SEGMENT, id.getMostSignificantBits(), id.getLeastSignificantBits(), true, 20_000, 0, 1);
        LogReader open = core.log().reader();
        LogReaderV2 reader = new LogReaderV2(open.swapper(), open.geometry(), fields, () -> logEnd);
        reader.moveTo(logEnd);
        for (int i = 0; i < 2; i++) {
            assertTrue(reader.next(), "record " + i + " of the batch");
            reader.skip();
            reader.advance();
        }
        assertFalse(reader.next());
        reader.moveTo(SEGMENT);
        assertFalse(reader.next(), "no record before it says that there is more");
        reader.leave();
        core.close();
    }
}
