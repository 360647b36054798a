package org.mmapqueue.spark.common;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.CsvSource;

/** Durations, and invalid texts: tests/queues/test_durations.py runs the same table through Python's parser. */
class DurationsTest {
    @ParameterizedTest
    @CsvFileSource(resources = "/durations.csv", numLinesToSkip = 1)
    void theStringsOfTheTable(String text, Long micros) {
        assertEquals(
                Optional.ofNullable(micros),
                Durations.parse(text).map(each -> each.getSeconds() * 1_000_000 + each.getNano() / 1000));
    }

    @ParameterizedTest
    @CsvSource({"1us, 1000", "1.5 ms, 1500000"})
    void unitsBelowAMillisecondAreExact(String text, long nanos) {
        assertEquals(Duration.ofNanos(nanos), Durations.parse(text).orElseThrow());
    }

    @Test
    void millisecondsAreRoundedUp() {
        Options options = new Options(Map.of("a", "1us", "b", "2ms", "c", "153722867280912m 55s 807ms 1us"));
        assertEquals(1, options.millis("a", Duration.ZERO));
        assertEquals(2, options.millis("b", Duration.ZERO));
        assertEquals(Long.MAX_VALUE, options.millis("c", Duration.ZERO));
        assertEquals(5, options.millis("d", Duration.ofMillis(5)));
    }
}
