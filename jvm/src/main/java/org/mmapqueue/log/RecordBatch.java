package org.mmapqueue.log;

import java.io.IOException;
import java.util.Arrays;
import org.mmapqueue.MessageHandler;

/**
 * Records that were copied out of the log under a lock, for user code that runs without the lock. Either all records
 * share one buffer, which the next round overwrites, or each has an array of its own, which the receiver may keep. Not
 * thread-safe: the thread that fills the batch owns it until {@link BatchDelivery#put}.
 */
public final class RecordBatch {
    /** The maximum number of records of one round; a larger pop or read takes several rounds. */
    private static final int MOST_RECORDS = 1024;
    /** The maximum number of payload bytes of one round, unless its only record is larger. */
    public static final int MOST_BYTES = 128 << 10;
    /** A buffer that grew beyond this size for a large record is not kept. */
    private static final int MOST_KEPT = 1 << 20;

    private static final int FIRST_RECORDS = 16;
    private static final byte[] NO_BYTES = {};

    // Words per record, and their indices.
    private static final int OFFSET = 0;
    private static final int TIMESTAMP = 1;
    /** The length in the upper half, the attempts in the lower half. */
    private static final int LENGTH = 2;

    private static final int FACTS = 3;

    private boolean owned;
    private int placement;
    private long maxBytes;
    private boolean exceeds;
    /** The maximum number of payload bytes of this round, unless its only record is larger. */
    private int roundBytes;

    private byte[] buffer = NO_BYTES;
    /** The arrays of owned records; null until one is allocated. */
    private byte[][] arrays;

    private long[] facts = new long[FIRST_RECORDS * FACTS];
    /** Number of records for which {@link #facts} has room. */
    private int roomFor = FIRST_RECORDS;

    private int count;
    private int used;
    private int delivered;
    private boolean full;
    private long next;

    /**
     * Begins a round.
     *
     * @param own whether each record gets an array of its own
     * @param placing value for {@link #placement}
     * @param most the maximum number of payload bytes that the caller wants
     * @param exceed whether the batch's first record may be larger than that
     * @param mostOfRound the maximum number of payload bytes of this round, unless its only record is larger
     */
    void begin(boolean own, int placing, long most, boolean exceed, int mostOfRound) {
        owned = own;
        placement = placing;
        maxBytes = most;
        exceeds = exceed;
        roundBytes = (int) Math.min(most, mostOfRound);
        used = 0;
        delivered = 0;
        full = false;
    }

    /**
     * Number of the source's placement at the fetch; it differs from the source's present one if the source was moved
     * since.
     */
    public int placement() {
        return placement;
    }

    public int count() {
        return count;
    }

    /** Bytes of payload in this batch. */
    public int bytes() {
        return used;
    }

    /** Whether this round ended because the batch was full, so that more records may follow. */
    public boolean isFull() {
        return full;
    }

    /** Sets the offset with which the next round begins, for {@link BatchDelivery.Fetch#next}. */
    public void next(long offset) {
        next = offset;
    }

    /** The offset with which the next round begins, as the source has set it. */
    long next() {
        return next;
    }

    public long offset(int i) {
        return facts[FACTS * i + OFFSET];
    }

    public int attempts(int i) {
        return (int) facts[FACTS * i + LENGTH];
    }

    /** Whether another record, of {@code length} bytes, fits into this round. */
    public boolean takes(int length) {
        return length <= roundBytes - used && count < roomFor || takesMore(length);
    }

    private boolean takesMore(int length) {
        boolean isWanted = count == 0 ? exceeds || length <= maxBytes : length <= maxBytes - used;
        full = isWanted && count > 0 && (length > roundBytes - used || count == MOST_RECORDS);
        if (!isWanted || full) {
            return false;
        }
        if (count == roomFor) {
            facts = Arrays.copyOf(facts, 2 * facts.length);
            roomFor = 2 * count;
        }
        return true;
    }

    /**
     * Makes room for the payload of a record that {@link #takes} has allowed. All allocation happens in these two, so
     * that {@link #add} cannot fail.
     *
     * @return the array for the payload, from {@link #start} on
     */
    public byte[] room(int length) {
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

    /** Index in the array at which the next record's payload begins. */
    public int start() {
        return owned ? 0 : used;
    }

    /**
     * Adds the record that a reader has found, if this round takes it.
     *
     * @param offset its offset
     */
    public boolean read(LogReader reader, long offset) throws IOException {
        int length = reader.length();
        if (!takes(length)) {
            return false;
        }
        reader.read(room(length), start());
        add(offset, reader.timestamp(), length, 0);
        return true;
    }

    /**
     * Adds the next records, as long as {@link LogReader#nextPlain} finds them and this round takes them.
     *
     * @param most the maximum number of records
     * @return the number of added records
     */
    public int readPlain(LogReader reader, int most) {
        int before = count;
        while (count - before < most && reader.nextPlain() && takes(reader.length())) {
            int length = reader.length();
            long offset = reader.nextOffset();
            if (!reader.takePlain(room(length), start())) {
                break;
            }
            add(offset, reader.timestamp(), length, 0);
        }
        return count - before;
    }

    /** Adds the record; its payload has been stored in the array. */
    public void add(long offset, long timestampMicros, int length, int attempts) {
        long[] record = facts;
        int at = FACTS * count;
        record[at + OFFSET] = offset;
        record[at + TIMESTAMP] = timestampMicros;
        record[at + LENGTH] = (long) length << Integer.SIZE | attempts;
        used += length;
        count++;
    }

    /**
     * Calls a handler with each record, in order. If it throws, {@link #delivered} is the number of records that it
     * handled.
     */
    public void deliver(MessageHandler handler) {
        long[] all = facts;
        byte[] data = buffer;
        int start = 0;
        for (int i = 0, at = 0; i < count; i++, at += FACTS) {
            delivered = i;
            long lengthAndAttempts = all[at + LENGTH];
            int length = (int) (lengthAndAttempts >>> Integer.SIZE);
            if (owned) {
                data = arrays[i];
            }
            handler.onMessage(all[at + OFFSET], all[at + TIMESTAMP], data, start, length, (int) lengthAndAttempts);
            if (!owned) {
                start += length;
            }
        }
        delivered = count;
    }

    /** Number of records for which the handler has returned. */
    public int delivered() {
        return delivered;
    }

    /** Releases arrays that are too large to be kept. */
    void end() {
        if (owned && count > 0) {
            Arrays.fill(arrays, 0, count, null);
        } else if (buffer.length > MOST_KEPT) {
            buffer = NO_BYTES;
        }
        count = 0;
    }
}
