package org.mmapqueue.support;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.archive.ArchiveReader;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.archive.run.RunWriter;

/** Stores a {@link StoredLog} as runs, and compares what is read with it. */
public final class ArchiveRuns {
    private ArchiveRuns() {}

    /** Stores records as one run. */
    public static RunName publish(ArchiveFiles files, StoredLog log, long from, long to, ArchiveCodec codec)
            throws IOException {
        RunWriter writer = new RunWriter(log.queue, 1, codec);
        log.records(from, to).forEach(writer::add);
        return writer.publish(files, 0);
    }

    /** Stores a log as runs of up to {@code most} records; returns the names. */
    public static List<RunName> publishAll(
            ArchiveFiles files, StoredLog log, int most, Random random, ArchiveCodec codec) throws IOException {
        List<RunName> names = new ArrayList<>();
        long from = log.first();
        while (from < log.end()) {
            long to = Math.min(log.end(), from + 1 + random.nextInt(most));
            names.add(publish(files, log, from, to, codec));
            from = to;
        }
        return names;
    }

    /** Reads to the end, and compares each record; returns how many there were. */
    public static long assertReads(ArchiveReader reader, StoredLog log, int maxRecords) {
        long count = 0;
        long[] next = {reader.offset()};
        while (true) {
            int read = reader.read(maxRecords, 1000, (offset, timestamp, data) -> {
                while (log.record(next[0]).isGap()) {
                    next[0]++;
                }
                StoredRecord expected = log.record(next[0]++);
                assertEquals(expected.offset(), offset);
                assertEquals(expected.timestampMicros(), timestamp);
                assertArrayEquals(expected.array(), data);
            });
            if (read == 0) {
                return count;
            }
            count += read;
        }
    }
}
