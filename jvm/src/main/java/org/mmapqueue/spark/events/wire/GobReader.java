package org.mmapqueue.spark.events.wire;

import java.util.Arrays;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads the values of Go's encoding/gob. Not thread-safe. */
public final class GobReader {
    private static final int MOST_BYTES_OF_NUMBER = 8;

    private final byte[] bytes;
    private int position;

    public GobReader(byte[] bytes) {
        this.bytes = bytes;
    }

    public byte[] bytes() {
        return bytes;
    }

    public int position() {
        return position;
    }

    public boolean atEnd() {
        return position == bytes.length;
    }

    /**
     * An unsigned number: up to 127 the byte itself, otherwise the negated count of the bytes that follow, the highest
     * first.
     */
    public long unsigned() throws MalformedException {
        int start = position;
        int first = next();
        if (first >= 0) {
            return first;
        }
        int count = -first;
        if (count > MOST_BYTES_OF_NUMBER) {
            throw new MalformedException("number of " + count + " bytes", start);
        }
        long value = 0;
        for (int i = 0; i < count; i++) {
            value = value << 8 | next() & 0xff;
        }
        return value;
    }

    /** A signed number: the lowest bit says whether the others are inverted. */
    public long signed() throws MalformedException {
        long value = unsigned();
        return (value & 1) == 0 ? value >>> 1 : ~(value >>> 1);
    }

    /** A float64: the bytes of the number are in reverse order. */
    public double float64() throws MalformedException {
        return Double.longBitsToDouble(Long.reverseBytes(unsigned()));
    }

    /** A length that does not exceed the rest of the input. */
    public int length() throws MalformedException {
        int start = position;
        long length = unsigned();
        if (length < 0 || length > bytes.length - position) {
            throw new MalformedException(
                    "length " + Long.toUnsignedString(length) + " of " + (bytes.length - position) + " bytes", start);
        }
        return (int) length;
    }

    public UTF8String text() throws MalformedException {
        int length = length();
        UTF8String text = Utf8.text(bytes, position, length);
        position += length;
        return text;
    }

    public byte[] copy() throws MalformedException {
        int length = length();
        byte[] copy = Arrays.copyOfRange(bytes, position, position + length);
        position += length;
        return copy;
    }

    public void skip(int count) {
        position += count;
    }

    private int next() throws MalformedException {
        if (position == bytes.length) {
            throw new MalformedException("truncated gob", position);
        }
        return bytes[position++];
    }
}
