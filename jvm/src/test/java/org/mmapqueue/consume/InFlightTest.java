package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Comparator;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mmapqueue.config.Settings;

/** States and due times of in-flight records, to the millisecond. */
class InFlightTest {
    private static final long NEVER = Long.MAX_VALUE;

    private long now = 5000;

    private InFlight inFlight(long visibilityMillis) {
        return inFlight(visibilityMillis, 0);
    }

    private InFlight inFlight(long visibilityMillis, int maxAttempts) {
        return new InFlight(new Settings.Delivery(1000, visibilityMillis, maxAttempts, null, false), () -> now);
    }

    /** Each delivery starts a new visibility timeout, however the one before ended. */
    @Test
    void aReleasedRecordGetsAFullTimeoutAtItsNextDelivery() {
        InFlight inFlight = inFlight(6400);
        pop(inFlight);
        pop(inFlight);
        pop(inFlight);
        now += 5000;
        inFlight.release(1);
        assertEquals(1, inFlight.due());
        inFlight.redelivered(1);
        assertEquals(1, inFlight.attempts(1));
        now += 1500; // the other two have expired
        inFlight.expire();
        assertEquals(InFlight.REQUEUED, inFlight.state(0));
        assertEquals(InFlight.IN_FLIGHT, inFlight.state(1));
        assertEquals(InFlight.REQUEUED, inFlight.state(2));
        now += 4899;
        inFlight.expire();
        assertEquals(InFlight.IN_FLIGHT, inFlight.state(1));
        now += 101;
        inFlight.expire();
        assertEquals(InFlight.REQUEUED, inFlight.state(1));
    }

    /** From the maximum on, all deliveries of a record have the same number of attempts. */
    @Test
    void anEarlierTimeoutDoesNotEndALaterDeliveryOfEqualAttempts() {
        InFlight inFlight = inFlight(6400);
        inFlight.restore(16_382, 0, 1);
        pop(inFlight);
        now += 5000;
        inFlight.requeue(0, 0);
        assertEquals(0, inFlight.due());
        inFlight.redelivered(0);
        now += 1500;
        inFlight.expire();
        assertEquals(InFlight.IN_FLIGHT, inFlight.state(0));
        now += 5000;
        inFlight.expire();
        assertEquals(InFlight.REQUEUED, inFlight.state(0));
    }

    private static void pop(InFlight inFlight) {
        inFlight.popped(100 + inFlight.next());
    }

    @Test
    void aDelayDoesNotEndEarly() {
        InFlight inFlight = inFlight(0);
        pop(inFlight);
        pop(inFlight);
        assertEquals(NEVER, inFlight.quietMillis());
        inFlight.requeue(0, 100);
        inFlight.requeue(1, 30);
        assertEquals(30, inFlight.quietMillis());
        now += 29;
        assertEquals(-1, inFlight.due());
        assertEquals(1, inFlight.quietMillis());
        now += 1;
        assertEquals(1, inFlight.due());
        assertEquals(0, inFlight.quietMillis());
        inFlight.redelivered(1);
        assertEquals(-1, inFlight.due());
        now += 69;
        assertEquals(-1, inFlight.due());
        now += 1;
        assertEquals(0, inFlight.due());
    }

    @Test
    void aDeadLetterThatIsNotTakenIsDueAfterASecond() {
        InFlight inFlight = inFlight(0, 1);
        pop(inFlight);
        assertTrue(inFlight.requeue(0, 0));
        assertEquals(-1, inFlight.due());
        assertTrue(inFlight.retryDead(0, 1000));
        assertEquals(1000, inFlight.quietMillis());
        now += 999;
        assertEquals(-1, inFlight.due());
        now += 1;
        assertEquals(0, inFlight.due());
    }

    @Test
    void theEarliestIsDueFirstThenTheLowestOffset() {
        InFlight inFlight = inFlight(0);
        for (int i = 0; i < 4; i++) {
            pop(inFlight);
        }
        inFlight.requeue(3, 0);
        inFlight.requeue(2, 50);
        inFlight.requeue(0, 50);
        inFlight.requeue(1, 0);
        now += 50;
        for (long expected : new long[] {1, 3, 0, 2}) {
            assertEquals(expected, inFlight.due());
            inFlight.redelivered(expected);
        }
        assertEquals(-1, inFlight.due());
    }

    @Test
    void aRecordWithoutADelayIsDueAtOnce() {
        InFlight inFlight = inFlight(0);
        pop(inFlight);
        inFlight.requeue(0, 0);
        assertEquals(0, inFlight.due());
        assertEquals(0, inFlight.quietMillis());
    }

