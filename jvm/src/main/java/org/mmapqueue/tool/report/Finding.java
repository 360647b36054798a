package org.mmapqueue.tool.report;

import java.util.Locale;

/**
 * One thing that a tool has found in a queue directory.
 *
 * @param kind what it is
 * @param file the file, as a path
 * @param position the place in it, in bytes
 * @param detail what was found there, and what was expected
 * @param firstLost the offset (number) of the first record that is lost by it
 * @param lastLost that of the last one; below {@code firstLost} when none is lost
 * @param exact whether these two are known; if not, no more than these are lost
 */
public record Finding(
        Kind kind, String file, long position, String detail, long firstLost, long lastLost, boolean exact) {

    /** What a finding is. */
    public enum Kind {
        /** An unclean end: the next open cuts it. No damage. */
        TORN,
        /** What is stored is not what was written. */
        CORRUPT,
        /** A file that belongs to nothing. No damage. */
        ORPHANED
    }

    /** A finding that costs no record. */
    public static Finding of(Kind kind, Object file, long position, String detail) {
        return new Finding(kind, file.toString(), position, detail, 0, -1, true);
    }

    /** How many records are lost by it, or at most are. */
    public long lost() {
        return lastLost - firstLost + 1;
    }

    @Override
    public String toString() {
        String text = kind.toString().toLowerCase(Locale.ROOT) + ": " + file + ", byte " + position + ": " + detail;
        if (lost() <= 0) {
            return text;
        }
        return text + "; " + (exact ? "lost: " : "lost, at most: ")
                + (lost() == 1 ? "offset " + firstLost : "offsets " + firstLost + " to " + lastLost);
    }
}
