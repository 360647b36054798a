package org.mmapqueue.bench;

import java.util.Map;
import org.mmapqueue.QueueConfig;

/**
 * The sizes that one benchmark runs with.
 *
 * @param payload bytes of a record
 * @param segmentBytes bytes of a segment
 * @param capacity segments in the ring
 * @param mapped the most segments that may be mapped at once
 * @param ceiling records after which a flush is due; 0 for no flusher
 * @param timestamps whether each record stores its timestamp
 */
public record Shape(int payload, int segmentBytes, int capacity, int mapped, int ceiling, boolean timestamps) {
    /** The queue's default. */
    public static final int DEFAULT_CEILING = 10_000;
    /** For a flusher with its period alone. */
    static final int NO_CEILING = Integer.MAX_VALUE;

    /** For no flusher. */
    static final int NO_FLUSHER = 0;

    private static final int MOST_RECORDS = 3_000_000;
    private static final long MOST_BYTES = 1L << 30;
    // Header and timestamp of a record.
    private static final int OVERHEAD = 16;
    private static final int SEGMENT_HEADER = 64;

    /** With the queue's defaults but for the sizes. */
    public Shape(int payload, int segmentBytes, int capacity, int mapped) {
        this(payload, segmentBytes, capacity, mapped, DEFAULT_CEILING, true);
    }

    /** The sizes of a queue with no key set. */
    static Shape ofDefaults(int payload) {
        Map<String, String> defaults = QueueConfig.defaults();
        return new Shape(
                payload,
                Integer.parseInt(defaults.get("segment_size")),
                Integer.parseInt(defaults.get("queue_capacity_segments")),
                Integer.parseInt(defaults.get("max_in_mem_segments")));
    }

    Shape withCeiling(int records) {
        return new Shape(payload, segmentBytes, capacity, mapped, records, timestamps);
    }

    Shape withoutTimestamps() {
        return new Shape(payload, segmentBytes, capacity, mapped, ceiling, false);
    }

    /** Bytes of the whole ring. */
    public long ringBytes() {
        return (long) capacity * segmentBytes;
    }

    /** Records that fit the ring together, with a margin of segments for those in use at both ends. */
    public int fitting() {
        long perSegment = ((long) segmentBytes - SEGMENT_HEADER) / (OVERHEAD + (payload + 7 & ~7));
        return (int) Math.min(Integer.MAX_VALUE, perSegment * (capacity - Math.max(3, capacity / 16)));
    }

    /** Records of one invocation: as many as fit, within a limit that keeps iterations short. */
    public int records() {
        return (int) Math.min(Math.min(fitting(), MOST_RECORDS), MOST_BYTES / payload);
    }
}
