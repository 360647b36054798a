package org.mmapqueue;

/**
 * A damaged part of the log that a reader with {@code on_damage = skip} has skipped.
 *
 * @param firstOffset the offset of the first record that was skipped
 * @param lastOffset the offset of the last one; below {@code firstOffset} if no record is lost, only a pad
 * @param file the segment file
 * @param position the byte in the file at which the damage was found
 * @param detail the value found there, and the expected one
 */
public record DamagedRange(long firstOffset, long lastOffset, String file, long position, String detail) {

    /** {@return the number of records that were skipped} */
    public long records() {
        return lastOffset - firstOffset + 1;
    }

    @Override
    public String toString() {
        String lost = records() == 0
                ? "no record is lost"
                : records() == 1
                        ? "record " + firstOffset + " is skipped"
                        : "records " + firstOffset + " to " + lastOffset + " are skipped";
        return detail + "; " + lost;
    }
}
