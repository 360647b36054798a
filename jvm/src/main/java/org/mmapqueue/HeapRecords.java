package org.mmapqueue;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/** Payloads in the heap. Appending them calls no code of the caller. */
record HeapRecords(byte[][] arrays, int[] starts, int[] lengths, int count) implements Records {
    /** Bytes of the blocks that hold fetched payloads; a larger payload has a block of its own. */
    private static final int BLOCK = 1 << 20;

    /** Makes a batch with one array for each payload. */
    static HeapRecords of(List<byte[]> payloads) {
        byte[][] arrays = payloads.toArray(new byte[0][]);
        int[] lengths = new int[arrays.length];
        for (int i = 0; i < lengths.length; i++) {
            lengths[i] = Objects.requireNonNull(arrays[i], "payload").length;
        }
        return new HeapRecords(arrays, new int[lengths.length], lengths, lengths.length);
    }

    /**
     * Makes a batch of payloads back to back in one array; throws IllegalArgumentException if the array or the lengths do
     * not hold them.
     */
    static HeapRecords packed(byte[] array, int from, int[] lengths, int count) {
        if (count < 0 || count > lengths.length) {
            throw new IllegalArgumentException("a batch of " + count + " payloads with " + lengths.length + " lengths");
        }
        byte[][] arrays = new byte[count][];
        Arrays.fill(arrays, array);
        int[] starts = new int[count];
        int[] checked = Arrays.copyOf(lengths, count); // the caller's array may change at any time
        int at = from;
        for (int i = 0; i < count; i++) {
            starts[i] = at;
            if (checked[i] < 0 || at < 0 || checked[i] > array.length - at) {
                throw new IllegalArgumentException("length " + checked[i] + " of payload " + i
                        + " does not fit the buffer of " + array.length + " bytes at " + at);
            }
            at += checked[i];
        }
        return new HeapRecords(arrays, starts, checked, count);
    }

    /**
     * Returns a batch that can be appended without calling code of the caller: a batch of this package itself, or a
     * copy of any other.
     *
     * @throws IllegalArgumentException if the batch has a count or length below 0
     * @throws IndexOutOfBoundsException if an array does not hold its payload
     */
    static Records fetch(Records batch) {
        if (batch instanceof HeapRecords || batch instanceof BufferRecords) {
            return batch;
        }
        int count = batch.count();
        if (count < 0) {
            throw new IllegalArgumentException("a batch of " + count + " payloads, expected 0 or more");
        }
        int[] lengths = new int[count];
        long left = 0;
        for (int i = 0; i < count; i++) {
            lengths[i] = batch.length(i);
            if (lengths[i] < 0) {
                throw new IllegalArgumentException(
                        "length " + lengths[i] + " of payload " + i + ", expected 0 or more");
            }
            left += lengths[i];
        }
        byte[][] arrays = new byte[count][];
        int[] starts = new int[count];
        byte[] block = {};
        int used = 0;
        for (int i = 0; i < count; i++) {
            if (lengths[i] > block.length - used) {
                block = new byte[Math.max(lengths[i], (int) Math.min(BLOCK, left))];
                used = 0;
            }
            copy(batch, i, block, used, lengths[i]);
            arrays[i] = block;
            starts[i] = used;
            used += lengths[i];
            left -= lengths[i];
        }
        return new HeapRecords(arrays, starts, lengths, count);
    }

    private static void copy(Records batch, int i, byte[] block, int to, int length) {
        ByteBuffer buffer = batch.buffer(i);
        if (buffer == null) {
            System.arraycopy(batch.array(i), batch.from(i), block, to, length);
        } else {
            buffer.get(batch.from(i), block, to, length);
        }
    }

    @Override
    public byte[] array(int i) {
        return arrays[i];
    }

    @Override
    public int from(int i) {
        return starts[i];
    }

    @Override
    public int length(int i) {
        return lengths[i];
    }
}
