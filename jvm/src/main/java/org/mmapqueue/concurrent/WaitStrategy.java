package org.mmapqueue.concurrent;

/** How a thread waits for a record or for room: what it gives for waking early. */
public enum WaitStrategy {
    /** Looks again and again, and takes a whole core for it. */
    SPIN,
    /** Spins and yields for some microseconds, then sleeps until it is woken. */
    BACKOFF,
    /** Sleeps until it is woken. */
    PARK
}
