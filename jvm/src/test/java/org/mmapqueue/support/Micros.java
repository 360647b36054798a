package org.mmapqueue.support;

import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** Times from the numbers of records' timestamps. */
public final class Micros {
    private Micros() {}

    /** A time, µs since 1970. */
    public static Instant instant(long micros) {
        return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
    }
}
