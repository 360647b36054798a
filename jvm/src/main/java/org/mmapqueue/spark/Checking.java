package org.mmapqueue.spark;

import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.RecordReader;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.OutOfRangeException;

/**
 * Verifies a queue by reading all its records. Other threads may write and read the queue at the same time; records
 * that are reclaimed before they are read are skipped.
 */
final class Checking {
    private static final int RECORDS = 1024;
    private static final long BYTES = 1 << 20;

    private Checking() {}

    /**
     * Reads from the log start to the present log end. After a damaged record it continues with the next segment that
     * has an intact base offset.
     *
     * @param partition the partition's number
     * @param queue the partition
     * @return for each damage: partition, file, position in bytes, detail, first and last offset that cannot be read
     */
    static List<Object[]> check(int partition, MmapQueue queue) {
        List<Object[]> damage = new ArrayList<>();
        long[] parts;
        try {
            parts = parts(queue);
        } catch (CorruptException e) {
            damage.add(row(partition, e, queue.firstOffset(), queue.endOffset() - 1));
            return damage;
        }
        for (int i = 0; i + 1 < parts.length; i++) {
            check(partition, queue, parts[i], parts[i + 1], damage);
        }
        return damage;
    }

    // About one part for each segment, as parts begin at segments.
    private static long[] parts(MmapQueue queue) {
        while (true) {
            try {
                return queue.split(
                        queue.firstOffset(), queue.endOffset(), queue.stats().segmentSize());
            } catch (OutOfRangeException e) {
                // Reclaimed since the call of firstOffset: continues at the new log start.
            }
        }
    }

    private static void check(int partition, MmapQueue queue, long from, long to, List<Object[]> damage) {
        // The reader verifies the checksum; the record itself is not used.
        MessageHandler nothing = (offset, timestamp, buffer, start, length, attempts) -> {};
        long next = from;
        try (RecordReader reader = queue.reader(from, to)) {
            while (next < to && reader.read(RECORDS, BYTES, nothing) > 0) {
                next = reader.offset();
            }
        } catch (CorruptException e) {
            damage.add(row(partition, e, next, to - 1));
        } catch (OutOfRangeException e) {
            // The rest of this part was reclaimed while it was read.
        }
    }

    private static Object[] row(int partition, CorruptException e, long first, long last) {
        String prefix = e.file() + ", byte " + e.position() + ": ";
        String detail = e.getMessage().startsWith(prefix) ? e.getMessage().substring(prefix.length()) : e.getMessage();
        return new Object[] {partition, e.file(), e.position(), detail, first, last};
    }
}
