package org.mmapqueue;

import java.nio.ByteBuffer;
import java.util.List;

/**
 * Payloads back to back in buffers, for instance mapped files. Appending them runs no code of the caller, and the heap
 * holds one payload at a time. Access in ascending order is cheap; a step back rewinds to the first buffer. Not
 * thread-safe.
 */
final class BufferRecords implements Records {
    private final ByteBuffer[] buffers;
    private final int[] lengths;
    private final byte[] payload;
    private int current;
    private int buffer;
    /** Where the current payload begins in its buffer. */
    private int start;

    private int copied = -1;

    /** Throws IllegalArgumentException if the lengths do not add up to each buffer in turn. */
    BufferRecords(List<ByteBuffer> buffers, int[] lengths) {
        this.buffers = buffers.stream()
                .filter(ByteBuffer::hasRemaining)
                .map(ByteBuffer::slice)
                .toArray(ByteBuffer[]::new);
        this.lengths = lengths;
        this.payload = new byte[checked()];
        rewind();
    }

    private int checked() {
        int longest = 0;
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
            longest = Math.max(longest, lengths[i]);
        }
        if (at + 1 < buffers.length || at < buffers.length && used < buffers[at].capacity()) {
            throw new IllegalArgumentException("the buffers hold more than the " + lengths.length + " payloads: buffer "
                    + at + " of " + buffers.length + " is used up to byte " + used);
        }
        return longest;
    }

    private void rewind() {
        current = 0;
        buffer = 0;
        start = 0;
    }

    @Override
    public int count() {
        return lengths.length;
    }

    @Override
    public byte[] array(int i) {
        if (copied != i && lengths[i] > 0) {
            goTo(i);
            buffers[buffer].get(start, payload, 0, lengths[i]);
            copied = i;
        }
        return payload;
    }

    private void goTo(int i) {
        if (i < current) {
            rewind();
        }
        while (current < i) {
            start += lengths[current++];
            if (start == buffers[buffer].capacity() && buffer + 1 < buffers.length) {
                buffer++;
                start = 0;
            }
        }
    }

    @Override
    public int from(int i) {
        return 0;
    }

    @Override
    public int length(int i) {
        return lengths[i];
    }
}
