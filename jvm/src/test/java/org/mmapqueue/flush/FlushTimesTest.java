package org.mmapqueue.flush;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** With a clock that the test sets. */
@SuppressWarnings("ConstantOverflow") // the clock wraps around
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
        times.flushed(NOW, NOW + 300, true);
        assertEquals(300, times.left(true, NOW + 300));
        assertEquals(100, times.left(true, NOW + 500));
        assertEquals(0, times.left(true, NOW + 600));
        assertEquals(1000, times.left(false, NOW + 300));
    }

    @Test
    void noRestIsLongerThanThePeriod() {
        times.flushed(NOW, NOW + 5000, true);
        assertEquals(1000, times.left(true, NOW + 5000));
        assertEquals(0, times.left(true, NOW + 6000));
    }

    @Test
    void theRestIsThatOfTheLastFlushAlone() {
        times.flushed(NOW, NOW + 500, true);
        times.flushed(NOW + 1000, NOW + 1010, true);
        assertEquals(10, times.left(true, NOW + 1010));
    }

    @Test
    void whatAFlushHasLeftIsDueAPeriodAfterTheOneBefore() {
        times.flushed(NOW, NOW + 100, true);
        times.flushed(NOW + 600, NOW + 610, false);
        assertEquals(490, times.left(false, NOW + 610));
        times.flushed(NOW + 700, NOW + 710, false);
        assertEquals(900, times.left(false, NOW + 710));
        times.flushed(NOW + 800, NOW + 810, true);
        assertEquals(1000, times.left(false, NOW + 810));
    }

    @Test
    void aRequestDoesNotPutThePeriodOff() {
        times.flushed(NOW, NOW + 10, true);
        times.flushed(NOW + 300, NOW + 900, false);
        assertEquals(110, times.left(true, NOW + 900));
        assertFalse(times.isPeriodOver(NOW + 1009));
        assertTrue(times.isPeriodOver(NOW + 1010));
    }
}
