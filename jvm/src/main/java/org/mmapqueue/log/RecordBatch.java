package org.mmapqueue.log;

import java.util.Arrays;
import org.mmapqueue.MessageHandler;

/**
 * Records that were copied out of the log under a lock, for user code that runs without it. Either all lie in one
 * buffer, which the next round overwrites, or each has an array of its own, which the receiver may keep. Not
 * thread-safe: the thread that fills it owns it until {@link SpareBatch#put}.
 */
public final class RecordBatch {
    /** Records of one round: a larger pop or read takes several. */
    private static final int MOST_RECORDS = 1024;
    /** Bytes of payload of one round, unless its only record is larger: they stay in a core's cache. */
    private static final int MOST_BYTES = 128 << 10;
    /** A buffer that grew beyond this for a large record is not kept. */
    private static final int MOST_KEPT = 1 << 20;

    private static final int FIRST_RECORDS = 16;
    private static final byte[] NO_BYTES = {};

    // The facts of a record, in words.
    private static final int OFFSET = 0;
    private static final int TIMESTAMP = 1;
    /** The length in the upper half, the attempts in the lower. */
    private static final int LENGTH = 2;

    private static final int FACTS = 3;

    private boolean owned;
    private int placement;
    private byte[] buffer = NO_BYTES;
    /** Of owned records; null until there is one. */
    private byte[][] arrays;

    private long[] facts = new long[FIRST_RECORDS * FACTS];
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
    public void begin(boolean own, int placing) {
        owned = own;
        placement = placing;
        count = 0;
        used = 0;
        delivered = 0;
        full = false;
    }

    /** A number of the source: it has changed since if the source was moved. */
    public int placement() {
        return placement;
    }

    /** Records in it. */
    public int count() {
        return count;
    }

    /** Bytes of payload in it. */
    public int bytes() {
        return used;
    }

    /** Whether this round ended because it was full: there may be more records. */
    public boolean isFull() {
        return full;
    }

    public long offset(int i) {
        return facts[FACTS * i + OFFSET];
    }

    public int attempts(int i) {
        return (int) facts[FACTS * i + LENGTH];
    }

    /**
     * Whether another record fits into this round.
     *
     * @param length its bytes
     * @param maxBytes the most bytes of payload that the caller wants
     * @param first whether a first record may be larger than that
     */
    public boolean takes(int length, long maxBytes, boolean first) {
        if (count == 0) {
            return first || length <= maxBytes;
        }
        if (length > maxBytes - used) {
            return false;
        }
        full = count == MOST_RECORDS || length > MOST_BYTES - used;
        return !full;
    }

    /**
     * Makes room for the next record. All allocation happens here, so that {@link #add} cannot fail.
     *
     * @return the array for the payload, from {@link #start} on
     */
    public byte[] room(int length) {
        if (FACTS * count == facts.length) {
            facts = Arrays.copyOf(facts, 2 * facts.length);
        }
        if (owned) {
            return ownRoom(length);
        }
        if (length > buffer.length - used) {
            int wanted = Math.max(used + length, Math.min(2 * buffer.length, MOST_BYTES));
            buffer = used == 0 ? new byte[wanted] : Arrays.copyOf(buffer, wanted);
        }
        return buffer;
    }

    private byte[] ownRoom(int length) {
        if (arrays == null) {
            arrays = new byte[FIRST_RECORDS][];
        } else if (arrays.length == count) {
            arrays = Arrays.copyOf(arrays, 2 * count);
        }
        byte[] room = length == 0 ? NO_BYTES : new byte[length];
        arrays[count] = room;
        return room;
    }

    /** Index in the array at which the next record begins. */
    public int start() {
        return owned ? 0 : used;
    }

    /** Adds the record; its payload has been stored. */
    public void add(long offset, long timestampMicros, int length, int attempts) {
        int at = FACTS * count;
        facts[at + OFFSET] = offset;
        facts[at + TIMESTAMP] = timestampMicros;
        facts[at + LENGTH] = (long) length << Integer.SIZE | attempts;
        used += length;
        count++;
    }

    /** Calls a handler with each record, in order. When it throws, {@link #delivered} is the number that it got. */
    public void deliver(MessageHandler handler) {
        int start = 0;
        for (int i = 0; i < count; i++) {
            delivered = i;
            int at = FACTS * i;
            int length = (int) (facts[at + LENGTH] >>> Integer.SIZE);
            handler.onMessage(
                    facts[at + OFFSET], facts[at + TIMESTAMP], owned ? arrays[i] : buffer, start, length, (int)
                            facts[at + LENGTH]);
            start += owned ? 0 : length;
        }
        delivered = count;
    }

    /** Records for which the handler has returned. */
    public int delivered() {
        return delivered;
    }

    /** Releases arrays that must not stay in memory. */
    void end() {
        if (owned && count > 0) {
            Arrays.fill(arrays, 0, count, null);
        } else if (buffer.length > MOST_KEPT) {
            buffer = NO_BYTES;
        }
        count = 0;
    }
}
