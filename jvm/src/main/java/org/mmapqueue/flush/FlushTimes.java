package org.mmapqueue.flush;

/**
 * Computes when the next flush is due, by System.nanoTime. A periodic flush is due one period after the time before which
 * everything published is durable. A requested flush is due after a rest as long as the last flush took: without the
 * rest, a fast producer would keep the flusher and the disk busy all the time, and each flush would cost as much as a
 * flush of twice the records. Not thread-safe.
 */
final class FlushTimes {
    private final long periodNanos;
    private long ended;
    /** Everything published before this time is durable. */
    private long allDurable;

    private long rest;

    /** The first period begins now. */
    FlushTimes(long periodNanos, long now) {
        this.periodNanos = periodNanos;
        this.ended = now;
        this.allDurable = now;
    }

    /**
     * Notes a flush.
     *
     * @param whole whether everything was fsynced; otherwise records published since the previous flush may be left
     */
    void flushed(long begin, long end, boolean whole) {
        allDurable = whole ? end : ended;
        ended = end;
        rest = Math.min(periodNanos, Math.max(0, end - begin));
    }

    /** Time until the next flush, in ns; 0 or less when it is due. */
    long left(boolean requested, long now) {
        long left = periodNanos - (now - allDurable);
        return requested ? Math.min(left, rest - (now - ended)) : left;
    }

    /** Whether the period is over; the flush must then fsync everything. */
    boolean isPeriodOver(long now) {
        return left(false, now) <= 0;
    }
}
