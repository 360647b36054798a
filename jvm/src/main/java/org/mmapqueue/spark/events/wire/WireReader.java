package org.mmapqueue.spark.events.wire;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads protobuf's wire format from an array: tag by tag, without a schema and without copies.
 *
 * <p>A nested message is read in place: {@link #enter} narrows the range to the message, {@link #leave} widens it
 * again. Not thread-safe.
 */
public final class WireReader {
    static final int VARINT = 0;
    static final int FIXED64 = 1;
    public static final int LENGTH = 2;
    static final int FIXED32 = 5;
    /** The limit of nested messages, as in protobuf's own readers. */
    public static final int MOST_DEPTH = 100;

    private static final int GROUP = 3;
    private static final int GROUP_END = 4;
    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    private final byte[] bytes;
    private int position;
    private int end;
    private int tagPosition;
    private int wireType;
    private int depth;

    public WireReader(byte[] bytes) {
        this.bytes = bytes;
        end = bytes.length;
    }

    public byte[] bytes() {
        return bytes;
    }

    public int position() {
        return position;
    }

    int end() {
        return end;
    }

    /** The bytes up to the end of the message. */
    public int remaining() {
        return end - position;
    }

    /**
     * Reads the next field's tag.
     *
     * @return the field's number, 0 at the end of the message
     */
    public int nextField() throws MalformedException {
        if (position == end) {
            return 0;
        }
        tagPosition = position;
        int first = bytes[position];
        if (first > 0) {
            position++;
            wireType = first & 7;
            int field = first >>> 3;
            if (field == 0) {
                throw new MalformedException("field number 0", tagPosition);
            }
            return field;
        }
        long tag = varint();
        wireType = (int) tag & 7;
        long field = tag >>> 3;
        if (field == 0 || field >= 1 << 29) {
            throw new MalformedException("field number " + field, tagPosition);
        }
        return (int) field;
    }

    public int wireType() {
        return wireType;
    }

    /** Checks the wire type of the current field. */
    void expect(int type, int field) throws MalformedException {
        if (wireType != type) {
            throw new MalformedException(
                    "field " + field + " has wire type " + wireType + ", not " + type, tagPosition);
        }
    }

    public long varint(int field) throws MalformedException {
        expect(VARINT, field);
        return varint();
    }

    private long varint() throws MalformedException {
        int at = position;
        long value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (at == end) {
                throw new MalformedException("truncated varint", position);
            }
            byte next = bytes[at++];
            value |= (long) (next & 0x7f) << shift;
            if (next >= 0) {
                position = at;
                return value;
            }
        }
        throw new MalformedException("varint of more than 10 bytes", position);
    }

    /** A varint of a packed field; the range is that of the field. */
    public long packedVarint() throws MalformedException {
        return varint();
    }

    public long fixed64(int field) throws MalformedException {
        expect(FIXED64, field);
        return fixed64();
    }

    /** 8 bytes, of a packed field. */
    public long fixed64() throws MalformedException {
        need(8);
        long value = (long) LONGS.get(bytes, position);
        position += 8;
        return value;
    }

    int fixed32(int field) throws MalformedException {
        expect(FIXED32, field);
        need(4);
        int value = (int) INTS.get(bytes, position);
        position += 4;
        return value;
    }

    public double float64(int field) throws MalformedException {
        return Double.longBitsToDouble(fixed64(field));
    }

    /** Reads the length of the field, which lies within the message. The bytes are at {@link #position}. */
    public int length(int field) throws MalformedException {
        expect(LENGTH, field);
        long length = varint();
        if (length < 0 || length > end - position) {
            throw new MalformedException(
                    "field " + field + " has " + Long.toUnsignedString(length) + " bytes, " + (end - position)
                            + " are left",
                    tagPosition);
        }
        return (int) length;
    }

    /**
     * Enters the nested message of the field.
     *
     * @return the argument of {@link #leave}
     */
    public int enter(int field) throws MalformedException {
        int length = length(field);
        int outer = end;
        if (++depth > MOST_DEPTH) {
            throw new MalformedException("more than " + MOST_DEPTH + " nested messages", tagPosition);
        }
        end = position + length;
        return outer;
    }

    /**
     * Enters a nested message that was skipped before.
     *
     * @param at position of its length, which was read with the field
     */
    public int enterAt(int at, int field) throws MalformedException {
        rewindToLength(at);
        return enter(field);
    }

    /** Moves back to the length of a skipped field: {@link #length} reads it next. */
    public void rewindToLength(int at) {
        position = at;
        wireType = LENGTH;
    }

    /** Leaves a nested message, read to its end or not. */
    public void leave(int outer) {
        position = end;
        end = outer;
        depth--;
    }

    /** Moves back to a position of the same message. */
    public void rewind(int to) {
        position = to;
    }

    /** Skips the field that was read. */
    public void skip() throws MalformedException {
        switch (wireType) {
            case VARINT -> varint();
            case FIXED64 -> advance(8);
            case LENGTH -> advance(length(0));
            case FIXED32 -> advance(4);
            case GROUP -> skipGroup();
            default -> throw new MalformedException("wire type " + wireType, tagPosition);
        }
    }

    // Groups within groups are counted, not recursed into.
    private void skipGroup() throws MalformedException {
        int start = tagPosition;
        int open = 1;
        while (open > 0) {
            if (nextField() == 0) {
                throw new MalformedException("group without an end", start);
            }
            if (wireType == GROUP) {
                open++;
            } else if (wireType == GROUP_END) {
                open--;
            } else {
                skip();
            }
        }
    }

    private void advance(int count) throws MalformedException {
        need(count);
        position += count;
    }

    private void need(int count) throws MalformedException {
        if (end - position < count) {
            throw new MalformedException("truncated field", position);
        }
    }

    /** The field's text, which refers to the array; null when it is empty. */
    public UTF8String text(int field) throws MalformedException {
        int length = length(field);
        if (length == 0) {
            return null;
        }
        UTF8String text = Utf8.text(bytes, position, length);
        position += length;
        return text;
    }

    /** A copy of the field's bytes. */
    public byte[] copy(int field) throws MalformedException {
        int length = length(field);
        byte[] copy = Arrays.copyOfRange(bytes, position, position + length);
        position += length;
        return copy;
    }
}
