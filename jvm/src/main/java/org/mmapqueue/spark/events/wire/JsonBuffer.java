package org.mmapqueue.spark.events.wire;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Writes JSON as UTF-8 bytes. The caller writes brackets, keys and values in order; this class adds commas.
 *
 * <p>An object never has a name twice: when it is closed, the values of a name that was written several times become
 * one array, at the place of the first. Lists of keys and values, which clients send, may repeat a key, and readers of
 * JSON take only one of the values, or refuse the object.
 *
 * <p>Numbers that JSON does not have (NaN, Infinity) are written as texts, and bytes as Base64, as in protobuf's JSON.
 * The buffer is reused. Not thread-safe.
 */
public final class JsonBuffer {
    private static final byte[] HEX = "0123456789abcdef".getBytes(UTF_8);
    private static final byte[] NULL = "null".getBytes(UTF_8);
    private static final byte[] TRUE = "true".getBytes(UTF_8);
    private static final byte[] FALSE = "false".getBytes(UTF_8);
    /** The escape of a byte: 0 for none, 'u' for four digits, else the letter. */
    private static final byte[] ESCAPES = new byte[128];
    /** A larger buffer is not kept for reuse. */
    private static final int MOST_KEPT = 1 << 20;

    static {
        Arrays.fill(ESCAPES, 0, 32, (byte) 'u');
        ESCAPES['\n'] = 'n';
        ESCAPES['\r'] = 'r';
        ESCAPES['\t'] = 't';
        ESCAPES['\b'] = 'b';
        ESCAPES['\f'] = 'f';
        ESCAPES['"'] = '"';
        ESCAPES['\\'] = '\\';
    }

    /** The numbers of a member: where its key begins, where its value begins, and the hash of the key. */
    private static final int MEMBER = 3;
    /** Objects with more members are searched for repeated names by a table. */
    private static final int FEW = 16;

    private byte[] bytes = new byte[1024];
    private int size;
    private boolean comma;
    /** The members of the objects that are open. */
    private int[] members = new int[16 * MEMBER];

    private int memberCount;
    /** The number of members before each bracket that is open. */
    private int[] opened = new int[16];

    private int depth;

    /** Clears the buffer. */
    void clear() {
        if (bytes.length > MOST_KEPT) {
            bytes = new byte[1024];
        }
        size = 0;
        comma = false;
        memberCount = 0;
        depth = 0;
    }

    /** Returns a copy of the text, and clears the buffer. */
    public UTF8String take() {
        UTF8String text = UTF8String.fromBytes(Arrays.copyOf(bytes, size));
        clear();
        return text;
    }

    /** Writes '{' or '['. */
    public JsonBuffer open(char bracket) {
        separate();
        append((byte) bracket);
        comma = false;
        if (depth == opened.length) {
            opened = Arrays.copyOf(opened, 2 * depth);
        }
        opened[depth++] = memberCount;
        return this;
    }

    /** Writes '{' or '[' if nothing was written yet. */
    public void openOnce(char bracket) {
        if (size == 0) {
            open(bracket);
        }
    }

    boolean isEmpty() {
        return size == 0;
    }

    /** Writes '}' or ']'. */
    public JsonBuffer close(char bracket) {
        int first = opened[--depth];
        if (memberCount - first > 1 && repeats(first)) {
            merge(first);
        }
        memberCount = first;
        append((byte) bracket);
        comma = true;
        return this;
    }

    public JsonBuffer key(String key) {
        byte[] encoded = key.getBytes(ISO_8859_1);
        return key(encoded, 0, encoded.length);
    }

    public JsonBuffer key(byte[] from, int offset, int length) {
        separate();
        int start = size;
        quoted(from, offset, length);
        int hash = 0;
        for (int i = start; i < size; i++) {
            hash = 31 * hash + bytes[i];
        }
        append((byte) ':');
        comma = false;
        int at = MEMBER * memberCount++;
        if (at == members.length) {
            members = Arrays.copyOf(members, 2 * at);
        }
        members[at] = start;
        members[at + 1] = size;
        members[at + 2] = hash;
        return this;
    }

    private boolean repeats(int first) {
        if (memberCount - first > FEW) {
            Set<ByteBuffer> names = new HashSet<>();
            for (int i = first; i < memberCount; i++) {
                if (!names.add(name(bytes, i))) {
                    return true;
                }
            }
            return false;
        }
        for (int i = first + 1; i < memberCount; i++) {
            for (int j = first; j < i; j++) {
                if (members[MEMBER * i + 2] == members[MEMBER * j + 2]
                        && name(bytes, i).equals(name(bytes, j))) {
                    return true;
                }
            }
        }
        return false;
    }

    // The key of a member with its quotes, which a colon follows.
    private ByteBuffer name(byte[] from, int member) {
        int start = members[MEMBER * member];
        return ByteBuffer.wrap(from, start, members[MEMBER * member + 1] - 1 - start);
    }

