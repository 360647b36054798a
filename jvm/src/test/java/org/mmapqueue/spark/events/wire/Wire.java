package org.mmapqueue.spark.events.wire;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;

/** Messages for tests: fields one after another, in protobuf's wire format. */
public final class Wire {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    public static Wire message() {
        return new Wire();
    }

    public Wire varint(int field, long value) {
        raw((long) field << 3);
        raw(value);
        return this;
    }

    public Wire fixed64(int field, long value) {
        raw((long) field << 3 | 1);
        return little(value, 8);
    }

    public Wire float64(int field, double value) {
        return fixed64(field, Double.doubleToRawLongBits(value));
    }

    public Wire fixed32(int field, int value) {
        raw((long) field << 3 | 5);
        return little(value, 4);
    }

    public Wire bytes(int field, byte[] value) {
        raw((long) field << 3 | 2);
        raw(value.length);
        out.writeBytes(value);
        return this;
    }

    /** A packed field of varints. */
    public Wire packed(int field, long... values) {
        Wire all = message();
        for (long each : values) {
            all.raw(each);
        }
        return nested(field, all);
    }

    public Wire text(int field, String value) {
        return bytes(field, value.getBytes(UTF_8));
    }

    public Wire nested(int field, Wire message) {
        return bytes(field, message.toBytes());
    }

    /** An entry {1 key, 2 value} of texts. */
    public Wire pair(int field, String key, String value) {
        return nested(field, message().text(1, key).text(2, value));
    }

    /** A KeyValue of OpenTelemetry with a text. */
    public Wire attribute(int field, String key, String value) {
        return nested(field, message().text(1, key).nested(2, message().text(1, value)));
    }

    public byte[] toBytes() {
        return out.toByteArray();
    }

    private void raw(long value) {
        long rest = value;
        for (; (rest & ~0x7fL) != 0; rest >>>= 7) {
            out.write((int) (rest & 0x7f | 0x80));
        }
        out.write((int) rest);
    }

    private Wire little(long value, int count) {
        for (int i = 0; i < count; i++) {
            out.write((int) (value >>> 8 * i));
        }
        return this;
    }
}
