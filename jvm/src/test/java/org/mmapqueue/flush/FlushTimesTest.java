package org.mmapqueue.flush;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** With a clock that stands where the test puts it, which may be anywhere, as that of the JVM. */
class FlushTimesTest {
    private static final long NOW = Long.MAX_VALUE - 20;

    private final FlushTimes times = new FlushTimes(1000, NOW);

    @Test
    void theFirstRequestIsDueAtOnceAndThePeriodWithoutOne() {
        assertEquals(0, times.left(true, NOW));
        assertEquals(1000, times.left(false, NOW));
        assertEquals(1, times.left(false, NOW + 999));
        assertEquals(0, times.left(false, NOW + 1000));
    }

    @Test
    void aRequestWaitsForARestAsLongAsTheLastFlush() {
        times.flushed(NOW, NOW + 300);
        assertEquals(300, times.left(true, NOW + 300));
        assertEquals(100, times.left(true, NOW + 500));
        assertEquals(0, times.left(true, NOW + 600));
        assertEquals(1000, times.left(false, NOW + 300));
    }

    @Test
    void noRestIsLongerThanThePeriod() {
        times.flushed(NOW, NOW + 5000);
        assertEquals(1000, times.left(true, NOW + 5000));
        assertEquals(0, times.left(true, NOW + 6000));
    }

    @Test
    void theRestIsThatOfTheLastFlushAlone() {
        times.flushed(NOW, NOW + 500);
        times.flushed(NOW + 1000, NOW + 1010);
        assertEquals(10, times.left(true, NOW + 1010));
    }
}
