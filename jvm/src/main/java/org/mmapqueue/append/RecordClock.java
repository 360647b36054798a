package org.mmapqueue.append;

import java.util.function.LongSupplier;
import org.mmapqueue.concurrent.Ticker;

/**
 * The timestamps of records. They never decrease, whatever the system's clock does.
 *
 * <p>A look at the system clock costs half as much as the rest of a small push. So when pushes come densely, only every
 * {@value #PUSHES}th looks, and the first one after each tick of a {@link Ticker}. A timestamp may then be older than
 * its push by the time of {@value #PUSHES} pushes, 1 ms at most while the ticker gets the processor. Rare pushes look
 * each time, without ticks. Not thread-safe: the appender's lock guards it.
 */
final class RecordClock {
    /** Pushes in 1 ms from which on ticks are used: ticking costs about as much as this many looks. */
    static final int DENSE = 256;
    /** The most pushes that share a look, also without a tick: the ticker may not get the processor. */
    static final int PUSHES = 16;
    /** No count of ticks. */
    private static final long NONE = -2;

    private final LongSupplier systemMillis;
    private final Ticker ticker;
    private long last;
    /** The count of ticks at the last look. */
    private long asked = NONE;
    /** Pushes that share the last look, and those of them that are left. */
    private int granted = 1;

    private int left;

    private long thisMilli;
    private int pushesInMilli;
    private boolean dense;

    /**
     * A clock without a look yet.
     *
     * @param last no timestamp will be lower, in µs since 1970
     */
    RecordClock(long last, LongSupplier systemMillis, Ticker ticker) {
        this.last = last;
        this.systemMillis = systemMillis;
        this.ticker = ticker;
    }

    /** The timestamp of a record that is pushed now, in µs since 1970. */
    long micros() {
        if (--left >= 0 && asked == ticker.ticks()) {
            return last;
        }
        return ask();
    }

    /** The last timestamp. */
    long last() {
        return last;
    }

    private long ask() {
        long ticks = ticker.ticks(); // before the look: a tick in between counts
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
        asked = ticks;
        last = Math.max(last, millis * 1000);
        return last;
    }
}
