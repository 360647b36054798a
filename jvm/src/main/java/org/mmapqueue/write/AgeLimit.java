package org.mmapqueue.write;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.GuardedLog;
import org.mmapqueue.lookup.Log;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Drops records older than max_age for consumers that have not acked them. One thread at a time.
 *
 * <p>A record's timestamp is of the system's clock, which may be set ahead, also after the record was pushed. So a record
 * is dropped only if it is as old by a monotonic clock, too, as far as this process can know: the time since it was in
 * the log, or for records from before the open, the time since the open and their age at the open.
 */
final class AgeLimit implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(AgeLimit.class);
    /** Records are checked, and noted as seen, each 1 / this part of max_age; they are dropped up to two parts late. */
    private static final int PART = 20;
    /** A clock that gains as much between two checks has been set, or the machine was suspended. */
    private static final long JUMP_MILLIS = 5_000;

    private static final long MOST_MILLIS = 10_000;

    private final Path directory;
    private final long maxAgeMillis;
    private final Log log;
    private final RingSpace space;
    private final InstantSource clock;
    private final LongSupplier nanos;
    private final Runnable whenDropped;
    private final SeenLog seen;
    /** The log end, and both clocks, at the open. */
    private final long openEnd;

    private final long openMillis;
    private final long openNanos;
    /** How much the system's clock was ahead of the monotonic one at the last check, in ms since the open. */
    private long gainedMillis;
    /** The failure that was logged last, so that it is logged once. */
    private String fault;

    /**
     * The time, in two ways.
     *
     * @param wall the system's clock, by which records have timestamps
     * @param nanos a monotonic clock
     */
    record Clocks(InstantSource wall, LongSupplier nanos) {}

    /**
     * @param maxAgeMillis 0 for no limit
     */
    AgeLimit(Path directory, long maxAgeMillis, Log log, RingSpace space, Clocks clocks, Runnable whenDropped) {
        this.directory = directory;
        this.maxAgeMillis = maxAgeMillis;
        this.log = log;
        this.space = space;
        this.clock = clocks.wall;
        this.nanos = clocks.nanos;
        this.whenDropped = whenDropped;
        this.openEnd = log.end();
        this.openMillis = clock.millis();
        this.openNanos = nanos.getAsLong();
        this.seen = new SeenLog(TimeUnit.MILLISECONDS.toNanos(maxAgeMillis), openNanos, openEnd);
    }

    /** Time between two checks in ms; 0 without a limit. */
    long periodMillis() {
        return maxAgeMillis == 0 ? 0 : Math.max(1, Math.min(MOST_MILLIS, maxAgeMillis / PART));
    }

    @Override
    public void run() {
        String failure = null;
        long now = nanos.getAsLong();
        long millis = clock.millis();
        seen.note(now, log.end());
        warnOfJump(millis, now);
        long most = seen.endBefore(now);
        if (most < openEnd) {
            // Open for less than max_age: what was pushed since is younger, and of the rest the age at the open is
            // known.
            most = openEnd;
            millis = Math.min(millis, openMillis + sinceOpen(now));
        }
        StartAt oldest = StartAt.timestamp(Instant.ofEpochMilli(millis - maxAgeMillis));
        try {
            long to;
            try {
                to = log.locate(oldest).position();
            } catch (CorruptException e) {
                failure = e.toString();
                to = space.endOfOlder(oldest.value());
            }
            if (space.dropBefore(Math.min(to, most), "has not acked within max_age, " + maxAgeMillis + " ms")) {
                whenDropped.run();
            }
        } catch (IOException | RuntimeException | InternalError e) {
            failure = e.toString();
        }
        String why = failure;
        if (why != null && !why.equals(fault)) {
            GuardedLog.log(
                    () -> LOG.warn("not all records older than max_age could be dropped from {}: {}", directory, why));
        }
        fault = why;
    }

    private long sinceOpen(long now) {
        return TimeUnit.NANOSECONDS.toMillis(now - openNanos);
    }

    private void warnOfJump(long millis, long now) {
        long gained = millis - openMillis - sinceOpen(now);
        if (gained - gainedMillis > JUMP_MILLIS) {
            long jump = gained - gainedMillis;
            GuardedLog.log(() -> LOG.warn(
                    "the clock was set {} ms ahead, or the machine was suspended: max_age does not count that time for"
                            + " records that {} has seen before",
                    jump,
                    directory));
        }
        gainedMillis = gained;
    }
}
