package org.mmapqueue.bridge;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.mmapqueue.MessageHandler;

/** Lays records out in a stage, payload by payload, the columns behind the last. For one thread at a time. */
final class PopSink implements MessageHandler {
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
    /** The payload that is larger than the stage; there is no other then. */
    private byte[] oversize = NOTHING;

    PopSink(ByteBuffer memory) {
        this.memory = memory;
        this.payloadLimit = StageLayout.payloadLimit(memory.capacity());
        int records = StageLayout.recordLimit(memory.capacity());
        lengths = new int[records];
        timestamps = new long[records];
        offsets = new long[records];
        attempts = new int[records];
    }

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
            memory.put(StageLayout.PAYLOAD + bytes, buffer, start, length);
        }
        lengths[count] = length;
        timestamps[count] = timestampMicros;
        offsets[count] = offset;
        attempts[count] = attempt;
        if (timestampMicros != 0) {
            flags |= StageLayout.TIMESTAMPS;
        }
        if (offset != offsets[0] + count) {
            flags |= StageLayout.OFFSETS;
        }
        if (attempt != attempts[0]) {
            flags |= StageLayout.MIXED_ATTEMPTS;
        }
        count++;
        bytes += length;
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** Writes header and columns; gives back what the call answers. */
    int end() {
        if (count == 0) {
            return Status.EMPTY;
        }
        memory.putLong(StageLayout.OFFSET, offsets[0]);
        memory.putLong(StageLayout.TIMESTAMP, timestamps[0]);
        memory.putInt(StageLayout.COUNT, count);
        memory.putInt(StageLayout.FLAGS, flags);
        memory.putInt(StageLayout.BYTES, bytes);
        memory.putInt(StageLayout.ATTEMPTS, attempts[0]);
        if (count > 1) {
            writeColumns();
        }
        return count;
    }

    private void writeColumns() {
        int at = StageLayout.aligned(StageLayout.PAYLOAD + bytes);
        memory.position(at);
        memory.asIntBuffer().put(lengths, 0, count);
        at = StageLayout.aligned(at + count * Integer.BYTES);
        if ((flags & StageLayout.TIMESTAMPS) != 0) {
            memory.position(at);
            memory.asLongBuffer().put(timestamps, 0, count);
            at += count * Long.BYTES;
        }
        if ((flags & StageLayout.OFFSETS) != 0) {
            memory.position(at);
            memory.asLongBuffer().put(offsets, 0, count);
            at += count * Long.BYTES;
        }
        if ((flags & StageLayout.MIXED_ATTEMPTS) != 0) {
            memory.position(at);
            memory.asIntBuffer().put(attempts, 0, count);
        }
        memory.position(0);
    }

    int fetch(int from) {
        int length = Math.min(oversize.length - from, payloadLimit);
        memory.put(StageLayout.PAYLOAD, oversize, from, length);
        return length;
    }
}
