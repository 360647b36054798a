package org.mmapqueue.bridge;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.mmapqueue.MessageHandler;

/** Writes records into a shared buffer: payloads as they arrive, header and columns at the end. Not thread-safe. */
final class RecordWriter implements MessageHandler {
    private static final byte[] NOTHING = {};
    private static final int FIRST_RECORDS = 64;

    private final ByteBuffer memory;
    private final int payloadLimit;
    // The columns, with capacity for the most records of any call so far.
    private int[] positions = new int[FIRST_RECORDS + 1];
    private long[] timestamps = new long[FIRST_RECORDS];
    private long[] offsets = new long[FIRST_RECORDS];
    private int[] attempts = new int[FIRST_RECORDS];
    private int count;
    private int bytes;
    private int flags;
    /** The payload of a single record that is larger than the buffer. */
    private byte[] oversize = NOTHING;

    RecordWriter(ByteBuffer memory) {
        this.memory = memory;
        this.payloadLimit = SharedBufferLayout.payloadLimit(memory.capacity());
        positions[0] = SharedBufferLayout.PAYLOAD;
    }

    /** Discards all records. */
    void begin() {
        count = 0;
        bytes = 0;
        flags = 0;
        oversize = NOTHING;
    }

    @Override
    public void onMessage(long offset, long timestampMicros, byte[] buffer, int start, int length, int attempt) {
        if (count == offsets.length) {
            grow();
        }
        if (length > payloadLimit) {
            oversize = Arrays.copyOfRange(buffer, start, start + length);
        } else {
            memory.put(SharedBufferLayout.PAYLOAD + bytes, buffer, start, length);
        }
        positions[count + 1] = SharedBufferLayout.PAYLOAD + bytes + length;
        timestamps[count] = timestampMicros;
        offsets[count] = offset;
        attempts[count] = attempt;
        if (timestampMicros == 0) {
            flags |= SharedBufferLayout.MISSING_TIMESTAMPS;
        }
        if (attempt != attempts[0]) {
            flags |= SharedBufferLayout.MIXED_ATTEMPTS;
        }
        count++;
        bytes += length;
    }

    private void grow() {
        int most = 2 * count;
        positions = Arrays.copyOf(positions, most + 1);
        timestamps = Arrays.copyOf(timestamps, most);
        attempts = Arrays.copyOf(attempts, most);
        offsets = Arrays.copyOf(offsets, most); // last: its length decides whether all arrays are large enough
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** Writes header and columns; returns the number of records, or {@link Status#EMPTY}. */
    int end() {
        if (count == 0) {
            return Status.EMPTY;
        }
        memory.putLong(SharedBufferLayout.OFFSET, offsets[0]);
        memory.putLong(SharedBufferLayout.TIMESTAMP, timestamps[0]);
        memory.putInt(SharedBufferLayout.COUNT, count);
        memory.putInt(SharedBufferLayout.FLAGS, flags);
        memory.putInt(SharedBufferLayout.BYTES, bytes);
        memory.putInt(SharedBufferLayout.ATTEMPTS, attempts[0]);
        if (count > 1) {
            writeColumns();
        }
        return count;
    }

    private void writeColumns() {
        int at = SharedBufferLayout.aligned(SharedBufferLayout.PAYLOAD + bytes);
        memory.position(at).asIntBuffer().put(positions, 0, count + 1);
        at = SharedBufferLayout.aligned(at + (count + 1) * Integer.BYTES);
        memory.position(at).asLongBuffer().put(timestamps, 0, count);
        at += count * Long.BYTES;
        memory.position(at).asLongBuffer().put(offsets, 0, count);
        at += count * Long.BYTES;
        if ((flags & SharedBufferLayout.MIXED_ATTEMPTS) != 0) {
            memory.position(at).asIntBuffer().put(attempts, 0, count);
        }
        memory.position(0);
    }

    /** Copies the next bytes of the oversize payload into the buffer; returns the number of bytes. */
    int fetch(int from) {
        int length = Math.min(oversize.length - from, payloadLimit);
        memory.put(SharedBufferLayout.PAYLOAD, oversize, from, length);
        return length;
    }
}
