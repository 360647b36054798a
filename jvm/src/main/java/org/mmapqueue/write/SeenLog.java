package org.mmapqueue.write;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * How far the log reached at past moments of a monotonic clock, while the queue is open: a record is at least as old as
 * the time since it was first in the log. Takes a fixed amount of memory. One thread at a time.
 */
final class SeenLog {
    /** The most moments that are remembered; two of them are at least a period / this apart. */
    private static final int PARTS = 512;

    /** The log end at a moment, in ns. */
    private record Seen(long nanos, long end) {}

    private final long periodNanos;
    private final Deque<Seen> seen = new ArrayDeque<>();

    /** Remembers the log end of the last {@code periodNanos}, from now on. */
    SeenLog(long periodNanos, long nanos, long end) {
        this.periodNanos = periodNanos;
        seen.add(new Seen(nanos, end));
    }

    /** Notes the log end at a moment that is not before the last one. */
    void note(long nanos, long end) {
        if (nanos - seen.getLast().nanos >= periodNanos / PARTS) {
            seen.add(new Seen(nanos, end));
        }
    }

    /** The log end one period before a moment; 0 if nothing was seen then. */
    long endBefore(long nanos) {
        long end = 0;
        while (!seen.isEmpty() && nanos - seen.getFirst().nanos >= periodNanos) {
            Seen old = seen.removeFirst();
            end = old.end;
            if (seen.isEmpty() || nanos - seen.getFirst().nanos < periodNanos) {
                seen.addFirst(old); // the latest one that is old enough stays
                return end;
            }
        }
        return end;
    }
}
