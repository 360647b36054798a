package org.mmapqueue.consume;

import java.util.Arrays;

/**
 * Ranges of acked records that have no rows in the table of in-flight records, in ascending order. Rows are numbered: the
 * number of a row is its record's offset less the records of all ranges before it. Not thread-safe.
 */
final class AckedRanges {
    /** The offset after each range. */
    private long[] ends = {};
    /** The number of records in each range and in all ranges before it, removed ones included. */
    private long[] totals = {};

    private int first;
    private int end;
    /** The number of records in the removed ranges. */
    private long removed;

    void clear() {
        first = 0;
        end = 0;
        removed = 0;
    }

    /** Adds records after all other ranges. */
    void add(long from, long to) {
        long total = before(end) + to - from;
        boolean continues = first < end && ends[end - 1] == from;
        if (!continues) {
            makeRoom();
            end++;
        }
        ends[end - 1] = to;
        totals[end - 1] = total;
    }

    /** Removes the ranges that end at or before an offset: no earlier record has a row. */
    void removeUpTo(long offset) {
        while (first < end && ends[first] <= offset) {
            removed = totals[first++];
        }
    }

    /** The offset after the range in which a record is; the record's offset if it is in no range. */
    long endOf(long offset) {
        int range = notBefore(offset);
        return range < end && offset >= ends[range] - (totals[range] - before(range)) ? ends[range] : offset;
    }

    /** The number of a record's row; for a record in a range, that of the first record after the range. */
    long row(long offset) {
        if (first == end) {
            return offset - removed;
        }
        int range = notBefore(offset);
        long row = offset - before(range);
        return range < end ? Math.min(row, ends[range] - totals[range]) : row;
    }

    /** The offset of the record with a row of this number. */
    long offset(long row) {
        int low = first;
        int high = end;
        while (low < high) {
            int middle = low + high >>> 1;
            if (ends[middle] - totals[middle] <= row) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return row + before(low);
    }

    // The first range that ends after an offset.
    private int notBefore(long offset) {
        int found = Arrays.binarySearch(ends, first, end, offset);
        return found >= 0 ? found + 1 : -found - 1;
    }

    // The number of records in the ranges before one, removed ones included.
    private long before(int range) {
        return range == first ? removed : totals[range - 1];
    }

    private void makeRoom() {
        if (end < ends.length) {
            return;
        }
        int size = end - first;
        int length = Math.max(16, 2 * size);
        long[] longerEnds = Arrays.copyOf(Arrays.copyOfRange(ends, first, end), length);
        totals = Arrays.copyOf(Arrays.copyOfRange(totals, first, end), length);
        ends = longerEnds; // after the last allocation: memory may run out, and both must have the same rows
        first = 0;
        end = size;
    }
}