    /** The lease of the earlier delivery ends during that of the later one. */
    @Test
    void anEarlierLeaseDoesNotRequeueALaterDelivery() {
        InFlight inFlight = inFlight(6400);
        pop(inFlight);
        now += 3000;
        inFlight.requeue(0, 0);
        assertEquals(0, inFlight.due());
        inFlight.redelivered(0);
        assertEquals(2, inFlight.attempts(0));
        now += 3500; // the first lease has ended
        inFlight.expire();
        assertEquals(InFlight.IN_FLIGHT, inFlight.state(0));
        now += 3000; // the second one has
        inFlight.expire();
        assertEquals(InFlight.REQUEUED, inFlight.state(0));
        assertEquals(2, inFlight.attempts(0));
    }

    @Test
    void aResetForgetsLeasesAndDelays() {
        InFlight inFlight = inFlight(6400);
        pop(inFlight);
        pop(inFlight);
        inFlight.requeue(1, 100);
        now += 3000;
        inFlight.reset(0);
        assertEquals(NEVER, inFlight.quietMillis());
        pop(inFlight);
        pop(inFlight);
        inFlight.requeue(1, 5000);
        now += 3500; // the lease and the delay from before the reset have ended
        inFlight.expire();
        assertEquals(InFlight.IN_FLIGHT, inFlight.state(0));
        assertEquals(-1, inFlight.due());
        now += 1500;
        assertEquals(1, inFlight.due());
    }

    @Test
    void aTimeoutEndsAtItsDeadline() {
        InFlight inFlight = inFlight(6400);
        pop(inFlight);
        now += 100;
        pop(inFlight);
        assertEquals(6300, inFlight.quietMillis());
        now += 6299;
        assertFalse(inFlight.hasExpired());
        now += 1;
        assertTrue(inFlight.hasExpired());
        inFlight.expire();
        assertEquals(InFlight.REQUEUED, inFlight.state(0));
        assertEquals(InFlight.IN_FLIGHT, inFlight.state(1));
        assertEquals(0, inFlight.due());
        now += 99;
        assertFalse(inFlight.hasExpired());
        now += 1;
        inFlight.expire();
        assertEquals(InFlight.REQUEUED, inFlight.state(1));
    }

    @Test
    void recordsStayUntilTheyAreAckedWithoutAGap() {
        InFlight inFlight = inFlight(0);
        inFlight.reset(100);
        for (int i = 0; i < 4; i++) {
            pop(inFlight);
        }
        assertFalse(inFlight.contains(99));
        assertTrue(inFlight.contains(100));
        assertTrue(inFlight.contains(103));
        assertFalse(inFlight.contains(104));
        inFlight.ack(101);
        inFlight.ack(102);
        inFlight.ack(5);
        assertEquals(100, inFlight.first());
        assertEquals(2, inFlight.unacked());
        assertEquals(103, inFlight.advance(101));
        assertEquals(103, inFlight.first());
        assertEquals(104, inFlight.next());
        assertEquals(203, inFlight.position(103));
        assertEquals(1, inFlight.unacked());
        assertEquals(InFlight.ACKED, inFlight.state(5));
        assertEquals(104, inFlight.advance(104));
        assertEquals(104, inFlight.advance(90));
        assertEquals(0, inFlight.unacked());
    }

    @Test
    void theTableIsFullUntilTheFirstRecordIsAcked() {
        InFlight inFlight = new InFlight(new Settings.Delivery(3, 0, 0, null, false), () -> now);
        inFlight.reset(7);
        for (int i = 0; i < 3; i++) {
            assertFalse(inFlight.isFull());
            pop(inFlight);
        }
        assertTrue(inFlight.isFull());
        inFlight.ack(8);
        inFlight.ack(9);
        assertTrue(inFlight.isFull());
        inFlight.advance(8);
        assertFalse(inFlight.isFull());
    }

    @Test
    void attemptsStayAtTheirMaximum() {
        InFlight inFlight = inFlight(0);
        inFlight.restore(16_382, 0, 1);
        assertEquals(16_383, inFlight.popped(0));
        inFlight.requeue(0, 0);
        assertEquals(16_383, inFlight.redelivered(0));
        assertEquals(InFlight.IN_FLIGHT, inFlight.state(0));
        assertEquals(0, inFlight.requeued());
    }

