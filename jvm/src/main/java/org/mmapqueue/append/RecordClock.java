package org.mmapqueue.append;

import java.util.function.LongSupplier;
import org.mmapqueue.concurrent.Ticker;

/**
 * The timestamps of records. They never decrease, whatever the system's clock does.
 *
 * <p>To ask the system costs half as much as all the rest of a small push. So when many pushes come within a ms, only
 * every {@value #PUSHES}th of them asks, and the first one after each tick of a {@link Ticker}. Then a timestamp is
 * that of a moment before the push: as long before as the last {@value #PUSHES} pushes took, and never more than about
 * a ms, unless the process as a whole, or the ticker, gets no processor. Whoever pushes at rest asks each time, and no
 * tick is spent on it. Not thread-safe: the appender's claim guards it.
 */
final class RecordClock {
    /** From so many pushes in a ms on it is worth its while: ticking costs as much as asking so often. */
    static final int DENSE = 256;
    /** After so many pushes one asks, whatever the ticker says: it may not get the processor. */
    static final int PUSHES = 16;
    /** No count of ticks. */
    private static final long NONE = -2;

    private final LongSupplier systemMillis;
    private final Ticker ticker;
    private long last;
    /** The count of ticks at which the system was asked. */
    private long asked = NONE;
    /** How many pushes may do with what it said, and how many more may. */
    private int granted = 1;

    private int left;

    private long thisMilli;
    private int pushesInMilli;
    private boolean dense;

    /**
     * A clock that asks the system at first.
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
        long ticks = ticker.ticks(); // before: a tick that comes in between counts
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
