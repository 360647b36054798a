package org.mmapqueue.consume;

import java.io.IOException;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.mmapqueue.Message;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.log.DamageSkip;
import org.mmapqueue.log.LogReader;

/**
 * Redelivery: requeued records, expired leases, and records for the dead-letter queue. Not thread-safe: the consumer's
 * lock guards it.
 */
final class Redelivery {
    /** The delay in ms before a record is offered to the dead-letter queue again. */
    private static final long RETRY_MILLIS = 1000;

    private static final long NEVER = Long.MAX_VALUE;

    /** A requeued record, and the time in ms at which it is due; 0 for at once. */
    private record Delayed(long due, long offset) {}

    private final Window window;
    private final SparseIndex sparseIndex;
    private final LogReader reader;
    private final DamagePolicy damage;
    private final int maxAttempts;
    private final Leases leases;
    private final Queue<Delayed> delayQueue =
            new PriorityQueue<>(Comparator.comparingLong(Delayed::due).thenComparingLong(Delayed::offset));
    private final Queue<Long> deadLetters = new PriorityQueue<>();
    private final LongSupplier clock;
    private volatile boolean hasDeadLetters;

    /**
     * Starts with nothing to redeliver.
     *
     * @param reader a second reader, which moves in both directions
     * @param clock a monotonic clock, in ms
     */
    Redelivery(
            Window window,
            SparseIndex sparseIndex,
            LogReader reader,
            Settings.Delivery delivery,
            LongSupplier clock,
            DamagePolicy damage) {
        this.damage = damage;
        this.window = window;
        this.sparseIndex = sparseIndex;
        this.reader = reader;
        this.clock = clock;
        this.maxAttempts = delivery.maxAttempts() == 0 ? Integer.MAX_VALUE : delivery.maxAttempts();
        this.leases = new Leases(delivery.visibilityMillis());
    }

    void reset() {
        leases.clear();
        delayQueue.clear();
        deadLetters.clear();
        hasDeadLetters = false;
    }