    @Test
    void restoredRowsWaitForTheReader() {
        InFlight inFlight = inFlight(0, 4);
        inFlight.reset(50);
        inFlight.restore(2, 0, 1);
        inFlight.restore(InFlight.TIMES_ACKED, 0, 1);
        inFlight.restore(4, 0, 1);
        inFlight.restore(1, 70, 1);
        inFlight.restore(0, 0, 1);
        assertEquals(55, inFlight.end());
        assertEquals(1, inFlight.ackedAhead());
        assertEquals(0, inFlight.unacked());
        assertEquals(InFlight.IN_FLIGHT, inFlight.nextState());
        assertEquals(3, inFlight.popped(500));
        assertEquals(InFlight.ACKED, inFlight.nextState());
        inFlight.passed(510, InFlight.ACKED);
        assertEquals(0, inFlight.ackedAhead());
        assertEquals(InFlight.DEAD, inFlight.nextState());
        inFlight.passed(520, InFlight.DEAD);
        assertTrue(inFlight.hasDead());
        assertEquals(InFlight.REQUEUED, inFlight.nextState());
        inFlight.passed(530, InFlight.REQUEUED);
        assertEquals(1, inFlight.popped(540));
        assertEquals(55, inFlight.end());
        assertEquals(1, inFlight.popped(550));
        assertEquals(56, inFlight.end());
        assertEquals(70, inFlight.quietMillis());
        now += 70;
        assertEquals(53, inFlight.due());
        assertEquals(2, inFlight.redelivered(53));
        assertEquals(52, inFlight.takeDead());
        assertEquals(4, inFlight.attempts(52));
        assertEquals(-1, inFlight.takeDead());
        assertFalse(inFlight.hasDead());
        assertEquals(52, inFlight.advance(51));
        assertEquals(520, inFlight.position(52));
    }

    /** Lost records take neither memory nor room: no row is made for them, though an earlier record is not acked. */
    @Test
    void aGapOfAnyLengthCostsNothing() {
        InFlight inFlight = new InFlight(new Settings.Delivery(3, 0, 0, null, false), () -> now);
        pop(inFlight);
        long end = 1L << 37;
        inFlight.passLost(end, 200);
        assertEquals(0, inFlight.first());
        assertEquals(end, inFlight.next());
        assertEquals(1, inFlight.unacked());
        assertEquals(InFlight.ACKED, inFlight.state(1));
        assertEquals(InFlight.ACKED, inFlight.state(end - 1));
        pop(inFlight);
        assertFalse(inFlight.isFull());
        pop(inFlight);
        assertTrue(inFlight.isFull());
        assertEquals(3, inFlight.span());
        assertEquals(100 + end, inFlight.position(end));
        inFlight.requeue(end + 1, 0);
        inFlight.requeue(0, 0);
        assertEquals(0, inFlight.due());
        inFlight.redelivered(0);
        assertEquals(end + 1, inFlight.due());
        assertEquals(end, inFlight.advance(1));
        assertEquals(end + 1, inFlight.due());
        assertEquals(end + 2, inFlight.advance(end + 2));
        assertFalse(inFlight.tellsMore());
    }

    @Test
    void aGapMayReachIntoRestoredRecordsAndBeyondThem() {
        InFlight inFlight = inFlight(0);
        inFlight.restore(1, 0, 1);
        inFlight.restore(InFlight.TIMES_ACKED, 0, 100);
        inFlight.restore(2, 0, 3);
        inFlight.popped(7);
        inFlight.passLost(40, 8);
        assertEquals(InFlight.ACKED, inFlight.nextState());
        assertEquals(61, inFlight.ackedAhead());
        inFlight.passed(9, InFlight.ACKED);
        inFlight.passLost(1L << 30, 9);
        assertEquals(1L << 30, inFlight.end());
        assertEquals(0, inFlight.ackedAhead());
        assertEquals(1, inFlight.unacked());
        pop(inFlight);
        assertEquals(1L << 30, inFlight.advance(1));
        assertEquals(1, inFlight.unacked());
    }

    private static final int LOST = -1;

    private static final class Row {
        private int state;
        private int attempts;
        private long due;

        private Row(int state, int attempts, long due) {
            this.state = state;
            this.attempts = attempts;
            this.due = due;
        }
    }

