package org.mmapqueue.spark.source;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueStats;
import org.mmapqueue.RecordReader;
import org.mmapqueue.RecordSink;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.OutOfRangeException;

/**
 * A partition in a local directory, open for reading. Thread-safe.
 *
 * @param location the partition's location
 * @param queue the partition
 * @param held the offset of the first record that a consumer of the reader holds in the archive; Long.MAX_VALUE for none
 */
public record LocalPartition(LocalPartitionLocation location, MmapQueue queue, LongSupplier held)
        implements ReadablePartition {
    /** Mappings that are not available to tasks: two for the writer, two for a consumer, and one spare. */
    private static final int OTHERS = 5;

    private static final String MAX_IN_MEM_SEGMENTS = "max_in_mem_segments";

    /** A partition of which no consumer of the reader holds records. */
    public LocalPartition(LocalPartitionLocation location, MmapQueue queue) {
        this(location, queue, () -> Long.MAX_VALUE);
    }

    private record Reader(RecordReader reader) implements SequentialReader {

        @Override
        public long offset() {
            return reader.offset();
        }

        @Override
        public long segments() {
            return reader.segments();
        }

        @Override
        public long damagedRecords() {
            return reader.damagedRecords();
        }

        @Override
        public int read(int maxRecords, long maxBytes, RecordSink sink) {
            return reader.read(maxRecords, maxBytes, sink);
        }

        @Override
        public int read(int maxRecords, long maxBytes, MessageHandler handler) {
            return reader.read(maxRecords, maxBytes, handler);
        }

        @Override
        public void close() {
            reader.close();
        }
    }

    @Override
    public int id() {
        return location.id();
    }

    @Override
    public String path() {
        return location.path();
    }

    @Override
    public PartitionLocation location(long from, long to) {
        return location;
    }

    @Override
    public UUID queueId() {
        return queue.id();
    }

    @Override
    public long firstOffset() {
        return orHeld(queue.firstOffset());
    }

    @Override
    public long firstKnownOffset() {
        return orHeld(queue.stats().firstOffset());
    }

    // The archive keeps what a consumer of the queue needs.
    private long orHeld(long ring) {
        return Math.min(ring, Math.max(0, held.getAsLong()));
    }

    @Override
    public long endOffset() {
        return queue.endOffset();
    }

    @Override
    public boolean mayHaveLost(long from, long to) {
        return from < queue.gapsEnd();
    }

    /**
     * With a damaged segment header, as if all records in the ring were alike: the task that reads it reports it. Records
     * that are not retained any more count as 0: the task reports these, too.
     */
    @Override
    public long bytes(long from, long to) {
        try {
            return queue.bytes(from, to);
        } catch (OutOfRangeException e) {
            long first = retainedFrom(from, e);
            return first < to ? bytes(first, to) : 0;
        } catch (CorruptException e) {
            QueueStats stats = queue.stats();
            double ring = (double) stats.segmentsInUse() * stats.segmentSize();
            return (long) (ring * (to - from) / Math.max(to - from, stats.endOffset() - stats.firstOffset()));
        }
    }

    /** Records that are not retained any more are in the first part. */
    @Override
    public long[] split(long from, long to, long bytes) {
        try {
            return queue.split(from, to, bytes);
        } catch (OutOfRangeException e) {
            long first = retainedFrom(from, e);
            long[] bounds = first < to ? split(first, to, bytes) : new long[] {first, to};
            bounds[0] = from;
            return bounds;
        }
    }

    // The slowest consumer may have acked the first records of a range since it was planned, also in another process.
    private static long retainedFrom(long from, OutOfRangeException e) {
        if (e.first() <= from) {
            throw e;
        }
        return e.first();
    }

    @Override
    public OptionalLong find(Instant time) {
        return queue.find(time);
    }

    /** Always returns the exact range. */
    @Override
    public long[] rangeOf(long lowMicros, long highMicros, boolean isExact) {
        return exactRange(lowMicros, highMicros);
    }

    @Override
    public long minTimestampMicros(long from, long to) {
        return timestampMicros(from);
    }

    @Override
    public long maxTimestampMicros(long from, long to) {
        return timestampMicros(to - 1);
    }

    @Override
    public Unread unread(long from, long to) {
        long first = Math.max(from, queue.stats().firstOffset());
        if (first >= to) {
            return new Unread(0, 0);
        }
        long bytes = bytes(first, to);
        try {
            return new Unread(bytes, timestampMicros(first));
        } catch (CorruptException e) {
            return new Unread(bytes, 0); // the next batch reports or skips the record
        }
    }

    // A record that was lost before a repair has none; one that is not retained any more is reported by its task.
    private long timestampMicros(long offset) {
        try {
            return queue.get(offset).timestampMicros();
        } catch (OutOfRangeException e) {
            return 0;
        }
    }

    @Override
    public Map<String, Long> committedOffsets() {
        return queue.consumerStats().stream()
                .collect(Collectors.toMap(
                        ConsumerStats::name, ConsumerStats::committedOffset, (one, other) -> one, LinkedHashMap::new));
    }

    /** Returns this host alone. */
    @Override
    public List<String> hosts(long from, long to) {
        return List.of(location.host());
    }

    /**
     * A task pins the segment that it reads, and a second one while a record spans both. If tasks pinned
     * max_in_mem_segments segments, and each needed a second one, none could continue. So the limit of readers leaves
     * at least one mapping free.
     */
    @Override
    public int maxReaders() {
        return Math.max(1, Integer.parseInt(queue.config().asMap().get(MAX_IN_MEM_SEGMENTS)) - OTHERS);
    }

    @Override
    public SequentialReader reader(long from, long to, boolean skipsDamage) {
        return new Reader(queue.reader(from, to, skipsDamage));
    }

    @Override
    public void close() {
        queue.close();
    }
}
