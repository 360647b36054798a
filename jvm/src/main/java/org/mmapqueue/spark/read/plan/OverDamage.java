package org.mmapqueue.spark.read.plan;

import java.time.Instant;
import java.util.OptionalLong;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.spark.source.ReadablePartition;
import org.mmapqueue.spark.source.SequentialReader;

/**
 * Finds records that damage may hide. Where it does and is skipped, the first later record with a known offset is found
 * instead.
 */
public final class OverDamage {
    private OverDamage() {}

    /**
     * The log start.
     *
     * @param partition an open partition
     * @param skipsDamage whether damage is skipped; else it is an error
     * @return the first offset that is retained and known
     * @throws CorruptException if damage hides the log start, and is not skipped, or no later offset is known yet
     */
    public static long firstOffset(ReadablePartition partition, boolean skipsDamage) {
        return skipsDamage ? partition.firstKnownOffset() : partition.firstOffset();
    }

    /**
     * Finds the first record at an offset or after it, over damage.
     *
     * @param partition an open partition
     * @param offset an offset that is retained
     * @return the record's offset
     * @throws CorruptException if damage follows, and no later offset is known yet
     */
    public static long nextOffset(ReadablePartition partition, long offset) {
        try (SequentialReader reader = partition.reader(offset, Long.MAX_VALUE, true)) {
            return reader.offset();
        }
    }

    /**
     * Finds the first record of a time or later.
     *
     * @param partition an open partition
     * @param time the time of the push
     * @param skipsDamage whether damage is skipped; else it is an error
     * @return the record's offset; empty if no record is as recent
     * @throws CorruptException if damage hides the record, and is not skipped, or no later offset is known yet
     * @throws org.mmapqueue.errors.ConfigException if the partition stores no timestamps
     */
    public static OptionalLong find(ReadablePartition partition, Instant time, boolean skipsDamage) {
        try {
            return partition.find(time);
        } catch (CorruptException e) {
            if (skipsDamage) {
                return search(partition, StartAt.timestamp(time).value());
            }
            throw e;
        }
    }

    // A binary search by the records themselves: timestamps never decrease along a partition.
    private static OptionalLong search(ReadablePartition partition, long micros) {
        OptionalLong found = OptionalLong.empty();
        long low = firstOffset(partition, true);
        long high = partition.endOffset();
        while (low < high) {
            long middle = low + (high - low) / 2;
            long[] timed = timed(partition, middle, high);
            if (timed[1] >= micros) {
                found = OptionalLong.of(timed[0]);
                high = middle;
            } else if (timed[1] == 0) {
                high = middle;
            } else {
                low = timed[0] + 1;
            }
        }
        return found;
    }

    // Offset and timestamp of the first record with a timestamp in a range; the timestamp is 0 if there is none.
    private static long[] timed(ReadablePartition partition, long from, long to) {
        long[] found = new long[2];
        try (SequentialReader reader = partition.reader(from, to, true)) {
            while (found[1] == 0
                    && reader.offset() < to
                    && reader.read(1, 1, (offset, timestamp, data) -> {
                                found[0] = offset;
                                found[1] = timestamp;
                            })
                            > 0) {
                // continues with the next record
            }
        }
        return found;
    }
}
