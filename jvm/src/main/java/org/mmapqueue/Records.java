package org.mmapqueue;

import java.nio.ByteBuffer;
import java.util.List;

/**
 * Payloads that are pushed together: all of them become visible, or none.
 *
 * <p>They are fetched before the push takes a lock: first all lengths, then the arrays in ascending order. Each is copied
 * before the next one is asked for, so an array may be used again. The methods may call anything, the queue included,
 * and what they raise is raised to the caller of the push: nothing is stored then. The copy takes as much of the heap as
 * the payloads; {@link #of}, {@link #packed(byte[], int, int[], int)} and {@link #packed(List, int[])} need none.
 */
public interface Records {

    /**
     * How many payloads there are.
     *
     * @return 0 or more; the same at each call
     */
    int count();

    /**
     * What holds a payload.
     *
     * @param i which payload, from 0
     * @return the array; the payload's bytes stay as they are until another one is asked for
     */
    byte[] array(int i);

    /**
     * Where a payload begins in its array.
     *
     * @param i which payload, from 0
     * @return the index of its first byte
     */
    int from(int i);

    /**
     * How long a payload is.
     *
     * @param i which payload, from 0
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
     * @throws IllegalArgumentException when the array does not hold it
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
     * @param count how many of the lengths count
     * @return a batch of them, in the same order
     * @throws IllegalArgumentException when the array does not hold them
     */
    static Records packed(byte[] array, int from, int[] lengths, int count) {
        return HeapRecords.packed(array, from, lengths, count);
    }

    /**
     * Payloads back to back in buffers, none of them in two; for batches that the heap has no room for, by mapped files.
     * The buffers must stay as they are until the push returns.
     *
     * @param buffers hold them, from position to limit
     * @param lengths their lengths in bytes
     * @return a batch of them, in the same order; for one push at a time
     * @throws IllegalArgumentException when the lengths do not add up to the buffers, one after the other
     */
    static Records packed(List<ByteBuffer> buffers, int[] lengths) {
        return new BufferRecords(buffers, lengths);
    }
}
