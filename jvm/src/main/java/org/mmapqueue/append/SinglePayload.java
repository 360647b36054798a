package org.mmapqueue.append;

import java.nio.ByteBuffer;
import org.mmapqueue.Records;

/**
 * A batch of one payload. Appending it calls no code of the caller.
 *
 * @param array holds the payload; null if it is in the buffer
 * @param buffer holds the payload; null if it is in the array
 */
record SinglePayload(byte[] array, ByteBuffer buffer, int from, int length) implements Records {
    @Override
    public int count() {
        return 1;
    }

    @Override
    public byte[] array(int i) {
        return array;
    }

    @Override
    public ByteBuffer buffer(int i) {
        return buffer;
    }

    @Override
    public int from(int i) {
        return from;
    }

    @Override
    public int length(int i) {
        return length;
    }
}
