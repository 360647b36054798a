package org.mmapqueue;

import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An atomic batch of payloads, each in an array or in a buffer.
 *
 * <p>The push calls these methods before it takes a lock: first all lengths, then the payloads in ascending order. It
 * copies each payload before it asks for the next, so an array may be reused. The methods may call anything, the queue
 * included. If one throws, the push throws the same and stores nothing. The copy needs as much heap as the payloads.
 * {@link #of}, {@link #packed(byte[], int, int[], int)} and {@link #packed(List, int[])} need none: their payloads go
 * straight into the segments, and must not change until the push returns.
 */
public interface Records {

    /** {@return the number of payloads, 0 or more; the same at each call} */
    int count();

    /**
     * Returns the array that holds a payload. Not called for a payload that a {@link #buffer} holds.
     *
     * @param i the index of the payload, from 0
     * @return the array; the payload's bytes must not change until the next payload is asked for
     */
    byte[] array(int i);

    /**
     * Returns the buffer that holds a payload, for instance one outside of the heap.
     *
     * @param i the index of the payload, from 0
     * @return the buffer, of which neither position nor limit count; null if {@link #array} returns what holds it
     */
    default @Nullable ByteBuffer buffer(int i) {
        return null;
    }

    /**
     * Returns where a payload begins in its array or buffer.
     *
     * @param i the index of the payload, from 0
     * @return the index of its first byte
     */
    int from(int i);

    /**
     * Returns the length of a payload.
     *
     * @param i the index of the payload, from 0
     * @return its length in bytes; the same at each call
     */
    int length(int i);

    /**
     * One payload.
     *
     * @param array holds it
     * @param from index of its first byte
     * @param length number of bytes
     * @return a batch of one
     * @throws IllegalArgumentException if the array does not hold it
     */
    static Records single(byte[] array, int from, int length) {
        return HeapRecords.packed(array, from, new int[] {length}, 1);
    }

    /**
     * One array for each payload.
     *
     * @param payloads the arrays
     * @return a batch of them, in the same order
     */
    static Records of(List<byte[]> payloads) {
        return HeapRecords.of(payloads);
    }

    /**
     * Payloads back to back in one array.
     *
     * @param array holds them
     * @param from index of the first one's first byte
     * @param lengths their lengths in bytes
     * @param count the number of payloads
     * @return a batch of them, in the same order
     * @throws IllegalArgumentException if the array does not hold them
     */
    static Records packed(byte[] array, int from, int[] lengths, int count) {
        return HeapRecords.packed(array, from, lengths, count);
    }

    /**
     * Payloads back to back in buffers, each within one buffer; for batches in mapped files that the heap cannot hold.
     * The buffers must not change until the push returns.
     *
     * @param buffers hold them, from position to limit
     * @param lengths their lengths in bytes
     * @return a batch of them, in the same order; for one push at a time
     * @throws IllegalArgumentException if the lengths do not add up to each buffer in turn
     */
    static Records packed(List<ByteBuffer> buffers, int[] lengths) {
        return new BufferRecords(buffers, lengths);
    }
}
