package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DelayQueueTest {
    private record Entry(long time, long offset) {}

    @Test
    void theEarliestComesFirstThenTheLowestOffset() {
        DelayQueue schedule = new DelayQueue();
        assertTrue(schedule.isEmpty());
        schedule.add(5, 1);
        schedule.add(0, 9);
        schedule.add(0, 3);
        schedule.add(5, 0);
        long[][] expected = {{0, 3}, {0, 9}, {5, 0}, {5, 1}};
        for (long[] each : expected) {
            assertEquals(each[0], schedule.time());
            assertEquals(each[1], schedule.offset());
            schedule.remove();
        }
        assertTrue(schedule.isEmpty());
    }

    @Test
    void clearRemovesEveryEntry() {
        DelayQueue schedule = new DelayQueue();
        for (int i = 0; i < 100; i++) {
            schedule.add(100 - i, i);
        }
        schedule.clear();
        assertTrue(schedule.isEmpty());
        schedule.add(7, 7);
        assertEquals(7, schedule.time());
        schedule.remove();
        assertTrue(schedule.isEmpty());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void agreesWithAPriorityQueue(int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        DelayQueue schedule = new DelayQueue();
        PriorityQueue<Entry> expected =
                new PriorityQueue<>(Comparator.comparingLong(Entry::time).thenComparingLong(Entry::offset));
        for (int step = 0; step < 50_000; step++) {
            // It grows and empties several times.
            boolean adds = random.nextInt(100) < (step / 5000 % 2 == 0 ? 60 : 40);
            if (adds || expected.isEmpty()) {
                Entry entry = new Entry(random.nextInt(4) == 0 ? 0 : random.nextLong(1000), random.nextLong(500));
                schedule.add(entry.time, entry.offset);
                expected.add(entry);
            } else {
                Entry first = expected.remove();
                assertEquals(first.time, schedule.time());
                assertEquals(first.offset, schedule.offset());
                schedule.remove();
            }
            assertEquals(expected.isEmpty(), schedule.isEmpty());
        }
    }
}
