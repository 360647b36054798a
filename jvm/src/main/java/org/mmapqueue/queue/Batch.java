package org.mmapqueue.queue;

import java.util.List;

/** Payloads that are pushed together: all of them become visible, or none. */
interface Batch {

    /** How many payloads. */
    int count();

    /** The array that holds payload {@code i}. */
    byte[] array(int i);

    /** Where it begins in the array. */
    int from(int i);

    /** Its length in bytes. */
    int length(int i);

    /** One payload. */
    static Batch single(byte[] array, int from, int length) {
        return new Batch() {
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

    /** One array for each payload. */
    static Batch of(List<byte[]> payloads) {
        byte[][] arrays = payloads.toArray(new byte[0][]);
        return new Batch() {
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

    /** Payloads back to back in one array. */
    static Batch packed(byte[] array, int from, int[] lengths, int count) {
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
        return new Batch() {
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
