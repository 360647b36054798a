package org.mmapqueue.consume;

/**
 * Positions of records that only the archive has. They have none in the log, so a negative number stands for the offset.
 */
final class OlderPosition {
    private OlderPosition() {}

    /** The position after which a record begins. */
    static long before(long offset) {
        return -1 - offset;
    }

    /** Whether a position is one of these. */
    static boolean isOne(long position) {
        return position < 0;
    }
}