    // Writes the members of the innermost object again, each name once.
    private void merge(int first) {
        int start = members[MEMBER * first];
        byte[] from = Arrays.copyOf(bytes, size);
        Map<ByteBuffer, List<Integer>> byName = new LinkedHashMap<>();
        for (int i = first; i < memberCount; i++) {
            byName.computeIfAbsent(name(from, i), name -> new ArrayList<>()).add(i);
        }
        size = start;
        byName.forEach((name, values) -> {
            if (size > start) {
                append((byte) ',');
            }
            append(from, name.position(), name.remaining());
            append((byte) ':');
            if (values.size() > 1) {
                append((byte) '[');
            }
            for (int i = 0; i < values.size(); i++) {
                if (i > 0) {
                    append((byte) ',');
                }
                int member = values.get(i);
                int at = members[MEMBER * member + 1];
                // A comma precedes the next key.
                int end = member + 1 < memberCount ? members[MEMBER * (member + 1)] - 1 : from.length;
                append(from, at, end - at);
            }
            if (values.size() > 1) {
                append((byte) ']');
            }
        });
    }

    public JsonBuffer string(String text) {
        byte[] encoded = text.getBytes(UTF_8);
        return string(encoded, 0, encoded.length);
    }

    public JsonBuffer string(byte[] from, int offset, int length) {
        separate();
        quoted(from, offset, length);
        return this;
    }

    private void quoted(byte[] from, int offset, int length) {
        append((byte) '"');
        if (Utf8.isAscii(from, offset, length)) {
            escaped(from, offset, length);
        } else {
            byte[] valid = Utf8.valid(from, offset, length);
            if (valid == null) {
                escaped(from, offset, length);
            } else {
                escaped(valid, 0, valid.length);
            }
        }
        append((byte) '"');
    }

    private void escaped(byte[] from, int offset, int length) {
        reserve(length);
        int start = offset;
        int end = offset + length;
        for (int at = offset; at < end; at++) {
            byte each = from[at];
            if (each >= 0 && ESCAPES[each] != 0) {
                append(from, start, at - start);
                start = at + 1;
                append((byte) '\\');
                append(ESCAPES[each]);
                if (ESCAPES[each] == 'u') {
                    append(new byte[] {'0', '0', HEX[each >> 4], HEX[each & 15]});
                }
            }
        }
        append(from, start, end - start);
    }

    public JsonBuffer number(long value) {
        separate();
        if (value >= 0 && value < 10) {
            append((byte) ('0' + value));
        } else {
            append(Long.toString(value).getBytes(ISO_8859_1));
        }
        return this;
    }

    public JsonBuffer unsigned(long value) {
        separate();
        append(Long.toUnsignedString(value).getBytes(ISO_8859_1));
        return this;
    }

    public JsonBuffer number(double value) {
        if (Double.isNaN(value) || Double.isInfinite(value)) {
            return string(Double.toString(value));
        }
        separate();
        append(Double.toString(value).getBytes(ISO_8859_1));
        return this;
    }

    /** Writes an integral double without a fraction: google.protobuf.Value has only doubles. */
    public JsonBuffer plainNumber(double value) {
        return value == (long) value && Math.abs(value) < 1L << 53 ? number((long) value) : number(value);
    }

    public JsonBuffer bool(boolean value) {
        separate();
        append(value ? TRUE : FALSE);
        return this;
    }

    public JsonBuffer nothing() {
        separate();
        append(NULL);
        return this;
    }

    public JsonBuffer base64(byte[] from, int offset, int length) {
        separate();
        append((byte) '"');
        append(Base64.getEncoder()
                .encode(
                        offset == 0 && length == from.length
                                ? from
                                : Arrays.copyOfRange(from, offset, offset + length)));
        append((byte) '"');
        return this;
    }

    public JsonBuffer string(UTF8String text) {
        byte[] encoded = text.getBytes();
        return string(encoded, 0, encoded.length);
    }

    /** Writes a value that is JSON already. */
    public JsonBuffer json(UTF8String value) {
        separate();
        append(value.getBytes());
        return this;
    }

    private void separate() {
        if (comma) {
            append((byte) ',');
        }
        comma = true;
    }

    private void append(byte value) {
        reserve(1);
        bytes[size++] = value;
    }

    private void append(byte[] from) {
        append(from, 0, from.length);
    }

    private void append(byte[] from, int offset, int length) {
        reserve(length);
        System.arraycopy(from, offset, bytes, size, length);
        size += length;
    }

    private void reserve(int more) {
        if (bytes.length - size < more) {
            bytes = Arrays.copyOf(bytes, Math.max(Math.addExact(size, more), (int)
                    Math.min(2L * bytes.length, Integer.MAX_VALUE - 8)));
        }
    }
}
