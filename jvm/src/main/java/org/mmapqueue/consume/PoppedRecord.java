package org.mmapqueue.consume;

import java.util.concurrent.atomic.AtomicBoolean;
import org.mmapqueue.Message;
import org.mmapqueue.MessageHandler;

/**
 * The record of a pop that takes one: copied out of the log under a lock, for user code that runs without the lock. The
 * thread that has taken it owns it until {@link #put}.
 */
final class PoppedRecord {
    /** A buffer that grew beyond this size for a large record is not kept. */
    private static final int MOST_KEPT = 1 << 20;

    private static final byte[] NO_BYTES = {};

    /** As in {@link org.mmapqueue.log.BatchDelivery}: a flag, as G1 makes the store of a reference expensive. */
    private final AtomicBoolean inUse = new AtomicBoolean();

    private byte[] buffer = NO_BYTES;
    private int placement;
    private long offset;
    private long timestamp;
    private int length;
    private int attempts;

    /** Takes this object, or a new one while it is in use. One thread at a time: the consumer's lock guards this call. */
    PoppedRecord take() {
        if (inUse.getAcquire()) {
            return new PoppedRecord();
        }
        inUse.setPlain(true);
        return this;
    }

    /** Returns the object for reuse. Any thread, without a lock. */
    void put() {
        if (buffer.length > MOST_KEPT) {
            buffer = NO_BYTES;
        }
        inUse.lazySet(false);
    }

    /** The buffer of this object, with room for a payload. */
    byte[] room(int bytes) {
        if (buffer.length < bytes) {
            buffer = new byte[Math.max(bytes, Math.min(2 * buffer.length, MOST_KEPT))];
        }
        return buffer;
    }

    /** Sets what is known of the record besides its payload. */
    void set(long recordOffset, long timestampMicros, int bytes, int deliveries) {
        offset = recordOffset;
        timestamp = timestampMicros;
        length = bytes;
        attempts = deliveries;
    }

    /** Notes the placement of the consumer; a different one later says that the consumer was moved since. */
    void placement(int number) {
        placement = number;
    }

    int placement() {
        return placement;
    }

    long offset() {
        return offset;
    }

    int attempts() {
        return attempts;
    }

    /** Delivers the record whose payload is in the buffer. */
    void deliver(MessageHandler handler) {
        handler.onMessage(offset, timestamp, buffer, 0, length, attempts);
    }

    /** The record with its payload in another array. */
    Message message(byte[] data) {
        return new Message(offset, timestamp, data, attempts);
    }
}
