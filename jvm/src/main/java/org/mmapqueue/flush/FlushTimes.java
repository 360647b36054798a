package org.mmapqueue.flush;

/**
 * When the next flush is due, by System.nanoTime: a period after the end of the last one; on request, after a rest as
 * long as the last one took. Without the rest a fast producer would keep the flusher and the disk busy all the time,
 * and each flush would cost as much as one of twice the records. One thread.
 */
final class FlushTimes {
    private final long periodNanos;
    private long ended;
    /** Everything published before this time is fsynced. */
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
     * @param whole whether it left nothing; else records published since the flush before may be left
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

    /** Whether the period is over: the flush then leaves nothing. */
    boolean isPeriodOver(long now) {
        return left(false, now) <= 0;
    }
}
