package org.mmapqueue.write;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.lookup.Log;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Drops records older than max_age for consumers that have not acked them. One thread at a time. */
final class AgeLimit implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(AgeLimit.class);
    /** Records are dropped late by at most 1 / this part of max_age. */
    private static final int PART = 10;

    private static final long MOST_MILLIS = 10_000;

    private final Path directory;
    private final long maxAgeMillis;
    private final Log log;
    private final RingSpace space;
    private final Runnable whenDropped;
    /** The failure that was logged last, so that it is logged once. */
    private String fault;

    /** @param maxAgeMillis 0 for no limit */
    AgeLimit(Path directory, long maxAgeMillis, Log log, RingSpace space, Runnable whenDropped) {
        this.directory = directory;
        this.maxAgeMillis = maxAgeMillis;
        this.log = log;
        this.space = space;
        this.whenDropped = whenDropped;
    }

    /** Time between two checks in ms; 0 without a limit. */
    long periodMillis() {
        return maxAgeMillis == 0 ? 0 : Math.max(1, Math.min(MOST_MILLIS, maxAgeMillis / PART));
    }

    @Override
    public void run() {
        String failure = null;
        StartAt oldest = StartAt.timestamp(Instant.ofEpochMilli(System.currentTimeMillis() - maxAgeMillis));
        try {
            long to;
            try {
                to = log.locate(oldest).position();
            } catch (CorruptException e) {
                failure = e.toString();
                to = space.endOfOlder(oldest.value());
            }
            if (space.dropBefore(to, "has not acked within max_age, " + maxAgeMillis + " ms")) {
                whenDropped.run();
            }
        } catch (IOException | RuntimeException | InternalError e) {
            failure = e.toString();
        }
        if (failure != null && !failure.equals(fault)) {
            LOG.warn("not all records older than max_age could be dropped from {}: {}", directory, failure);
        }
        fault = failure;
    }
}
