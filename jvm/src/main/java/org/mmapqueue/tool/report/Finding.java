package org.mmapqueue.tool.report;

import java.util.Locale;

/**
 * An irregularity in a queue directory. Immutable.
 *
 * @param kind what it is
 * @param file the path of the file
 * @param position the position in the file, in bytes
 * @param detail the value found there, and the expected one
 * @param firstLost the offset of the first lost record
 * @param lastLost the offset of the last lost record; below {@code firstLost} when no record is lost
 * @param exact whether these offsets are exact; if not, at most these records are lost
 */
public record Finding(
        Kind kind, String file, long position, String detail, long firstLost, long lastLost, boolean exact) {

    /** What an irregularity is. */
    public enum Kind {
        /** An unclean shutdown, which the next open recovers. No damage. */
        TORN,
        /** Damage: a stored value is not the written one. */
        CORRUPT,
        /** A file that no queue uses. No damage. */
        ORPHANED
    }

    /**
     * Makes a finding without lost records.
     *
     * @param kind what it is
     * @param file the path of the file
     * @param position the position in the file, in bytes
     * @param detail the value found there, and the expected one
     * @return the finding
     */
    public static Finding of(Kind kind, Object file, long position, String detail) {
        return new Finding(kind, file.toString(), position, detail, 0, -1, true);
    }

    /** {@return the number of lost records, or their upper bound} */
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
