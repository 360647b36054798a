package org.mmapqueue.consume;

import org.mmapqueue.log.DamageSkip;

/**
 * A sparse index of in-flight records, offset → position: an entry after every 16 records, or after 64 KiB. When it is
 * full, every other entry is dropped and both distances double, so it takes less than 1 MiB. Not thread-safe: the
 * consumer's lock guards it.
 */
final class SparseIndex {
    private static final int MOST = 1 << 15;
    private static final int FIRST_SPACING = 16;
    private static final int FIRST_BYTES = 64 << 10;

    private long[] offsets = new long[64];
    private long[] positions = new long[64];
    private int head;
    private int size;
    private long spacing = FIRST_SPACING;
    private long bytes = FIRST_BYTES;
    /** The next entry is added at this offset, or earlier, after {@link #duePosition}. */
    private long due;
    /** The next entry is added after this position, or earlier, at offset {@link #due}. */
    private long duePosition;

    /** Empties the index, and adds record {@code offset}, which begins after {@code position}. */
    void reset(long offset, long position) {
        head = 0;
        size = 1;
        spacing = FIRST_SPACING;
        bytes = FIRST_BYTES;
        offsets[0] = offset;
        positions[0] = position;
        nextAfter(offset, position);
    }

    /** Notes that the next record to pop, {@code offset}, begins after {@code position}. */
    void popped(long offset, long position) {
        if (offset >= due || position >= duePosition) {
            add(offset, position);
        }
    }

    private void add(long offset, long position) {
        if (size == offsets.length) {
            if (size == MOST) {
                thinOut();
                return;
            }
            try {
                grow();
            } catch (OutOfMemoryError e) {
                return; // one entry fewer only makes a walk longer
            }
        }
        offsets[at(size)] = offset;
        positions[at(size)] = position;
        size++;
        nextAfter(offset, position);
    }

    private void nextAfter(long offset, long position) {
        due = offset + spacing;
        duePosition = position + bytes;
    }

    /** The last entry at or before {@code offset}. */
    DamageSkip.Found floor(long offset) {
        int entry = at(indexOf(offset));
        return new DamageSkip.Found(offsets[entry], positions[entry]);
    }

    /** Notes that all records before {@code offset} are acked; that record begins after {@code position}. */
    void acked(long offset, long position) {
        int floor = indexOf(offset);
        head = at(floor);
        size -= floor;
        offsets[head] = offset;
        positions[head] = position;
        if (size == 1) {
            nextAfter(offset, position);
        }
    }

    // Index of the last entry at or before an offset.
    private int indexOf(long offset) {
        int low = 0;
        int high = size - 1;
        while (low < high) {
            int middle = low + high + 1 >>> 1;
            if (offsets[at(middle)] <= offset) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    private int at(int index) {
        return head + index & offsets.length - 1;
    }

    private void grow() {
        long[] moreOffsets = new long[size * 2];
        long[] morePositions = new long[size * 2];
        for (int i = 0; i < size; i++) {
            moreOffsets[i] = offsets[at(i)];
            morePositions[i] = positions[at(i)];
        }
        offsets = moreOffsets;
        positions = morePositions;
        head = 0;
    }

    private void thinOut() {
        int kept = size / 2;
        for (int i = 1; i < kept; i++) {
            offsets[at(i)] = offsets[at(2 * i)];
            positions[at(i)] = positions[at(2 * i)];
        }
        size = kept;
        spacing *= 2;
        bytes *= 2;
        nextAfter(offsets[at(size - 1)], positions[at(size - 1)]);
    }
}
