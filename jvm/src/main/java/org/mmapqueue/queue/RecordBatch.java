package org.mmapqueue.queue;

import java.util.Arrays;

/**
 * Records that were copied out of the log under a lock, for user code to get after the lock was left. Either all lie in
 * one buffer, which the next round overwrites, or each has an array of its own, which the receiver may keep. Not
 * thread-safe: the thread that has filled it owns it until it gives it back.
 */
final class RecordBatch {
    /** Records of one round: a larger pop or read takes several. */
    private static final int MOST_RECORDS = 1024;
    /** Bytes of payload of one round, unless its only record is larger: they stay in a core's cache. */
    private static final int MOST_BYTES = 128 << 10;
    /** A buffer that grew beyond this for a large record is not kept. */
    private static final int MOST_KEPT = 1 << 20;
    private static final byte[] NO_BYTES = {};
    private static final int FIRST_RECORDS = 16;

    private boolean owned;
    private int placement;
    private byte[] buffer = NO_BYTES;
    private byte[][] arrays = new byte[FIRST_RECORDS][];
    private int[] starts = new int[FIRST_RECORDS];
    private int[] lengths = new int[FIRST_RECORDS];
    private int[] attempts = new int[FIRST_RECORDS];
    private long[] offsets = new long[FIRST_RECORDS];
    private long[] timestamps = new long[FIRST_RECORDS];
    private int count;
    private int used;
    private int delivered;
    private boolean full;

    /**
     * Begins a round.
     *
     * @param own whether each record gets an array of its own
     * @param placing what {@link #placement} returns
     */
    void begin(boolean own, int placing) {
        owned = own;
        placement = placing;
        count = 0;
        used = 0;
        delivered = 0;
        full = false;
    }

    /** The filler's own note, by which it knows where it stood then. */
    int placement() {
        return placement;
    }

    /** Records in it. */
    int count() {
        return count;
    }

    /** Bytes of payload in it. */
    int bytes() {
        return used;
    }

    /** Whether this round ended for want of room: there may be more records. */
    boolean isFull() {
        return full;
    }

    long offset(int i) {
        return offsets[i];
    }

    int attempts(int i) {
        return attempts[i];
    }

    /** Whether another record fits into this round; a first one always does. Remembers a no, see {@link #isFull}. */
    boolean fits(int length) {
        full = count > 0 && (count == MOST_RECORDS || length > MOST_BYTES - used);
        return !full;
    }

    /**
     * Makes room for the next record. All allocation happens here, so that {@link #add} cannot fail.
     *
     * @return the array that gets its bytes, from {@link #start} on
     */
    byte[] room(int length) {
        if (count == lengths.length) {
            grow();
        }
        if (owned) {
            arrays[count] = length == 0 ? NO_BYTES : new byte[length];
            return arrays[count];
        }
        if (buffer.length - used < length) {
            int wanted = Math.max(used + length, Math.min(2 * buffer.length, MOST_BYTES));
            buffer = count == 0 ? new byte[wanted] : Arrays.copyOf(buffer, wanted);
        }
        return buffer;
    }

    /** Where in its array the next record begins. */
    int start() {
        return owned ? 0 : used;
    }

    private void grow() {
        int more = 2 * count;
        offsets = Arrays.copyOf(offsets, more);
        timestamps = Arrays.copyOf(timestamps, more);
        starts = Arrays.copyOf(starts, more);
        attempts = Arrays.copyOf(attempts, more);
        arrays = Arrays.copyOf(arrays, more);
        lengths = Arrays.copyOf(lengths, more); // last: its length says how many there is room for
    }

    /** Takes the record in whose bytes were stored. */
    void add(long offset, long timestampMicros, int length, int attempt) {
        offsets[count] = offset;
        timestamps[count] = timestampMicros;
        starts[count] = start();
        lengths[count] = length;
        attempts[count] = attempt;
        used += length;
        count++;
    }

    /** Calls a handler with each record, in order. When it throws, {@link #delivered} tells how many it has got. */
    void deliver(MessageHandler handler) {
        for (delivered = 0; delivered < count; delivered++) {
            int i = delivered;
            handler.onMessage(offsets[i], timestamps[i], owned ? arrays[i] : buffer, starts[i], lengths[i],
                    attempts[i]);
        }
    }

    /** Records whose handler has returned. */
    int delivered() {
        return delivered;
    }

    /** Lets go of what must not stay in memory. */
    void end() {
        if (owned) {
            Arrays.fill(arrays, 0, count, null);
        } else if (buffer.length > MOST_KEPT) {
            buffer = NO_BYTES;
        }
        count = 0;
    }
}
