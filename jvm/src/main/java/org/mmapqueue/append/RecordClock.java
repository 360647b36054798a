package org.mmapqueue.append;

import java.util.function.LongSupplier;
import org.mmapqueue.concurrent.Ticker;

/**
 * The timestamps of records. They never decrease, whatever the system's clock does.
 *
 * <p>Reading the system clock costs half as much as the rest of a small push. So when pushes are dense, only every
 * {@value #PUSHES}th push reads it, and the first one after each tick of a {@link Ticker}. A timestamp may then be
 * older than its push by the time of {@value #PUSHES} pushes, 1 ms at most while the ticker gets the processor. Sparse
 * pushes read the clock each time, without ticks. Not thread-safe: the appender's lock guards it.
 */
final class RecordClock {
    /** Pushes in 1 ms from which ticks are used: the ticker costs about as much as this many clock reads. */
    static final int DENSE = 256;
    /** The maximum number of pushes that share a clock read, also without a tick: the ticker may not get the processor. */
    static final int PUSHES = 16;
    /** No count of ticks. */
    private static final long NONE = -2;

    private final LongSupplier systemMillis;
    private final Ticker ticker;
    private long last;
    /** The count of ticks at the last clock read. */
    private long ticksAtRead = NONE;
    /** Number of pushes that share the last clock read, and how many of them are left. */
    private int granted = 1;

    private int left;

    private long thisMilli;
    private int pushesInMilli;
    private boolean dense;

    /**
     * Starts without a clock read.
     *
     * @param last lower bound of all timestamps, in µs since 1970
     */
    RecordClock(long last, LongSupplier systemMillis, Ticker ticker) {
        this.last = last;
        this.systemMillis = systemMillis;
        this.ticker = ticker;
    }

    /** The timestamp of a record that is pushed now, in µs since 1970. */
    long micros() {
        if (--left >= 0 && ticksAtRead == ticker.ticks()) {
            return last;
        }
        return readClock();
    }

    /** The last timestamp, in µs since 1970. */
    long last() {
        return last;
    }

    private long readClock() {
        long ticks = ticker.ticks(); // loaded first: a tick between both loads is not missed
        long millis = systemMillis.getAsLong();
        pushesInMilli += granted - 1 - left;
        boolean many = pushesInMilli >= DENSE;
        if (millis == thisMilli) {
            dense |= many;
        } else {
            dense = many && millis == thisMilli + 1;
            thisMilli = millis;
            pushesInMilli = 0;
        }
        if (dense) {
            ticker.want();
        }
        granted = dense && ticks != Ticker.STOPPED ? PUSHES : 1;
        left = granted - 1;
        ticksAtRead = ticks;
        last = Math.max(last, millis * 1000);
        return last;
    }
}
