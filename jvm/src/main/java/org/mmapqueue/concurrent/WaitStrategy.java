package org.mmapqueue.concurrent;

/** How a thread waits for a record or for room: the trade of processor time for latency. */
public enum WaitStrategy {
    /** Checks again and again, and occupies a whole core. */
    SPIN,
    /** Spins and yields for some microseconds, then sleeps until it is woken. */
    BACKOFF,
    /** Sleeps until it is woken. */
    PARK
}