    /** A monotonic clock in ms, from 0. */
    static LongSupplier clock() {
        long origin = System.nanoTime();
        return () -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - origin);
    }

    private long now() {
        return clock.getAsLong();
    }

    /** Whether the delay queue may hold records, due or delayed. */
    boolean hasRequeued() {
        return !delayQueue.isEmpty();
    }

    /** The offset of the requeued record that is due; -1 for none. */
    long due() {
        while (!delayQueue.isEmpty()) {
            Delayed next = delayQueue.peek();
            if (window.state(next.offset) == Window.REQUEUED && next.offset < window.next()) {
                return next.due == 0 || next.due <= now() ? next.offset : -1;
            }
            delayQueue.remove(); // it was acked since
        }
        return -1;
    }

    /** Time in ms until the next redelivery at the earliest; Long.MAX_VALUE if none is expected. */
    long quietMillis() {
        if (due() >= 0 || hasExpired()) {
            return 0;
        }
        long next = NEVER;
        if (!delayQueue.isEmpty()) {
            next = delayQueue.peek().due;
        }
        if (!leases.isEmpty()) {
            next = Math.min(next, leases.end());
        }
        return next == NEVER ? NEVER : Math.max(0, next - now());
    }

    /** Moves the reader to a record in the window, so that it can be read. */
    LogReader find(long offset) throws IOException {
        walkTo(offset);
        if (!reader.next()) {
            throw missing(offset);
        }
        return reader;
    }

    /**
     * Returns the position after which a record in the window begins.
     *
     * @throws CorruptException if a length on the way to it may be damaged, unless damage is skipped
     */
    long positionOf(long offset) throws IOException {
        try {
            walkTo(offset);
            return reader.position();
        } catch (CorruptException e) {
            reader.leave();
            return damage.positionOf(e, floor(offset), offset);
        } finally {
            reader.leave();
        }
    }

    // Checks each record on the way: a damaged length would shift the offsets of all records after it.
    private void walkTo(long offset) throws IOException {
        DamageSkip.Found from = floor(offset);
        reader.moveTo(from.position());
        for (long at = from.offset(); at < offset; at++) {
            if (!reader.next()) {
                throw missing(at);
            }
            reader.skipChecked(0);
            reader.advance();
        }
    }

    // The last record with a known position that is at or before this one.
    private DamageSkip.Found floor(long offset) {
        DamageSkip.Found resumed = damage.floor(offset);
        DamageSkip.Found indexed = sparseIndex.floor(offset);
        return resumed != null && resumed.offset() > indexed.offset() ? resumed : indexed;
    }

    private CorruptException missing(long offset) {
        return reader.corrupt(reader.segmentOffset(), "record " + offset + ", which has been popped, is missing");
    }

    /** Reads a requeued record as a pop would deliver it. */
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

    /**
     * Continues after a requeued record could not be read. If another record on the walk to it is damaged, the record
     * is found again, over the damage. If the record itself is damaged, it counts as acked, since no delivery can
     * succeed.
     *
     * @throws CorruptException the failure, if damage is not skipped
     */
    void passDamage(CorruptException failure, long offset) throws IOException {
        reader.leave();
        if (!damage.isFound(failure, floor(offset), offset, reader)) {
            damage.lost(failure, offset);
            window.mark(offset, Window.ACKED);
            window.advance(window.first()); // the record was not delivered, so no ack of it may come
        }
    }

    /** Notes that the record that was due has been popped. */
    void popped(long offset) {
        int before = window.attempts(offset);
        delayQueue.remove();
        window.redelivered(offset);
        if (window.attempts(offset) == before) {
            leases.cancel(offset, before); // at the highest count, attempts no longer distinguish deliveries
        }
        lease(offset);
    }

    /** Starts the lease of a popped record. */
    void lease(long offset) {
        if (!leases.isOff()) {
            leases.add(now(), offset, window.attempts(offset));
        }
    }

    /** Whether max_attempts allows no attempt beyond these. */
    boolean isSpent(int attempts) {
        return attempts >= maxAttempts;
    }

    /** Whether a lease has ended. */
    boolean hasExpired() {
        return !leases.isEmpty() && leases.end() <= now();
    }

    /** Requeues records with an expired lease. */
    void expire() {
        while (hasExpired()) {
            for (long offset = Math.max(leases.from(), window.first()); offset <= leases.to(); offset++) {
                // Otherwise the record was acked or redelivered since.
                if (window.state(offset) == Window.IN_FLIGHT && window.attempts(offset) == leases.attempts()) {
                    requeue(offset, 0);
                }
            }
            leases.remove();
        }
    }

    /** Requeues a record; returns whether its attempts are used up, so that it goes to the dead-letter queue. */
    boolean requeue(long offset, long delayMillis) {
        if (window.state(offset) != Window.IN_FLIGHT) {
            return false; // requeued or acked already
        }
        if (isSpent(window.attempts(offset))) {
            window.mark(offset, Window.DEAD);
            deadLetter(offset);
            return true;
        }
        window.mark(offset, Window.REQUEUED);
        delayQueue.add(new Delayed(delayMillis == 0 ? 0 : now() + delayMillis, offset));
        return false;
    }

    /** Requeues an in-flight record without counting the attempt. */
    void release(long offset) {
        if (window.state(offset) == Window.IN_FLIGHT) {
            leases.cancel(offset, window.attempts(offset)); // the next delivery will have the same number of attempts
            window.released(offset);
            delayQueue.add(new Delayed(0, offset));
        }
    }

    /** As {@link #release(long)}, unless the record was acked or redelivered since this delivery. */
    void release(long offset, int attempts) {
        if (window.contains(offset) && window.attempts(offset) == attempts) {
            release(offset);
        }
    }

    /** Adds a record marked {@link Window#DEAD} to those for the dead-letter queue. */
    void deadLetter(long offset) {
        deadLetters.add(offset);
        hasDeadLetters = true;
    }

    /** Requeues all in-flight records; returns whether some go to the dead-letter queue. */
    boolean requeueAll() {
        boolean deadLetter = false;
        for (long offset = window.first(); offset < window.next(); offset++) {
            deadLetter |= requeue(offset, 0);
        }
        return deadLetter;
    }

    /** Whether a record waits for the dead-letter queue. Any thread. */
    boolean hasDeadLetters() {
        return hasDeadLetters;
    }

    /**
     * Returns the next record for the dead-letter queue; null for none.
     *
     * @throws CorruptException if it is damaged, unless damage is skipped; the record is requeued
     */
    Message nextDeadLetter() throws IOException {
        while (!deadLetters.isEmpty()) {
            long offset = deadLetters.remove();
            if (!isDead(offset)) {
                continue;
            }
            boolean done = false;
            try {
                Message dead = read(offset);
                done = true;
                return dead;
            } catch (CorruptException e) {
                passDamage(e, offset);
            } finally {
                if (!done) {
                    retryDeadLetter(offset);
                }
            }
        }
        hasDeadLetters = false;
        return null;
    }

    /** Requeues a record that the dead-letter queue did not take; returns false if it was acked since. */
    boolean retryDeadLetter(long offset) {
        boolean isDead = isDead(offset);
        if (isDead) {
            window.mark(offset, Window.REQUEUED);
            delayQueue.add(new Delayed(now() + RETRY_MILLIS, offset));
        }
        return isDead;
    }

    /** Whether a record waits for the dead-letter queue, or is on its way there. */
    boolean isDead(long offset) {
        return window.contains(offset) && window.state(offset) == Window.DEAD;
    }

    /** Unpins the segment of the second reader, which holds none between calls. */
    void leave() {
        reader.leave();
    }
}
