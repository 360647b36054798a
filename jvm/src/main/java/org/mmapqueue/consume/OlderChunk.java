package org.mmapqueue.consume;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.mmapqueue.DamagedRange;

/**
 * Consecutive records that only the archive has, in memory. Immutable once {@link Builder#build} has returned it, up to
 * {@link OlderRecords#reuse}.
 */
public final class OlderChunk {
    private final long first;
    private final long end;
    private final int count;
    private final long[] offsets;
    private final long[] timestamps;
    /** Where each record's payload begins in {@link #data}. */
    private final int[] starts;

    private final int[] lengths;
    private final byte[] data;
    private final List<DamagedRange> skipped;

    private OlderChunk(Builder from, long end) {
        this.first = from.first;
        this.end = end;
        this.count = from.count;
        this.offsets = from.offsets;
        this.timestamps = from.timestamps;
        this.starts = from.starts;
        this.lengths = from.lengths;
        this.data = from.data;
        this.skipped = List.copyOf(from.skipped);
    }

    /** The offset at which the chunk begins. */
    long first() {
        return first;
    }

    /** The offset after the chunk. */
    long end() {
        return end;
    }

    boolean contains(long offset) {
        return offset >= first && offset < end;
    }

    /** The index of the first record with this offset or a later one; {@link #count} if there is none. */
    int indexFrom(long offset) {
        long guess = offset - first; // right in a chunk without holes
        if (guess >= 0 && guess < count && offsets[(int) guess] == offset) {
            return (int) guess;
        }
        int found = Arrays.binarySearch(offsets, 0, count, offset);
        return found < 0 ? -found - 1 : found;
    }

    int count() {
        return count;
    }

    long offset(int index) {
        return offsets[index];
    }

    long timestamp(int index) {
        return timestamps[index];
    }

    int length(int index) {
        return lengths[index];
    }

    void copy(int index, byte[] target, int at) {
        System.arraycopy(data, starts[index], target, at, lengths[index]);
    }

    /** The array that has the payloads; empty if the chunk has no record. */
    public byte[] data() {
        return data;
    }

    /** The ranges within this chunk without records: damaged, or in no file. */
    List<DamagedRange> skipped() {
        return skipped;
    }

    /** Collects the records of a chunk. Not thread-safe. */
    public static final class Builder {
        private static final int FIRST_RECORDS = 1024;

        private final long first;
        private final List<DamagedRange> skipped = new ArrayList<>();
        private int count;
        private long[] offsets = new long[FIRST_RECORDS];
        private long[] timestamps = new long[FIRST_RECORDS];
        private int[] starts = new int[FIRST_RECORDS];
        private int[] lengths = new int[FIRST_RECORDS];
        private byte[] data = {};

        /**
         * A chunk without records.
         *
         * @param first the offset at which it begins
         */
        public Builder(long first) {
            this.first = first;
        }

        /** Adds the next record. All records of a chunk are in one array, which the chunk keeps. */
        public void add(long offset, long timestamp, byte[] source, int start, int length) {
            if (count == offsets.length) {
                offsets = Arrays.copyOf(offsets, 2 * count);
                timestamps = Arrays.copyOf(timestamps, 2 * count);
                starts = Arrays.copyOf(starts, 2 * count);
                lengths = Arrays.copyOf(lengths, 2 * count);
            }
            data = source;
            offsets[count] = offset;
            timestamps[count] = timestamp;
            starts[count] = start;
            lengths[count] = length;
            count++;
        }

        /** Notes a range without records. */
        public void skip(DamagedRange range) {
            skipped.add(range);
        }

        /** The chunk, which ends before an offset. */
        public OlderChunk build(long end) {
            return new OlderChunk(this, end);
        }
    }
}
