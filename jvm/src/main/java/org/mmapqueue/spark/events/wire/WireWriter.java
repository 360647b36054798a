package org.mmapqueue.spark.events.wire;

import java.util.Arrays;

/**
 * Writes protobuf's wire format. The length of a nested message is stored when it ends, as a varint of five bytes,
 * which all readers accept. Not thread-safe.
 */
public final class WireWriter {
    private static final int LENGTH_BYTES = 5;

    private byte[] bytes;
    private int size;

    public WireWriter(int capacity) {
        bytes = new byte[capacity];
    }

    public byte[] toBytes() {
        return Arrays.copyOf(bytes, size);
    }

    public int size() {
        return size;
    }

    /** Discards what was written after a size. */
    public void truncate(int to) {
        size = to;
    }

    public void varint(int field, long value) {
        tag(field, WireReader.VARINT);
        raw(value);
    }

    public void fixed64(int field, long value) {
        tag(field, WireReader.FIXED64);
        for (int shift = 0; shift < Long.SIZE; shift += Byte.SIZE) {
            put((byte) (value >>> shift));
        }
    }

    void fixed32(int field, int value) {
        tag(field, WireReader.FIXED32);
        for (int shift = 0; shift < Integer.SIZE; shift += Byte.SIZE) {
            put((byte) (value >>> shift));
        }
    }

    public void bytes(int field, byte[] from, int offset, int length) {
        tag(field, WireReader.LENGTH);
        raw(length);
        reserve(length);
        System.arraycopy(from, offset, bytes, size, length);
        size += length;
    }

    /**
     * Begins a nested message.
     *
     * @return the argument of {@link #end}
     */
    public int begin(int field) {
        tag(field, WireReader.LENGTH);
        reserve(LENGTH_BYTES);
        size += LENGTH_BYTES;
        return size;
    }

    public void end(int start) {
        int length = size - start;
        for (int i = 0; i < LENGTH_BYTES; i++) {
            int more = i < LENGTH_BYTES - 1 ? 0x80 : 0;
            bytes[start - LENGTH_BYTES + i] = (byte) (length >>> 7 * i & 0x7f | more);
        }
    }

    private void tag(int field, int type) {
        raw((long) field << 3 | type);
    }

    private void raw(long value) {
        long rest = value;
        while ((rest & ~0x7fL) != 0) {
            put((byte) (rest | 0x80));
            rest >>>= 7;
        }
        put((byte) rest);
    }

    private void put(byte value) {
        reserve(1);
        bytes[size++] = value;
    }

    private void reserve(int more) {
        if (bytes.length - size < more) {
            bytes = Arrays.copyOf(bytes, (int)
                    Math.min(Math.max(Math.addExact(size, more), 2L * bytes.length), Integer.MAX_VALUE - 8));
        }
    }
}
