package org.mmapqueue;

import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Payloads back to back in buffers, for instance mapped files. Appending them calls no code of the caller, and copies
 * each straight into the log. Access in ascending order is cheap; a step back rewinds to the first buffer. Not
 * thread-safe.
 */
final class BufferRecords implements Records {
    private static final byte[] EMPTY = {};

    private final ByteBuffer[] buffers;
    private final int[] lengths;
    private int current;
    private int buffer;
    /** Index of the current payload's first byte in its buffer. */
    private int start;

    /** Throws IllegalArgumentException unless the lengths fill each buffer exactly, one after the other. */
    BufferRecords(List<ByteBuffer> buffers, int[] lengths) {
        this.buffers = buffers.stream()
                .filter(ByteBuffer::hasRemaining)
                .map(ByteBuffer::slice)
                .toArray(ByteBuffer[]::new);
        this.lengths = lengths.clone(); // the caller's array may change at any time
        check();
    }

    private void check() {
        int at = 0;
        int used = 0;
        for (int i = 0; i < lengths.length; i++) {
            if (at < buffers.length && used == buffers[at].capacity()) {
                at++;
                used = 0;
            }
            int left = at < buffers.length ? buffers[at].capacity() - used : 0;
            if (lengths[i] < 0 || lengths[i] > left) {
                throw new IllegalArgumentException("length " + lengths[i] + " of payload " + i + ", but buffer " + at
                        + " of " + buffers.length + " has " + left + " bytes left");
            }
            used += lengths[i];
        }
        if (at + 1 < buffers.length || at < buffers.length && used < buffers[at].capacity()) {
            throw new IllegalArgumentException("the buffers hold more than the " + lengths.length + " payloads: buffer "
                    + at + " of " + buffers.length + " is used up to byte " + used);
        }
    }

    @Override
    public int count() {
        return lengths.length;
    }

    @Override
    public byte[] array(int i) {
        return EMPTY; // without buffers, all payloads are empty
    }

    @Override
    public @Nullable ByteBuffer buffer(int i) {
        goTo(i);
        return buffer < buffers.length ? buffers[buffer] : null;
    }

    private void goTo(int i) {
        if (i < current) {
            current = 0;
            buffer = 0;
            start = 0;
        }
        while (current < i) {
            start += lengths[current++];
            if (buffer + 1 < buffers.length && start == buffers[buffer].capacity()) {
                buffer++;
                start = 0;
            }
        }
    }

    @Override
    public int from(int i) {
        goTo(i);
        return start;
    }

    @Override
    public int length(int i) {
        return lengths[i];
    }
}
