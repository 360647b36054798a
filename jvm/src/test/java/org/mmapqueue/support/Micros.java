package org.mmapqueue.support;

import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** Times by the number that a record's timestamp is. */
public final class Micros {
    private Micros() {}

    /** A time, µs since 1970. */
    public static Instant instant(long micros) {
        return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
    }
}
