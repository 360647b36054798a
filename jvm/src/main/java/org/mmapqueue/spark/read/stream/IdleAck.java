package org.mmapqueue.spark.read.stream;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.mmapqueue.spark.common.PartitionOffsets;

/**
 * When an idle query looks into its checkpoint for the commit of its last micro-batch: after a second without records, then with
 * pauses that double up to half a minute, until the micro-batch is acked. Not thread-safe.
 */
final class IdleAck {
    private static final long FIRST_PAUSE = TimeUnit.SECONDS.toNanos(1);
    private static final long LONGEST_PAUSE = TimeUnit.SECONDS.toNanos(30);

    private final LongSupplier nanos;
    /** The query's position; null until the first trigger. */
    private PartitionOffsets position;

    private long pause;
    private long due;
    private boolean isLooking;
    private boolean isDone;

    /**
     * Makes the object.
     *
     * @param nanos a clock as {@link System#nanoTime}
     */
    IdleAck(LongSupplier nanos) {
        this.nanos = nanos;
    }

    /** Notes the query's position at a trigger; at a new position, everything begins again. */
    void at(PartitionOffsets current) {
        if (!current.equals(position)) {
            position = current;
            pause = FIRST_PAUSE;
            due = nanos.getAsLong() + pause;
            isDone = false;
        }
    }

    /** Whether the query should look now. If so, the next pause begins. */
    boolean isDue() {
        long now = nanos.getAsLong();
        if (isDone || isLooking || now - due < 0) {
            return false;
        }
        pause = Math.min(2 * pause, LONGEST_PAUSE);
        due = now + pause;
        return true;
    }

    /** Notes that a look has begun; the next one is not due before its end. */
    void begin() {
        isLooking = true;
    }

    /** Notes the end of a look. */
    void end() {
        isLooking = false;
    }

    /** Whether the query is still at a position. */
    boolean isAt(PartitionOffsets expected) {
        return expected.equals(position);
    }

    /** Notes that the records before the position are acked. */
    void done() {
        isDone = true;
    }
}
