package org.mmapqueue.concurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.support.Waiting;

/** The ticker counts while ticks are requested, and only then. No assertion depends on the speed of counting. */
class TickerTest {
    private static final long LONG_NANOS = 10_000_000_000L;

    /** The first count that there is from now on. */
    private static long wantedUntilItTicks(Ticker ticker) {
        long[] seen = new long[1];
        Waiting.until("it ticks", () -> {
            ticker.want();
            seen[0] = ticker.ticks();
            return seen[0] != Ticker.STOPPED;
        });
        return seen[0];
    }

    @Test
    void isStoppedUntilItIsWanted() {
        assertEquals(Ticker.STOPPED, new Ticker(LONG_NANOS).ticks());
    }

    @Test
    void goesOnAsLongAsSomebodyWantsIt() {
        Ticker ticker = new Ticker(LONG_NANOS);
        long first = wantedUntilItTicks(ticker);
        Waiting.until("the count has changed", () -> {
            ticker.want();
            return ticker.ticks() > first + 50;
        });
    }

    @ParameterizedTest
    @ValueSource(longs = {0, LONG_NANOS})
    void stopsWhenNobodyWantsItAndNoCountComesBack(long lingerNanos) {
        Ticker ticker = new Ticker(lingerNanos);
        long highest = 0;
        for (int i = 0; i < 5; i++) {
            long first = wantedUntilItTicks(ticker);
            assertTrue(first > highest, first + " after " + highest);
            long[] last = {first};
            Waiting.until("it stops", () -> {
                long now = ticker.ticks();
                last[0] = Math.max(last[0], now);
                return now == Ticker.STOPPED;
            });
            highest = last[0];
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {0, LONG_NANOS})
    void manyThreadsMayWantItAtOnce(long lingerNanos) throws Exception {
        Ticker ticker = new Ticker(lingerNanos);
        List<Waiting.Running<Long>> all = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            all.add(Waiting.start(() -> {
                for (int round = 0; round < 5; round++) {
                    wantedUntilItTicks(ticker);
                    Waiting.until("it stops", () -> ticker.ticks() == Ticker.STOPPED);
                }
                return wantedUntilItTicks(ticker);
            }));
        }
        for (Waiting.Running<Long> each : all) {
            assertTrue(each.result() > 0);
        }
    }
}
