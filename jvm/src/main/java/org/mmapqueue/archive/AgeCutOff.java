package org.mmapqueue.archive;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The time before which records have reached an age. Timestamps are of the system's clock, which may be set ahead: that
 * makes no record older. Until the age has passed since, the time counts that a monotonic clock has measured; after it,
 * all records from before the change are old enough. Not thread-safe.
 */
final class AgeCutOff {
    private static final Logger LOG = LoggerFactory.getLogger(AgeCutOff.class);
    /** A clock that is ahead by more has been set, or the machine was suspended. */
    private static final Duration JUMP = Duration.ofSeconds(5);

    private final Duration age;
    private final InstantSource clock;
    private final LongSupplier nanos;
    /** Both clocks at the same moment. */
    private Instant since;

    private long sinceNanos;
    /** How much the clock had been set ahead since then, when that was noticed. */
    private Duration ahead = Duration.ZERO;

    private long aheadNanos;

    /**
     * @param clock the system's clock
     * @param nanos a monotonic clock
     */
    AgeCutOff(Duration age, InstantSource clock, LongSupplier nanos) {
        this.age = age;
        this.clock = clock;
        this.nanos = nanos;
        this.since = clock.instant();
        this.sinceNanos = nanos.getAsLong();
    }

    /** The time now; records from before it have the age. */
    Instant time() {
        Instant now = clock.instant();
        long nowNanos = nanos.getAsLong();
        Instant measured = since.plusNanos(nowNanos - sinceNanos);
        Duration more = Duration.between(measured, now).minus(ahead);
        if (more.compareTo(JUMP) > 0) {
            LOG.warn(
                    "the clock was set {} s ahead, or the machine was suspended: for {} that time makes no record of an"
                            + " archive old enough to be deleted",
                    more.toSeconds(),
                    age);
            ahead = ahead.plus(more);
            aheadNanos = nowNanos;
        }
        if (!ahead.isZero() && Duration.ofNanos(nowNanos - aheadNanos).compareTo(age) >= 0) {
            since = now;
            sinceNanos = nowNanos;
            ahead = Duration.ZERO;
            measured = now;
        }
        return (now.isBefore(measured) ? now : measured).minus(age);
    }
}
