package org.mmapqueue.spark.common;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Durations in Spark's syntax, and invalid texts. */
class DurationsTest {
    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "250, 250",
        "250ms, 250",
        "250 MS, 250",
        "3 milliseconds, 3",
        "1 msec, 1",
        "1500us, 1",
        "90s, 90000",
        "1 second, 1000",
        "2 secs, 2000",
        "1.5 seconds, 1500",
        "5m, 300000",
        "5 min, 300000",
        "15 minutes, 900000",
        "1h, 3600000",
        "2 hrs, 7200000",
        "1 hour 30 minutes, 5400000",
        "1h30m, 5400000",
        "1d, 86400000",
        "interval 2 days, 172800000",
        "1 week, 604800000",
        "9223372036854775807, 9223372036854775807",
    })
    void durationsAreParsed(String text, long millis) {
        assertEquals(millis, Durations.parse(" " + text + " ").orElseThrow().toMillis());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "soon",
                "-1",
                "-5 minutes",
                "5 fortnights",
                "1 month",
                "5 minutes and",
                "minutes",
                "1.5",
                "9223372036854775808",
                "9999999999999999999 days",
                "1,5 s",
                "5 m 3"
            })
    void invalidDurationsAreRejected(String text) {
        assertEquals(Optional.empty(), Durations.parse(text));
    }

    @ParameterizedTest
    @CsvSource({"1us, 1000", "1.5 ms, 1500000"})
    void unitsBelowAMillisecondAreExact(String text, long nanos) {
        assertEquals(Duration.ofNanos(nanos), Durations.parse(text).orElseThrow());
    }
}
