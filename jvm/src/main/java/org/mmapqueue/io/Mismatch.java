package org.mmapqueue.io;

/**
 * What is wrong at a place of a file.
 *
 * @param at bytes from the file's beginning
 * @param found what is there
 * @param expected what should be there
 */
public record Mismatch(long at, String found, String expected) {

    @Override
    public String toString() {
        return "found " + found + ", expected " + expected;
    }

    /** A number as people compare it. */
    public static String hex(long value) {
        return "0x" + Long.toHexString(value);
    }

    /** A checksum as people compare it. */
    public static String hex(int value) {
        return "0x" + Integer.toHexString(value);
    }
}
