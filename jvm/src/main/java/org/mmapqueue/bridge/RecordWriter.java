package org.mmapqueue.bridge;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.mmapqueue.MessageHandler;

/** Writes records into a shared buffer: payloads as they come, header and columns at the end. Not thread-safe. */
final class RecordWriter implements MessageHandler {
    private static final byte[] NOTHING = {};

    private final ByteBuffer memory;
    private final int payloadLimit;
    private final int[] lengths;
    private final long[] timestamps;
    private final long[] offsets;
    private final int[] attempts;
    private int count;
    private int bytes;
    private int flags;
    /** The payload of a single record that is larger than the buffer. */
    private byte[] oversize = NOTHING;

    RecordWriter(ByteBuffer memory) {
        this.memory = memory;
        this.payloadLimit = SharedBufferLayout.payloadLimit(memory.capacity());
        int records = SharedBufferLayout.recordLimit(memory.capacity());
        lengths = new int[records];
        timestamps = new long[records];
        offsets = new long[records];
        attempts = new int[records];
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
        if (length > payloadLimit) {
            oversize = Arrays.copyOfRange(buffer, start, start + length);
        } else {
            memory.put(SharedBufferLayout.PAYLOAD + bytes, buffer, start, length);
        }
        lengths[count] = length;
        timestamps[count] = timestampMicros;
        offsets[count] = offset;
        attempts[count] = attempt;
        if (timestampMicros != 0) {
            flags |= SharedBufferLayout.TIMESTAMPS;
        }
        if (offset != offsets[0] + count) {
            flags |= SharedBufferLayout.OFFSETS;
        }
        if (attempt != attempts[0]) {
            flags |= SharedBufferLayout.MIXED_ATTEMPTS;
        }
        count++;
        bytes += length;
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
        memory.position(at);
        memory.asIntBuffer().put(lengths, 0, count);
        at = SharedBufferLayout.aligned(at + count * Integer.BYTES);
        if ((flags & SharedBufferLayout.TIMESTAMPS) != 0) {
            memory.position(at);
            memory.asLongBuffer().put(timestamps, 0, count);
            at += count * Long.BYTES;
        }
        if ((flags & SharedBufferLayout.OFFSETS) != 0) {
            memory.position(at);
            memory.asLongBuffer().put(offsets, 0, count);
            at += count * Long.BYTES;
        }
        if ((flags & SharedBufferLayout.MIXED_ATTEMPTS) != 0) {
            memory.position(at);
            memory.asIntBuffer().put(attempts, 0, count);
        }
        memory.position(0);
    }

    /** Copies the next bytes of the oversize payload into the buffer; returns how many. */
    int fetch(int from) {
        int length = Math.min(oversize.length - from, payloadLimit);
        memory.put(SharedBufferLayout.PAYLOAD, oversize, from, length);
        return length;
    }
}
