package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RememberedTest {
    @Test
    void nothingIsKnownAtFirst() {
        Remembered remembered = new Remembered();
        assertEquals(0, remembered.times(0));
        assertEquals(0, remembered.times(1L << 50));
        assertEquals(77, remembered.end(77));
    }

    @Test
    void runsFollowEachOther() {
        Remembered remembered = new Remembered();
        remembered.add(100, 3, 2);
        remembered.add(100, 1, Remembered.ACKED);
        remembered.add(100, 2, 5);
        assertEquals(106, remembered.end(0));
        int[] expected = {2, 2, 2, Remembered.ACKED, 5, 5, 0, 0};
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], remembered.times(100 + i));
            assertEquals(expected[i], remembered.times(100 + i));
        }
    }

    @Test
    void whatIsAckedFromAPlaceOnIsCounted() {
        Remembered remembered = new Remembered();
        assertEquals(0, remembered.acked(100));
        assertTrue(remembered.isOver());
        remembered.add(100, 3, 2);
        remembered.add(100, 4, Remembered.ACKED);
        remembered.add(100, 2, 1);
        remembered.add(100, 5, Remembered.ACKED);
        int[] expected = {9, 9, 9, 9, 8, 7, 6, 5, 5, 5, 4, 3, 2, 1, 0};
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], remembered.acked(100 + i), "from record " + i);
            assertFalse(remembered.isOver());
            remembered.times(100 + i);
            assertEquals(expected[i], remembered.acked(100 + i), "from record " + i);
        }
        assertTrue(remembered.isOver());
    }

    @Test
    void clearedItKnowsNothing() {
        Remembered remembered = new Remembered();
        remembered.add(0, 10, 3);
        assertEquals(3, remembered.times(4));
        remembered.clear();
        assertEquals(0, remembered.times(5));
        assertEquals(9, remembered.end(9));
        remembered.add(20, 1, 7);
        assertEquals(7, remembered.times(20));
        assertEquals(0, remembered.times(21));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void anArraySaysTheSame(int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int[] expected = new int[3000];
        Remembered remembered = new Remembered();
        long first = random.nextLong(1L << 40);
        int filled = 0;
        while (filled < 2500) {
            int records = 1 + random.nextInt(30);
            int times = random.nextInt(5) - 1;
            remembered.add(first, records, times);
            for (int i = 0; i < records; i++) {
                expected[filled++] = times;
            }
        }
        assertEquals(first + filled, remembered.end(first));
        for (int i = 0; i < expected.length; i += 1 + random.nextInt(3)) {
            assertEquals(expected[i], remembered.times(first + i), "record " + i);
        }
    }
}
