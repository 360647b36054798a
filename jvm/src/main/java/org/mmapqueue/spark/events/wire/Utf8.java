package org.mmapqueue.spark.events.wire;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import org.apache.spark.unsafe.types.UTF8String;

/** Validates UTF-8: malformed bytes become U+FFFD, as clients may send any bytes. */
public final class Utf8 {
    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long HIGH_BITS = 0x8080808080808080L;
    private static final byte[] HEX = "0123456789abcdef".getBytes(UTF_8);

    private Utf8() {}

    /** The text; empty for null. */
    public static UTF8String orEmpty(UTF8String text) {
        return text == null ? UTF8String.EMPTY_UTF8 : text;
    }

    /** The text, which refers to the array if its bytes are well-formed. */
    public static UTF8String text(byte[] bytes, int offset, int length) {
        if (isAscii(bytes, offset, length)) {
            return UTF8String.fromBytes(bytes, offset, length);
        }
        byte[] valid = valid(bytes, offset, length);
        return valid == null ? UTF8String.fromBytes(bytes, offset, length) : UTF8String.fromBytes(valid);
    }

    static boolean isAscii(byte[] bytes, int offset, int length) {
        int at = offset;
        int end = offset + length;
        for (; at + 8 <= end; at += 8) {
            if (((long) LONGS.get(bytes, at) & HIGH_BITS) != 0) {
                return false;
            }
        }
        int rest = 0;
        for (; at < end; at++) {
            rest |= bytes[at];
        }
        return rest >= 0;
    }

    /** Null if the bytes are well-formed UTF-8, else a corrected copy. */
    static byte[] valid(byte[] bytes, int offset, int length) {
        return wellFormed(bytes, offset, offset + length)
                ? null
                : new String(bytes, offset, length, UTF_8).getBytes(UTF_8);
    }

    // The ranges of table 3-7 of the Unicode standard.
    private static boolean wellFormed(byte[] bytes, int start, int end) {
        int at = start;
        while (at < end) {
            int first = bytes[at] & 0xff;
            int more =
                    first < 0x80 ? 0 : first < 0xc2 ? -1 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : first < 0xf5 ? 3 : -1;
            if (more < 0 || end - at <= more) {
                return false;
            }
            if (more > 0) {
                int least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
                int most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
                int second = bytes[at + 1] & 0xff;
                if (second < least || second > most) {
                    return false;
                }
                for (int i = 2; i <= more; i++) {
                    if ((bytes[at + i] & 0xc0) != 0x80) {
                        return false;
                    }
                }
            }
            at += more + 1;
        }
        return true;
    }

    /** Bytes as hexadecimal digits, for identities of OpenTelemetry; null for no bytes. */
    public static UTF8String hex(byte[] bytes, int offset, int length) {
        if (length == 0) {
            return null;
        }
        byte[] digits = new byte[2 * length];
        for (int i = 0; i < length; i++) {
            digits[2 * i] = HEX[bytes[offset + i] >> 4 & 15];
            digits[2 * i + 1] = HEX[bytes[offset + i] & 15];
        }
        return UTF8String.fromBytes(digits);
    }
}
