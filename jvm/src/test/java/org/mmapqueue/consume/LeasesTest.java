package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LeasesTest {
    private record Lease(long offset, int attempts, long popped) {}

    @Test
    void withoutATimeoutNoLeaseIsKept() {
        Leases leases = new Leases(0);
        assertTrue(leases.isOff());
        leases.add(5, 1, 1);
        assertTrue(leases.isEmpty());
        assertFalse(new Leases(1).isOff());
    }

    @Test
    void recordsPoppedTogetherAreOneRun() {
        Leases leases = new Leases(6400);
        for (int i = 0; i < 1000; i++) {
            leases.add(50 + i / 10, 7 + i, 1);
        }
        assertEquals(7, leases.from());
        assertEquals(1006, leases.to());
        leases.remove();
        assertTrue(leases.isEmpty());
    }

    @Test
    void aGapOtherAttemptsOrALaterTimeBeginAnotherRun() {
        Leases leases = new Leases(6400);
        leases.add(0, 10, 1);
        leases.add(0, 12, 1);
        leases.add(0, 13, 2);
        leases.add(101, 14, 2);
        long[][] expected = {{10, 10, 1}, {12, 12, 1}, {13, 13, 2}, {14, 14, 2}};
        for (long[] each : expected) {
            assertEquals(each[0], leases.from());
            assertEquals(each[1], leases.to());
            assertEquals(each[2], leases.attempts());
            leases.remove();
        }
        assertTrue(leases.isEmpty());
    }

    private static void assertRuns(Leases leases, long[]... expected) {
        for (long[] each : expected) {
            while (leases.from() > leases.to()) {
                leases.remove();
            }
            assertEquals(each[0], leases.from());
            assertEquals(each[1], leases.to());
            assertEquals(each[2], leases.attempts());
            leases.remove();
        }
        assertTrue(leases.isEmpty() || leases.from() > leases.to());
    }

    @Test
    void aCancelledLeaseLeavesItsRun() {
        Leases leases = new Leases(6400);
        for (int i = 0; i < 10; i++) {
            leases.add(0, i, 1);
        }
        for (int i = 20; i < 23; i++) {
            leases.add(0, i, 2);
        }
        leases.cancel(0, 1);
        leases.cancel(9, 1);
        leases.cancel(4, 1);
        leases.cancel(5, 1);
        leases.cancel(21, 2);
        leases.cancel(22, 1); // a lease of another delivery
        leases.cancel(40, 1);
        assertRuns(leases, new long[] {1, 3, 1}, new long[] {6, 8, 1}, new long[] {20, 20, 2}, new long[] {22, 22, 2});
    }

    /** Splits make the table grow, at any position of its head. */
    @ParameterizedTest
    @CsvSource({"0", "5", "13", "15"})
    void everySecondLeaseCanBeCancelled(int taken) {
        Leases leases = new Leases(6400);
        for (int i = 0; i < taken; i++) {
            leases.add(0, 10_000 - 2L * i, 1);
            leases.remove();
        }
        for (int i = 0; i < 100; i++) {
            leases.add(0, i, 1);
        }
        for (int i = 98; i > 0; i -= 2) {
            leases.cancel(i, 1);
        }
        leases.cancel(0, 1);
        long[][] odd = new long[50][];
        for (int i = 0; i < 50; i++) {
            odd[i] = new long[] {2 * i + 1, 2 * i + 1, 1};
        }
        assertRuns(leases, odd);
    }

    @Test
    void aCancelledLastRunCanBeContinued() {
        Leases leases = new Leases(6400);
        leases.add(0, 7, 1);
        leases.cancel(7, 1);
        leases.add(500, 7, 1);
        leases.add(500, 8, 1);
        assertRuns(leases, new long[] {7, 8, 1});
        leases.add(600, 9, 1);
        assertTrue(leases.end() >= 7000);
    }

    @Test
    void clearRemovesEveryLease() {
        Leases leases = new Leases(100);
        for (int i = 0; i < 200; i++) {
            leases.add(i, 2L * i, 1);
        }
        leases.clear();
        assertTrue(leases.isEmpty());
        leases.add(1000, 3, 4);
        assertEquals(3, leases.from());
        assertEquals(4, leases.attempts());
        assertTrue(leases.end() >= 1100);
    }

    /** Each lease ends one time, in pop order, not before its deadline and not much later. */
    @ParameterizedTest
    @CsvSource({"1, 10", "2, 64", "3, 1000", "4, 100000", "5, 1"})
    void eachLeaseEndsSoonAfterItsDeadline(int seed, long timeout) {
        SplittableRandom random = new SplittableRandom(seed);
        Leases leases = new Leases(timeout);
        Deque<Lease> out = new ArrayDeque<>();
        long now = 0;
        long next = 0;
        for (int step = 0; step < 20_000; step++) {
            now += random.nextInt(8) == 0 ? random.nextLong(1 + timeout / 20) : 0;
            for (int i = random.nextInt(4); i > 0; i--) {
                next += random.nextInt(10) == 0 ? 2 : 1;
                int attempts = random.nextInt(20) == 0 ? 2 : 1;
                leases.add(now, next, attempts);
                out.add(new Lease(next, attempts, now));
            }
            while (!leases.isEmpty() && leases.end() <= now) {
                expire(leases, out, now, timeout);
            }
            // At most 1/64 late for the run, 1/64 for the slack, and the step of the clock.
            assertTrue(out.isEmpty() || out.peek().popped >= now - timeout - timeout / 32 - timeout / 20 - 1);
        }
        while (!leases.isEmpty()) {
            expire(leases, out, Long.MAX_VALUE, timeout);
        }
        assertTrue(out.isEmpty(), out.size() + " leases never end");
    }

    private static void expire(Leases leases, Deque<Lease> out, long now, long timeout) {
        List<Long> expected = new ArrayList<>();
        for (long offset = leases.from(); offset <= leases.to(); offset++) {
            expected.add(offset);
        }
        for (long offset : expected) {
            Lease lease = out.remove();
            assertEquals(offset, lease.offset);
            assertEquals(leases.attempts(), lease.attempts);
            assertTrue(now - lease.popped >= timeout, "popped at " + lease.popped + ", expired at " + now);
        }
        leases.remove();
    }
}
