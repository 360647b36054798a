package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SavedInFlightTest {
    @Test
    void isEmptyAtFirst() {
        SavedInFlight saved = new SavedInFlight();
        assertEquals(0, saved.times(0));
        assertEquals(0, saved.times(1L << 50));
        assertEquals(77, saved.end(77));
    }

    @Test
    void runsFollowEachOther() {
        SavedInFlight saved = new SavedInFlight();
        saved.add(100, 3, 2);
        saved.add(100, 1, SavedInFlight.ACKED);
        saved.add(100, 2, 5);
        assertEquals(106, saved.end(0));
        int[] expected = {2, 2, 2, SavedInFlight.ACKED, 5, 5, 0, 0};
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], saved.times(100 + i));
            assertEquals(expected[i], saved.times(100 + i));
        }
    }

    @Test
    void countsTheAckedRecordsFromAnOffsetOn() {
        SavedInFlight saved = new SavedInFlight();
        assertEquals(0, saved.acked(100));
        assertTrue(saved.isOver());
        saved.add(100, 3, 2);
        saved.add(100, 4, SavedInFlight.ACKED);
        saved.add(100, 2, 1);
        saved.add(100, 5, SavedInFlight.ACKED);
        int[] expected = {9, 9, 9, 9, 8, 7, 6, 5, 5, 5, 4, 3, 2, 1, 0};
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], saved.acked(100 + i), "from record " + i);
            assertFalse(saved.isOver());
            saved.times(100 + i);
            assertEquals(expected[i], saved.acked(100 + i), "from record " + i);
        }
        assertTrue(saved.isOver());
    }

    @Test
    void clearForgetsEverything() {
        SavedInFlight saved = new SavedInFlight();
        saved.add(0, 10, 3);
        assertEquals(3, saved.times(4));
        saved.clear();
        assertEquals(0, saved.times(5));
        assertEquals(9, saved.end(9));
        saved.add(20, 1, 7);
        assertEquals(7, saved.times(20));
        assertEquals(0, saved.times(21));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void agreesWithAnArray(int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int[] expected = new int[3000];
        SavedInFlight saved = new SavedInFlight();
        long first = random.nextLong(1L << 40);
        int filled = 0;
        while (filled < 2500) {
            int records = 1 + random.nextInt(30);
            int times = random.nextInt(5) - 1;
            saved.add(first, records, times);
            for (int i = 0; i < records; i++) {
                expected[filled++] = times;
            }
        }
        assertEquals(first + filled, saved.end(first));
        for (int i = 0; i < expected.length; i += 1 + random.nextInt(3)) {
            assertEquals(expected[i], saved.times(first + i), "record " + i);
        }
    }
}
