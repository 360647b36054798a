package org.mmapqueue.metrics;

/**
 * Records and bytes of the log that a cursor passes, counted at each look. A cursor that was moved back since the look
 * before counts nothing. Not thread-safe: looks must come in the order in which the cursor was read.
 */
public final class Progress {
    private long offset;
    private long position;
    private long records;
    private long bytes;

    /**
     * A count of 0.
     *
     * @param offset the cursor's offset now
     * @param position its position now
     */
    public Progress(long offset, long position) {
        this.offset = offset;
        this.position = position;
    }

    /**
     * Counts what the cursor has passed since the last look.
     *
     * @param nowOffset the cursor's offset now
     * @param nowPosition its position now
     * @return this
     */
    public Progress at(long nowOffset, long nowPosition) {
        records += Math.max(0, nowOffset - offset);
        bytes += Math.max(0, nowPosition - position);
        offset = nowOffset;
        position = nowPosition;
        return this;
    }

    /** {@return the records that were passed} */
    public long records() {
        return records;
    }

    /** {@return the bytes that were passed} */
    public long bytes() {
        return bytes;
    }
}