    /** The table grows and wraps many times; a map is the reference. */
    @ParameterizedTest
    @CsvSource({"1, 0", "2, 0", "3, 50", "4, 50", "5, 1000", "6, 1"})
    void agreesWithAMap(int seed, long visibility) {
        SplittableRandom random = new SplittableRandom(seed);
        InFlight inFlight = new InFlight(new Settings.Delivery(1 << 30, visibility, 5, null, false), () -> now);
        TreeMap<Long, Row> map = new TreeMap<>();
        long next = random.nextLong(1L << 40);
        inFlight.reset(next);
        for (int i = 0; i < 100; i++) {
            inFlight.restore(i % 5, 0, 1);
        }
        long restored = next + 100;
        for (int step = 0; step < 20_000; step++) {
            long size = next - inFlight.first();
            long any = inFlight.first() + (size == 0 ? 0 : random.nextLong(size));
            Row row = map.get(any);
            if (random.nextInt(50) == 0) {
                long end = next + 1 + random.nextInt(100);
                inFlight.passLost(end, 3 * next);
                while (next < end) {
                    map.put(next++, new Row(InFlight.ACKED, LOST, 0));
                }
                while (!map.isEmpty() && map.firstEntry().getValue().state == InFlight.ACKED) {
                    map.pollFirstEntry();
                }
                continue;
            }
            switch (size == 0 ? 0 : random.nextInt(8)) {
                case 0, 1, 2 -> {
                    int attempts = inFlight.popped(3 * next);
                    assertEquals(next < restored ? (next - restored + 100) % 5 + 1 : 1, attempts);
                    map.put(next++, new Row(InFlight.IN_FLIGHT, attempts, visibility == 0 ? 0 : now + visibility));
                }
                case 3 -> {
                    inFlight.ack(any);
                    row.state = InFlight.ACKED;
                }
                case 4 -> {
                    long delay = random.nextInt(3) * 7L;
                    boolean isDead = inFlight.requeue(any, delay);
                    assertEquals(row.state == InFlight.IN_FLIGHT && row.attempts >= 5, isDead);
                    if (row.state == InFlight.IN_FLIGHT) {
                        row.state = isDead ? InFlight.DEAD : InFlight.REQUEUED;
                        row.due = delay == 0 ? 0 : now + delay;
                    }
                }
                case 5 -> {
                    now += random.nextInt(4);
                    inFlight.expire();
                    for (Row each : map.values()) {
                        if (each.state == InFlight.IN_FLIGHT && visibility > 0 && each.due <= now) {
                            each.state = each.attempts >= 5 ? InFlight.DEAD : InFlight.REQUEUED;
                            each.due = 0;
                        }
                    }
                }
                case 6 -> {
                    long due = inFlight.due();
                    assertEquals(
                            map.entrySet().stream()
                                    .filter(each ->
                                            each.getValue().state == InFlight.REQUEUED && each.getValue().due <= now)
                                    .min(Comparator.comparingLong((Map.Entry<Long, Row> each) -> each.getValue().due)
                                            .thenComparingLong(Map.Entry::getKey))
                                    .map(Map.Entry::getKey)
                                    .orElse(-1L),
                            due);
                    if (due >= 0) {
                        Row found = map.get(due);
                        found.attempts++;
                        found.state = InFlight.IN_FLIGHT;
                        found.due = visibility == 0 ? 0 : now + visibility;
                        assertEquals(found.attempts, inFlight.redelivered(due));
                    }
                }
                default -> {
                    if (random.nextInt(4) == 0) {
                        inFlight.advance(any + 1);
                        map.headMap(any, true).clear();
                        while (!map.isEmpty() && map.firstEntry().getValue().state == InFlight.ACKED) {
                            map.pollFirstEntry();
                        }
                    }
                }
            }
            assertSame(map, inFlight, next);
            assertEquals(
                    tellsMore(map)
                            || next < restored
                                    && LongStream.range(next, restored).anyMatch(each -> inFlight.attempts(each) > 1),
                    inFlight.tellsMore());
        }
    }

    private static void assertSame(TreeMap<Long, Row> map, InFlight inFlight, long next) {
        assertEquals(next, inFlight.next());
        // Acked records at the head stay until the next advance.
        assertEquals(map.isEmpty() ? next : map.firstKey(), inFlight.first());
        assertEquals(count(map, InFlight.IN_FLIGHT) + count(map, InFlight.DEAD), inFlight.unacked());
        assertEquals(count(map, InFlight.REQUEUED), inFlight.requeued());
        if (next % 16 == 0) {
            map.forEach((offset, row) -> {
                assertEquals(row.state, inFlight.state(offset));
                if (row.attempts != LOST) {
                    assertEquals(row.attempts, inFlight.attempts(offset));
                    assertEquals(3 * offset, inFlight.position(offset));
                }
            });
        }
    }

    private static boolean tellsMore(TreeMap<Long, Row> map) {
        return map.values().stream().anyMatch(each -> each.state != InFlight.IN_FLIGHT || each.attempts > 1);
    }

    private static long count(TreeMap<Long, Row> map, int state) {
        return map.values().stream().filter(each -> each.state == state).count();
    }
}
