package org.mmapqueue.flush;

/**
 * When the next flush is due, by System.nanoTime: a period after the last one has ended, or, on request, as soon as a
 * rest is over that is as long as the last one took. Without the rest a fast producer would keep the flusher, and with
 * it a processor and the disk, busy for good, and each flush would be as dear as one that covers twice as much. One
 * thread.
 */
final class FlushTimes {
    private final long periodNanos;
    private long ended;
    /** What was published before is fsynced, and all of it was fsynced when this was stored. */
    private long settled;

    private long rest;

    /** The first period begins now. */
    FlushTimes(long periodNanos, long now) {
        this.periodNanos = periodNanos;
        this.ended = now;
        this.settled = now;
    }

    /**
     * A flush has begun and ended.
     *
     * @param whole whether nothing was left; else what was published since the one before has begun may be
     */
    void flushed(long begin, long end, boolean whole) {
        settled = whole ? end : ended;
        ended = end;
        rest = Math.min(periodNanos, Math.max(0, end - begin));
    }

    /** How long to wait for the next flush, in ns; 0 or less when it is due. */
    long left(boolean requested, long now) {
        long left = periodNanos - (now - settled);
        return requested ? Math.min(left, rest - (now - ended)) : left;
    }

    /** Whether the period is over: then nothing is to be left. */
    boolean isPeriodOver(long now) {
        return left(false, now) <= 0;
    }
}
