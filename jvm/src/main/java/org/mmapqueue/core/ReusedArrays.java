package org.mmapqueue.core;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import org.mmapqueue.archive.run.BlockArrays;

/**
 * The arrays of chunks, which are used again: the processor's cache still has them, and the JVM need not clear them. Not
 * thread-safe.
 */
final class ReusedArrays implements BlockArrays {
    private static final int MOST_FREE = 4;
    /** Longer ones, of very large records, are left to the garbage collector. */
    private static final int LONGEST_FREE = 4 << 20;

    /** Latest last. */
    private final Deque<byte[]> free = new ArrayDeque<>();
    /** The array of the latest chunk. */
    private byte[] lent = {};

    @Override
    public byte[] next(byte[] last, int length) {
        if (last != lent && last.length >= length) {
            return last;
        }
        for (Iterator<byte[]> each = free.descendingIterator(); each.hasNext(); ) {
            byte[] found = each.next();
            if (found.length >= length) {
                each.remove();
                return found;
            }
        }
        return new byte[length > LONGEST_FREE ? length : Integer.highestOneBit(2 * length - 1)];
    }

    /** Notes that a chunk has an array, from its first record on. */
    void lend(byte[] array) {
        lent = array;
    }

    /** Takes back the array of a chunk. */
    void free(byte[] array) {
        if (array.length == 0 || array.length > LONGEST_FREE) {
            return;
        }
        if (free.size() == MOST_FREE) {
            free.removeFirst();
        }
        free.addLast(array);
    }
}
