package org.mmapqueue.config;

import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;

/**
 * Derives the sizes of a ring. In version 2, sizes that are not set follow from the capacity; in version 1, they are
 * Satellite's defaults. docs/reference/configuration.md has the rules.
 */
final class Sizing {
    private static final int PAGE = 4096;
    private static final int LEAST_SEGMENT = 1 << 20;
    private static final int LARGEST_SEGMENT = 64 << 20;
    /** A ring below this capacity has {@link #FEW_SEGMENTS} segments, smaller than the minimum default size. */
    private static final long SMALL_RING = 8L << 20;

    private static final int FEW_SEGMENTS = 8;
    private static final int MOST_SEGMENTS = 64;
    /** Address space for mappings in bytes; the minimum number of segments may exceed it. */
    private static final long MAPPED_BYTES = 1L << 30;
    /** The maximum number of mapped segments: each has a file descriptor and an entry in the kernel's table of mappings. */
    private static final int MOST_MAPPED = 1024;

    private static final int LEAST_MAPPED = 10;
    private static final int MAX_EVENT_SIZE = 1 << 20;

    private Sizing() {}

    /** The geometry of a new directory's ring. */
    static Geometry ofNew(ConfigValues config) {
        Format format = Format.of((int) config.number(ConfigKey.FORMAT_VERSION));
        boolean isSized = config.isSet(ConfigKey.CAPACITY);
        boolean isCounted = config.isSet(ConfigKey.QUEUE_CAPACITY_SEGMENTS) || !isSized && format == Format.V1;
        long capacity = config.number(ConfigKey.CAPACITY);
        long segments = config.number(ConfigKey.QUEUE_CAPACITY_SEGMENTS);
        long size;
        if (config.isSet(ConfigKey.SEGMENT_SIZE) || format == Format.V1) {
            size = config.number(ConfigKey.SEGMENT_SIZE);
        } else if (isCounted) {
            size = isSized ? pages(segments(capacity, segments)) : Math.min(LARGEST_SEGMENT, capacity / segments);
            size = Math.max(PAGE, size - size % PAGE);
        } else {
            size = segmentSize(capacity);
        }
        if (!isCounted) {
            segments = segments(capacity, size);
            segments = isSized ? segments : Math.max(2, segments);
        }
        check(config, size, segments);
        return new Geometry(format, (int) size, (int) segments);
    }

    // Throws for a capacity that exceeds what queue_capacity_segments allows, or contradicts it.
    private static void check(ConfigValues config, long size, long segments) {
        if (!config.isSet(ConfigKey.CAPACITY)) {
            return;
        }
        String capacity = config.text(ConfigKey.CAPACITY);
        if (config.isSet(ConfigKey.QUEUE_CAPACITY_SEGMENTS) && !isCapacity(config, size, segments)) {
            throw new ConfigException(
                    ConfigKey.CAPACITY.keyName(),
                    capacity,
                    size * segments + ", as queue_capacity_segments is " + segments + " and segment_size " + size
                            + "; set capacity or queue_capacity_segments, not both");
        }
        if (!ConfigKey.QUEUE_CAPACITY_SEGMENTS.allows(segments) || !ConfigKey.SEGMENT_SIZE.allows(size)) {
            throw new ConfigException(
                    ConfigKey.CAPACITY.keyName(),
                    capacity,
                    ConfigKey.QUEUE_CAPACITY_SEGMENTS.least() * size + ".."
                            + ConfigKey.QUEUE_CAPACITY_SEGMENTS.most() * size + " with a segment_size of " + size);
        }
    }

    /** Whether a ring has the capacity that is set, once that is rounded up to whole segments. */
    static boolean isCapacity(ConfigValues config, long segmentSize, long segments) {
        return segments(config.number(ConfigKey.CAPACITY), segmentSize) == segments;
    }

    private static long segments(long bytes, long segmentSize) {
        return bytes / segmentSize + (bytes % segmentSize == 0 ? 0 : 1);
    }

    private static long pages(long bytes) {
        return segments(bytes, PAGE) * PAGE;
    }

    /**
     * The default segment size: a power of two, 1 to 64 MiB, such that the ring has at most 64 segments if the largest
     * size allows it.
     */
    private static long segmentSize(long capacity) {
        if (capacity < SMALL_RING) {
            return Math.max(PAGE, pages(segments(capacity, FEW_SEGMENTS)));
        }
        long size = LEAST_SEGMENT;
        while (size < LARGEST_SEGMENT && segments(capacity, size) > MOST_SEGMENTS) {
            size *= 2;
        }
        return size;
    }

    /** The maximum number of mapped segments: the whole ring, within the bound of address space. */
    static int maxInMemSegments(ConfigValues config, Geometry ring) {
        if (config.isSet(ConfigKey.MAX_IN_MEM_SEGMENTS) || ring.format() == Format.V1) {
            return (int) config.number(ConfigKey.MAX_IN_MEM_SEGMENTS);
        }
        long most = Math.min(MOST_MAPPED, MAPPED_BYTES / ring.segmentSize());
        return (int) Math.max(LEAST_MAPPED, Math.min(most, ring.capacity()));
    }

    /** The largest payload for a new directory. */
    static int maxEventSize(ConfigValues config, Geometry ring) {
        if (config.isSet(ConfigKey.MAX_EVENT_SIZE) || ring.format() == Format.V1) {
            return (int) config.number(ConfigKey.MAX_EVENT_SIZE);
        }
        return (int) Math.min(MAX_EVENT_SIZE, room(ring));
    }

    /** Bytes of the largest payload that fits while one segment is still partly unacked. */
    static long room(Geometry ring) {
        long overhead = 2L * RecordDescriptor.HEADER + RecordDescriptor.HEADER - 1;
        return (ring.capacity() - 1L) * ring.dataBytes() - overhead;
    }
}
