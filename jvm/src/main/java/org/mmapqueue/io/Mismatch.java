package org.mmapqueue.io;

/**
 * A difference between the bytes found in a file and those expected.
 *
 * @param at byte position in the file
 */
public record Mismatch(long at, String found, String expected) {

    @Override
    public String toString() {
        return "found " + found + ", expected " + expected;
    }

    /** Formats a word as hexadecimal for messages. */
    public static String hex(long value) {
        return "0x" + Long.toHexString(value);
    }

    /** Formats a checksum as hexadecimal for messages. */
    public static String hex(int value) {
        return "0x" + Integer.toHexString(value);
    }
}
