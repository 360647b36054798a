package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class SparseIndexTest {
    /** A position from which the offset can be computed. */
    private static long position(long offset) {
        return offset * 100 + 7;
    }

    private static void assertFloor(SparseIndex inFlight, long offset, long farthest) {
        long floor = inFlight.floor(offset).offset();
        assertTrue(floor <= offset, "floor " + floor + " of " + offset);
        assertTrue(offset - floor <= farthest, "floor " + floor + " of " + offset + " is far off");
        assertEquals(position(floor), inFlight.floor(offset).position());
    }

    @Test
    void theFloorOfAnyRecordInFlightIsNear() {
        SparseIndex inFlight = new SparseIndex();
        inFlight.reset(1000, position(1000));
        for (long next = 1001; next <= 6000; next++) {
            inFlight.popped(next, position(next));
        }
        for (long offset = 1000; offset < 6000; offset++) {
            assertFloor(inFlight, offset, 16);
        }
    }

    @Test
    void memoryStaysSmallHoweverMuchIsInFlight() {
        SparseIndex inFlight = new SparseIndex();
        inFlight.reset(0, position(0));
        long total = 3_000_000;
        for (long next = 1; next <= total; next++) {
            inFlight.popped(next, position(next));
        }
        // 32768 entries for 3 million records: at best one for each 92; the spacing is a power of two.
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 10_000; i++) {
            assertFloor(inFlight, random.nextLong(total), 256);
        }
        assertFloor(inFlight, 0, 0);
        assertFloor(inFlight, total - 1, 256);
    }

    @Test
    void acksMoveTheHead() {
        SparseIndex inFlight = new SparseIndex();
        inFlight.reset(0, position(0));
        SplittableRandom random = new SplittableRandom(2);
        long read = 0;
        long committed = 0;
        for (int round = 0; round < 20_000; round++) {
            long more = random.nextInt(200);
            for (long i = 0; i < more; i++) {
                read++;
                inFlight.popped(read, position(read));
            }
            long lag = read - committed;
            if (lag > 1 && random.nextInt(3) > 0) {
                committed += 1 + random.nextLong(lag);
                inFlight.acked(committed, position(committed));
            }
            if (read > committed) {
                assertFloor(inFlight, committed, 0);
                assertFloor(inFlight, committed + random.nextLong(read - committed), 512);
                assertFloor(inFlight, read - 1, 512);
            }
        }
    }

    @Test
    void anAckOfEverythingLeavesTheNextRecord() {
        SparseIndex inFlight = new SparseIndex();
        inFlight.reset(0, position(0));
        for (long next = 1; next <= 100; next++) {
            inFlight.popped(next, position(next));
        }
        inFlight.acked(100, position(100));
        assertEquals(100, inFlight.floor(100).offset());
        assertEquals(position(100), inFlight.floor(100).position());
        for (long next = 101; next <= 200; next++) {
            inFlight.popped(next, position(next));
        }
        assertFloor(inFlight, 150, 16);
        inFlight.reset(5, position(5));
        assertEquals(5, inFlight.floor(9).offset());
    }

    @Test
    void theRingOfEntriesWraps() {
        SparseIndex inFlight = new SparseIndex();
        inFlight.reset(0, position(0));
        // The window keeps its size while it passes the length of the arrays many times.
        for (long next = 1; next <= 200_000; next++) {
            inFlight.popped(next, position(next));
            if (next % 500 == 0 && next > 2000) {
                inFlight.acked(next - 2000, position(next - 2000));
                assertFloor(inFlight, next - 2000, 0);
                assertFloor(inFlight, next - 1000, 16);
            }
        }
    }
}
