package org.mmapqueue.append;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.concurrent.Ticker;
import org.mmapqueue.support.QuickDirectory;

/** Which pushes read the system clock, and the timestamps of the others. The test sets time and ticks. */
class RecordClockTest {
    private static final long START = 1_000_000;
    private static final int PUSHED = 100_000;
    private static final int MANY = 2 * RecordClock.DENSE;
    /** More than the system's clock is set by during a test, in µs. */
    private static final long SET_BY = 1_000_000;

    @TempDir(factory = QuickDirectory.class)
    Path directory;

    private final SteppedTicker ticker = new SteppedTicker();
    private long millis = START;
    private int asked;
    private final RecordClock clock = clockFrom(0);

    private static final class SteppedTicker extends Ticker {
        private long now = STOPPED;
        private boolean isWanted;

        SteppedTicker() {
            super(0);
        }

        @Override
        public long ticks() {
            return now;
        }

        @Override
        public void want() {
            isWanted = true;
        }
    }

    private RecordClock clockFrom(long last) {
        return new RecordClock(
                last,
                () -> {
                    asked++;
                    return millis;
                },
                ticker);
    }

    /** Pushes within this ms, as it is; how many of them have asked. */
    private int push(int count) {
        int before = asked;
        for (int i = 0; i < count; i++) {
            assertEquals(millis * 1000, clock.micros());
        }
        return asked - before;
    }

    @Test
    void whoPushesAtRestAsksEachTimeAndNeedsNoTicks() {
        for (int i = 0; i < 100; i++) {
            assertEquals(RecordClock.DENSE - 2, push(RecordClock.DENSE - 2));
            millis++;
        }
        assertFalse(ticker.isWanted);
    }

    @Test
    void amongManyPushesOfAMilliOneOfSomeAsks() {
        push(MANY);
        assertTrue(ticker.isWanted);
        assertEquals(MANY, push(MANY), "nobody ticks yet");
        ticker.now = 0;
        push(1);
        assertEquals(10, push(10 * RecordClock.PUSHES));
        assertEquals(START * 1000, clock.last());
    }

    @Test
    void whatWasSaidCountsForSomePushesAtTheMost() {
        ticker.now = 0;
        push(MANY);
        while (push(1) == 0) {
            // until the next push may share this look
        }
        long old = millis * 1000;
        millis += 5;
        for (int i = 1; i < RecordClock.PUSHES; i++) {
            assertEquals(old, clock.micros());
        }
        assertEquals(millis * 1000, clock.micros());
    }

    @Test
    void afterATickTheNextPushAsks() {
        ticker.now = 0;
        push(MANY);
        for (int i = 0; i < MANY; i++) {
            ticker.now++;
            millis++;
            assertEquals(1, push(1));
        }
    }

    @Test
    void afterARestPushesAskAgainAndWantNoTicks() {
        ticker.now = 0;
        push(MANY);
        ticker.isWanted = false;
        ticker.now = Ticker.STOPPED;
        millis += 3_600_000;
        assertEquals(RecordClock.DENSE - 2, push(RecordClock.DENSE - 2));
        assertFalse(ticker.isWanted);
    }

    @Test
    void itStaysInUseFromOneMilliToTheNext() {
        ticker.now = 0;
        push(MANY);
        for (int i = 0; i < 10; i++) {
            millis++;
            ticker.now++;
            assertTrue(push(MANY) <= 1 + MANY / RecordClock.PUSHES);
        }
    }

    @Test
    void aClockThatIsSetBackHoldsTimeUp() {
        long high = (START + 1000) * 1000;
        RecordClock later = clockFrom(high);
        assertEquals(high, later.last());
        assertEquals(high, later.micros());
        millis += 1001;
        assertEquals(high + 1000, later.micros());
        millis -= 5000;
        for (int i = 0; i < MANY; i++) {
            assertEquals(high + 1000, later.micros());
        }
        assertEquals(high + 1000, later.last());
    }

    @Test
    void manyPushesOfAQueueAreStampedInOrder() {
        List<Message> messages = new ArrayList<>();
        long before = System.currentTimeMillis() * 1000;
        long after;
        try (MmapQueue queue =
                MmapQueue.open(QueueConfig.builder(directory.resolve("queue")).build())) {
            for (int i = 0; i < PUSHED; i++) {
                queue.push(new byte[8]);
            }
            after = System.currentTimeMillis() * 1000;
            for (Message next = queue.consumer().poll();
                    next != null;
                    next = queue.consumer().poll()) {
                messages.add(next);
            }
        }
        assertEquals(PUSHED, messages.size());
        long last = before - SET_BY;
        for (Message each : messages) {
            long time = each.timestampMicros();
            assertTrue(time >= last && time <= after + SET_BY, time + " is not in " + last + ".." + after);
            last = time;
        }
    }
}
