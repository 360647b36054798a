package org.mmapqueue.metrics;

/**
 * Counts the records and bytes that a cursor passes between calls. A cursor that was moved back since the previous call
 * counts nothing. Not thread-safe: calls must come in the order in which the cursor was read.
 */
public final class Progress {
    private long offset;
    private long position;
    private long records;
    private long bytes;

    /**
     * Starts at 0.
     *
     * @param offset the cursor's offset now
     * @param position the cursor's position now
     */
    public Progress(long offset, long position) {
        this.offset = offset;
        this.position = position;
    }

    /**
     * Adds what the cursor has passed since the last call.
     *
     * @param nowOffset the cursor's offset now
     * @param nowPosition the cursor's position now
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
