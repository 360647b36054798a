package org.mmapqueue.queue;

import java.util.List;

/**
 * Payloads that are pushed together: all of them become visible, or none. They need not be in memory at once.
 *
 * <p>Who pushes them asks for the lengths of all first; then, with the log's end claimed, for the arrays, in ascending
 * order, for each of them maybe several times in a row, and copies each before it asks for the next one. So an array
 * may be used again; but all other pushes wait meanwhile, and a method that uses the queue itself finds it claimed.
 * When there was no room, all is asked for again. What {@link #array} raises is raised to the caller, and nothing is
 * stored; when the batch has gone on in another segment by then, it poisons the writer: payloads that may fail are to be
 * fetched before.
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
     */
    static Records single(byte[] array, int from, int length) {
        return new Records() {
            @Override
            public int count() {
                return 1;
            }

            @Override
            public byte[] array(int i) {
                return array;
            }

            @Override
            public int from(int i) {
                return from;
            }

            @Override
            public int length(int i) {
                return length;
            }
        };
    }

    /**
     * One array for each payload.
     *
     * @param payloads the arrays
     * @return a batch of them, in the same order
     */
    static Records of(List<byte[]> payloads) {
        byte[][] arrays = payloads.toArray(new byte[0][]);
        return new Records() {
            @Override
            public int count() {
                return arrays.length;
            }

            @Override
            public byte[] array(int i) {
                return arrays[i];
            }

            @Override
            public int from(int i) {
                return 0;
            }

            @Override
            public int length(int i) {
                return arrays[i].length;
            }
        };
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
        int[] starts = new int[count];
        int at = from;
        for (int i = 0; i < count; i++) {
            starts[i] = at;
            if (lengths[i] < 0 || lengths[i] > array.length - at) {
                throw new IllegalArgumentException("length " + lengths[i] + " of payload " + i
                        + " does not fit the buffer of " + array.length + " bytes at " + at);
            }
            at += lengths[i];
        }
        return new Records() {
            @Override
            public int count() {
                return count;
            }

            @Override
            public byte[] array(int i) {
                return array;
            }

            @Override
            public int from(int i) {
                return starts[i];
            }

            @Override
            public int length(int i) {
                return lengths[i];
            }
        };
    }
}
