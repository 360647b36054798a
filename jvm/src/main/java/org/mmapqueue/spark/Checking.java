package org.mmapqueue.spark;

import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.RecordReader;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.OutOfRangeException;

/**
 * Reads all records of a queue, which checks them. The queue may be written and read meanwhile; what is reclaimed
 * before it is read counts as no longer there.
 */
final class Checking {
    private static final int RECORDS = 1024;
    private static final long BYTES = 1 << 20;

    private Checking() {}

    /**
     * Reads from the oldest record to what is the end now. Behind a damaged record it goes on with the next segment, as
     * far as segments say which records they begin with.
     *
     * @param partition the partition's number
     * @param queue the partition
     * @return for each damaged place: partition, file, byte in it, what was found there, the first offset that can not
     *     be read, the last one
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

    // One for a segment, about: parts begin where segments do.
    private static long[] parts(MmapQueue queue) {
        while (true) {
            try {
                return queue.split(
                        queue.firstOffset(), queue.endOffset(), queue.stats().segmentSize());
            } catch (OutOfRangeException e) {
                // Reclaimed meanwhile: there is a new oldest record.
            }
        }
    }

    private static void check(int partition, MmapQueue queue, long from, long to, List<Object[]> damage) {
        // All that counts is that it was whole.
        MessageHandler nothing = (offset, timestamp, buffer, start, length, attempts) -> {};
        long next = from;
        try (RecordReader reader = queue.reader(from, to)) {
            while (next < to && reader.read(RECORDS, BYTES, nothing) > 0) {
                next = reader.offset();
            }
        } catch (CorruptException e) {
            damage.add(row(partition, e, next, to - 1));
        } catch (OutOfRangeException e) {
            // Reclaimed meanwhile, all of this part or the rest of it.
        }
    }

    private static Object[] row(int partition, CorruptException e, long first, long last) {
        String place = e.file() + ", byte " + e.position() + ": ";
        String detail = e.getMessage().startsWith(place) ? e.getMessage().substring(place.length()) : e.getMessage();
        return new Object[] {partition, e.file(), e.position(), detail, first, last};
    }
}
