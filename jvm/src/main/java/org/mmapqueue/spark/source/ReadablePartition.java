package org.mmapqueue.spark.source;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** An open partition, as the driver plans scans of it. Not thread-safe. */
public interface ReadablePartition extends PartitionRecords {

    /**
     * The partition's number.
     *
     * @return at least 0
     */
    int id();

    /**
     * Returns the partition's path, for messages.
     *
     * @return the directory or URI
     */
    String path();

    /**
     * Returns the location of a range, for tasks.
     *
     * @param from the first offset
     * @param to the offset after the last one
     * @return the location
     */
    PartitionLocation location(long from, long to);

    /**
     * The log start.
     *
     * @return the first offset that is retained
     */
    long firstOffset();

    /**
     * The log start; where damage hides its offset, the first later offset that is known.
     *
     * @return the offset
     */
    default long firstKnownOffset() {
        return firstOffset();
    }

    /**
     * The log end.
     *
     * @return the offset of the next record
     */
    long endOffset();

    /**
     * Records that no file has.
     *
     * @param from the first offset
     * @param to the offset after the last one
     * @param why the reason, for messages
     */
    record Missing(long from, long to, String why) {}

    /**
     * Returns the records of a range that are missing, though later ones exist. A local queue has none.
     *
     * @param from the first offset
     * @param to the offset after the last one
     * @return the missing records, in order, cut to the range
     */
    default List<Missing> missing(long from, long to) {
        return List.of();
    }

    /**
     * Whether some offsets of a range may have no record because a repair of the queue has given them up. Else the number
     * of records is that of the offsets, without the {@link #missing} ones.
     *
     * @param from the first offset
     * @param to the offset after the last one
     */
    boolean mayHaveLost(long from, long to);

    /**
     * The size of a range in the log.
     *
     * @param from the first offset
     * @param to the offset after the last one
     * @return bytes, interpolated within a segment or run
     */
    long bytes(long from, long to);

    /**
     * The approximate size of a range in the log. Takes as long for a large range as for a small one.
     *
     * @param from the first offset
     * @param to the offset after the last one
     * @return bytes
     */
    default long estimatedBytes(long from, long to) {
        return bytes(from, to);
    }

    /**
     * Finds the part of a range that has at most a number of bytes; the first record is always in it.
     *
     * @param from the first offset
     * @param to the offset after the last one, more than {@code from}
     * @param most the number of bytes
     * @return the offset after the last one of the part, more than {@code from}
     */
    default long endWithin(long from, long to, long most) {
        long low = from + 1;
        long high = to;
        while (low < high) {
            long middle = low + (high - low + 1) / 2;
            if (bytes(from, middle) <= most) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    /**
     * Splits a range into parts of about equal size.
     *
     * @param from the first offset
     * @param to the offset after the last one
     * @param bytes the size of a part
     * @return the bounds of the parts, ascending, from and to included
     */
    long[] split(long from, long to, long bytes);

    /**
     * Finds the first record of a time or later.
     *
     * @param time the time of the push
     * @return the record's offset; empty if no record is as recent
     * @throws org.mmapqueue.errors.ConfigException if the partition stores no timestamps
     */
    OptionalLong find(Instant time);

    /**
     * Returns a range that contains all records of a time interval.
     *
     * @param lowMicros the first time, µs since 1970
     * @param highMicros the last time
     * @param isExact whether the first and the last record that have timestamps must lie in the interval; else the
     *     range may begin earlier and end later, if that saves reading
     * @return the first offset, and the offset after the last one; {@link Long#MAX_VALUE} means the log end
     * @throws org.mmapqueue.errors.ConfigException if the partition stores no timestamps
     */
    long[] rangeOf(long lowMicros, long highMicros, boolean isExact);

    /**
     * The exact range of {@link #rangeOf}, by two searches.
     *
     * @param lowMicros the first time, µs since 1970
     * @param highMicros the last time
     * @return the first offset, and the offset after the last one
     */
    default long[] exactRange(long lowMicros, long highMicros) {
        long to = highMicros == Long.MAX_VALUE ? Long.MAX_VALUE : firstAt(highMicros + 1);
        return new long[] {firstAt(lowMicros), to};
    }

    private long firstAt(long micros) {
        return find(Instant.EPOCH.plus(Math.max(0, micros), ChronoUnit.MICROS)).orElse(Long.MAX_VALUE);
    }

    /**
     * The lowest timestamp in a range.
     *
     * @param from the first offset
     * @param to the offset after the last one, greater than {@code from}
     * @return µs since 1970; 0 if it is unknown without reading all records
     */
    long minTimestampMicros(long from, long to);

    /**
     * A backlog, for metrics.
     *
     * @param bytes the size in the log
     * @param firstMicros the time of the first record, µs since 1970; 0 if it is unknown
     */
    record Unread(long bytes, long firstMicros) {}

    /**
     * The approximate size and age of records that a query has not read. Reads no record of an archive: bytes and time are
     * estimated from names of runs. Of a local queue that overflows into an archive, they are those of its ring.
     *
     * @param from the first offset
     * @param to the offset after the last one, greater than {@code from}
     * @return the backlog
     * @throws org.mmapqueue.errors.OutOfRangeException if the records are not retained any more
     */
    Unread unread(long from, long to);

    /**
     * The greatest timestamp in a range.
     *
     * @param from the first offset
     * @param to the offset after the last one, greater than {@code from}
     * @return µs since 1970; 0 if it is unknown without reading all records
     */
    long maxTimestampMicros(long from, long to);

    /**
     * The committed offsets of consumers.
     *
     * @return offsets by consumer
     */
    Map<String, Long> committedOffsets();

    /**
     * Returns the preferred hosts for reading a range, by their names in Spark's scheduler.
     *
     * @param from the first offset
     * @param to the offset after the last one
     * @return the hosts, best first; empty for no preference
     */
    List<String> hosts(long from, long to);
}
