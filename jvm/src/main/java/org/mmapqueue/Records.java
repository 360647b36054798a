package org.mmapqueue;

import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An atomic batch of payloads, each in an array or in a buffer.
 *
 * <p>The push calls these methods before it takes a lock: first all lengths, then the payloads in ascending order. It
 * copies each payload before it asks for the next, so an array may be reused. The methods may call anything, the queue
 * included. If one throws, the push throws the same exception and stores nothing. The copies need as much heap as the
 * payloads. Batches of {@link #of}, {@link #packed(byte[], int, int[], int)} and {@link #packed(List, int[])} are not
 * copied in the heap: their payloads go straight into the segments, and must not change until the push returns.
 */
public interface Records {

    /** {@return the number of payloads, 0 or more; the same at each call} */
    int count();

    /**
     * Returns the array that holds a payload. Not called for a payload that a {@link #buffer} holds.
     *
     * @param i the index of the payload, from 0
     * @return the array; the payload's bytes must not change until the push asks for the next payload
     */
    byte[] array(int i);

    /**
     * Returns the buffer that holds a payload, for instance one outside of the heap.
     *
     * @param i the index of the payload, from 0
     * @return the buffer; its position and limit are ignored; null if {@link #array} holds the payload
     */
    default @Nullable ByteBuffer buffer(int i) {
        return null;
    }

    /**
     * Returns the index at which a payload begins in its array or buffer.
     *
     * @param i the index of the payload, from 0
     * @return the index of the payload's first byte
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
     * Makes a batch of one payload.
     *
     * @param array holds the payload
     * @param from index of its first byte
     * @param length number of bytes
     * @return the batch
     * @throws IllegalArgumentException if the array does not hold the payload
     */
    static Records single(byte[] array, int from, int length) {
        return HeapRecords.packed(array, from, new int[] {length}, 1);
    }

    /**
     * Makes a batch with one array for each payload.
     *
     * @param payloads the arrays
     * @return the batch, in the same order
     */
    static Records of(List<byte[]> payloads) {
        return HeapRecords.of(payloads);
    }

    /**
     * Makes a batch of payloads that are back to back in one array.
     *
     * @param array holds the payloads
     * @param from index of the first payload's first byte
     * @param lengths the payloads' lengths in bytes
     * @param count the number of payloads
     * @return the batch, in the same order
     * @throws IllegalArgumentException if the array does not hold the payloads
     */
    static Records packed(byte[] array, int from, int[] lengths, int count) {
        return HeapRecords.packed(array, from, lengths, count);
    }

    /**
     * Makes a batch of payloads that are back to back in buffers, each within one buffer; for batches in mapped files
     * that are too large for the heap. The buffers must not change until the push returns.
     *
     * @param buffers hold the payloads, from position to limit
     * @param lengths the payloads' lengths in bytes
     * @return the batch, in the same order; for one push at a time
     * @throws IllegalArgumentException unless the lengths fill each buffer exactly, one after the other
     */
    static Records packed(List<ByteBuffer> buffers, int[] lengths) {
        return new BufferRecords(buffers, lengths);
    }
}
