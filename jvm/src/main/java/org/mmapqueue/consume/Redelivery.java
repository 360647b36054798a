package org.mmapqueue.consume;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.mmapqueue.Message;
import org.mmapqueue.config.Settings;
import org.mmapqueue.log.LogReader;

/**
 * What a consumer pops again: records that were given back, and those whose time is over. Not thread-safe: the
 * consumer's claim guards it.
 */
final class Redelivery {
    /** When the dead-letter queue does not take a record, it is tried again after so long. */
    private static final long RETRY_MILLIS = 1000;

    private static final long NEVER = Long.MAX_VALUE;

    private final Window window;
    private final SparseIndex sparseIndex;
    private final LogReader reader;
    private final int maxAttempts;
    private final Leases leases;
    private final DelayQueue returned = new DelayQueue();
    private final DelayQueue dying = new DelayQueue();
    private final LongSupplier clock;
    private volatile boolean anyDying;

    /**
     * Nothing to pop again.
     *
     * @param reader a second one: it goes to and fro
     * @param clock ms since any moment; never goes back
     */
    Redelivery(
            Window window, SparseIndex sparseIndex, LogReader reader, Settings.Delivery delivery, LongSupplier clock) {
        this.window = window;
        this.sparseIndex = sparseIndex;
        this.reader = reader;
        this.clock = clock;
        this.maxAttempts = delivery.maxAttempts() == 0 ? Integer.MAX_VALUE : delivery.maxAttempts();
        this.leases = new Leases(delivery.visibilityMillis());
    }

    void reset() {
        leases.clear();
        returned.clear();
        dying.clear();
        anyDying = false;
    }

    /** A clock that begins at 0 and that nobody can set. */
    static LongSupplier clock() {
        long origin = System.nanoTime();
        return () -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - origin);
    }

    private long now() {
        return clock.getAsLong();
    }

    /** Whether there may be records to pop again, now or later. */
    boolean hasReturned() {
        return !returned.isEmpty();
    }

    /** The record that is to be popped again now, or -1. */
    long due() {
        while (!returned.isEmpty()) {
            long offset = returned.offset();
            if (window.state(offset) == Window.RETURNED && offset < window.next()) {
                return returned.time() == 0 || returned.time() <= now() ? offset : -1;
            }
            returned.remove(); // acked meanwhile
        }
        return -1;
    }

    /** In how many ms at the earliest there will be something to pop again; Long.MAX_VALUE when nothing is expected. */
    long quietMillis() {
        long next = NEVER;
        if (due() >= 0 || hasExpired()) {
            return 0;
        }
        if (!returned.isEmpty()) {
            next = returned.time();
        }
        if (!leases.isEmpty()) {
            next = Math.min(next, leases.end());
        }
        return next == NEVER ? NEVER : Math.max(0, next - now());
    }

    /** Goes to a record in the window: its length and timestamp are set, it can be read. */
    LogReader find(long offset) throws IOException {
        walkTo(offset);
        if (!reader.next()) {
            throw reader.corrupt(
                    reader.segmentOffset(), "record " + offset + ", which has been popped, is not there any more");
        }
        return reader;
    }

    /** The position behind which a record in the window begins. */
    long positionOf(long offset) throws IOException {
        try {
            walkTo(offset);
            return reader.position();
        } finally {
            reader.leave();
        }
    }

    private void walkTo(long offset) throws IOException {
        reader.moveTo(sparseIndex.floorPosition(offset));
        for (long at = sparseIndex.floorOffset(offset); at < offset; at++) {
            reader.next();
            reader.skip();
            reader.advance();
        }
    }

    /** A record that was given back, as a pop would find it. */
    Message read(long offset) throws IOException {
        try {
            find(offset);
            byte[] data = new byte[reader.length()];
            reader.read(data, 0);
            return new Message(offset, reader.timestamp(), data, window.attempts(offset) + 1);
        } finally {
            reader.leave();
        }
    }

    /** The record that was due has been popped. */
    void popped(long offset) {
        int before = window.attempts(offset);
        returned.remove();
        window.poppedAgain(offset);
        if (window.attempts(offset) == before) {
            leases.cancel(offset, before); // attempts are not counted any further, and tell no deliveries apart
        }
        lease(offset);
    }

    /** A record has been popped, and is somebody's for a while. */
    void lease(long offset) {
        if (!leases.isOff()) {
            leases.add(now(), offset, window.attempts(offset));
        }
    }

    /** Whether a record that has been popped so often is not to be popped again. */
    boolean isSpent(int attempts) {
        return attempts >= maxAttempts;
    }

    /** The second reader holds no segment between calls. */
    void rest() {
        reader.leave();
    }

    /** Whether somebody's time with a record is over. */
    boolean hasExpired() {
        return !leases.isEmpty() && leases.end() <= now();
    }

    /** Takes back what somebody has had for too long. */
    void expire() {
        while (hasExpired()) {
            for (long offset = Math.max(leases.from(), window.first()); offset <= leases.to(); offset++) {
                // Otherwise it has been dealt with, or popped again since.
                if (window.state(offset) == Window.OUT && window.attempts(offset) == leases.attempts()) {
                    giveBack(offset, 0);
                }
            }
            leases.remove();
        }
    }

    /** Takes a record back; true when it has been popped for the last time and goes to the dead-letter queue. */
    boolean giveBack(long offset, long delayMillis) {
        if (window.state(offset) != Window.OUT) {
            return false; // that has been done
        }
        if (isSpent(window.attempts(offset))) {
            window.mark(offset, Window.DYING);
            dies(offset);
            return true;
        }
        window.mark(offset, Window.RETURNED);
        returned.add(delayMillis == 0 ? 0 : now() + delayMillis, offset);
        return false;
    }

    /** Takes a record back that nobody has got, though it was popped. */
    void unpop(long offset) {
        if (window.state(offset) == Window.OUT) {
            leases.cancel(offset, window.attempts(offset)); // the next delivery will be of as many attempts
            window.unpopped(offset);
            returned.add(0, offset);
        }
    }

    /** As {@link #unpop}, of one delivery: nothing when the record was acked or delivered again since. */
    void release(long offset, int attempts) {
        if (window.contains(offset) && window.attempts(offset) == attempts) {
            unpop(offset);
        }
    }

    /** A record in the window, marked so, goes to the dead-letter queue. */
    void dies(long offset) {
        dying.add(0, offset);
        anyDying = true;
    }

    /** Takes everything back that is out; true when some of that goes to the dead-letter queue. */
    boolean giveBackAll() {
        boolean dies = false;
        for (long offset = window.first(); offset < window.next(); offset++) {
            dies |= giveBack(offset, 0);
        }
        return dies;
    }

    /** Whether some record goes to the dead-letter queue; any thread. */
    boolean anyDying() {
        return anyDying;
    }

    /** The next record that goes to the dead-letter queue, or null. */
    Message nextDying() throws IOException {
        while (!dying.isEmpty()) {
            long offset = dying.offset();
            dying.remove();
            if (window.contains(offset) && window.state(offset) == Window.DYING) {
                return read(offset);
            }
        }
        anyDying = false;
        return null;
    }

    /** The dead-letter queue did not take it; false when it has been acked meanwhile. */
    boolean survives(long offset) {
        boolean isDying = window.contains(offset) && window.state(offset) == Window.DYING;
        if (isDying) {
            window.mark(offset, Window.RETURNED);
            returned.add(now() + RETRY_MILLIS, offset);
        }
        return isDying;
    }

    void leave() {
        reader.leave();
    }
}
