package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WindowTest {
    private record Popped(int state, int attempts) {}

    @Test
    void recordsStayUntilTheyAreAckedWithoutAGap() {
        Window window = new Window(10);
        window.reset(100);
        for (int i = 0; i < 4; i++) {
            window.add(Window.IN_FLIGHT, 1);
        }
        assertFalse(window.contains(99));
        assertTrue(window.contains(100));
        assertTrue(window.contains(103));
        assertFalse(window.contains(104));
        window.mark(101, Window.ACKED);
        window.mark(102, Window.ACKED);
        assertEquals(100, window.first());
        assertEquals(2, window.unacked());
        assertEquals(103, window.advance(101));
        assertEquals(103, window.first());
        assertEquals(104, window.next());
        assertEquals(1, window.unacked());
        assertEquals(Window.ACKED, window.state(5));
        assertEquals(104, window.advance(104));
        assertEquals(0, window.unacked());
    }

    @Test
    void anEarlierAckHasNoEffect() {
        Window window = new Window(10);
        window.reset(0);
        window.add(Window.IN_FLIGHT, 1);
        window.add(Window.IN_FLIGHT, 1);
        assertEquals(2, window.advance(2));
        assertEquals(2, window.advance(1));
        window.add(Window.REQUEUED, 1);
        assertEquals(2, window.advance(1));
        assertEquals(1, window.requeued());
    }

    @Test
    void requeuedRecordsAreNotUnacked() {
        Window window = new Window(10);
        window.reset(0);
        for (int i = 0; i < 4; i++) {
            window.add(Window.IN_FLIGHT, 1);
        }
        window.mark(0, Window.REQUEUED);
        window.released(1);
        assertEquals(2, window.requeued());
        assertEquals(2, window.unacked());
        window.redelivered(0);
        assertEquals(3, window.unacked());
        window.mark(1, Window.ACKED);
        assertEquals(3, window.unacked());
        assertEquals(4, window.advance(4));
        assertEquals(0, window.unacked());
    }

    @Test
    void theWindowStartsAtTheFirstUnackedRecord() {
        Window window = new Window(3);
        window.reset(7);
        for (int i = 0; i < 3; i++) {
            assertFalse(window.isFull());
            window.add(Window.IN_FLIGHT, 1);
        }
        assertTrue(window.isFull());
        window.mark(8, Window.ACKED);
        window.mark(9, Window.ACKED);
        assertTrue(window.isFull());
        window.advance(8);
        assertFalse(window.isFull());
        assertEquals(3, window.most());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 255, 10_000, 16_383})
    void attemptsAndStatesAreIndependent(int attempts) {
        Window window = new Window(10);
        window.reset(0);
        for (int state : new int[] {Window.IN_FLIGHT, Window.REQUEUED, Window.ACKED, Window.DEAD}) {
            window.add(state, attempts);
        }
        for (int state = 0; state < 4; state++) {
            assertEquals(state, window.state(state));
            assertEquals(attempts, window.attempts(state));
            window.mark(state, 3 - state);
            assertEquals(3 - state, window.state(state));
            assertEquals(attempts, window.attempts(state));
        }
    }

    @Test
    void attemptsStayAtTheirMaximum() {
        Window window = new Window(10);
        window.reset(0);
        window.add(Window.REQUEUED, 16_382);
        window.redelivered(0);
        assertEquals(16_383, window.attempts(0));
        window.mark(0, Window.REQUEUED);
        window.redelivered(0);
        assertEquals(16_383, window.attempts(0));
        assertEquals(Window.IN_FLIGHT, window.state(0));
        assertEquals(0, window.requeued());
    }

    @ParameterizedTest
    @ValueSource(ints = {16_383, 16_384, 32_768, 49_152, Integer.MAX_VALUE})
    void attemptsAboveTheMaximumDoNotChangeTheState(int attempts) {
        Window window = new Window(10);
        window.reset(0);
        window.add(Window.IN_FLIGHT, attempts);
        assertEquals(Window.IN_FLIGHT, window.state(0));
        assertEquals(16_383, window.attempts(0));
        assertEquals(0, window.requeued());
    }

    @Test
    void aResetForgetsAll() {
        Window window = new Window(100);
        window.reset(0);
        window.add(Window.ACKED, 1);
        window.add(Window.REQUEUED, 1);
        window.reset(50);
        assertEquals(50, window.first());
        assertEquals(50, window.next());
        assertEquals(0, window.unacked());
        assertEquals(0, window.requeued());
        window.add(Window.IN_FLIGHT, 3);
        assertEquals(Window.IN_FLIGHT, window.state(50));
        assertEquals(1, window.unacked());
    }

    /** The window grows and wraps many times; a map is the reference. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6})
    void agreesWithAMap(int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Window window = new Window(Integer.MAX_VALUE);
        TreeMap<Long, Popped> map = new TreeMap<>();
        long next = random.nextLong(1L << 40);
        window.reset(next);
        for (int step = 0; step < 20_000; step++) {
            long size = next - window.first();
            long any = window.first() + (size == 0 ? 0 : random.nextLong(size));
            switch (size == 0 ? 0 : random.nextInt(6)) {
                case 0, 1 -> {
                    int state = random.nextInt(4);
                    window.add(state, 1 + step % 3);
                    map.put(next++, new Popped(state, 1 + step % 3));
                }
                case 2, 3 -> {
                    int state = random.nextInt(4);
                    window.mark(any, state);
                    map.put(any, new Popped(state, map.get(any).attempts));
                }
                case 4 -> {
                    if (map.get(any).state == Window.REQUEUED) {
                        window.redelivered(any);
                        map.put(any, new Popped(Window.IN_FLIGHT, map.get(any).attempts + 1));
                    }
                }
                default -> {
                    if (random.nextInt(4) == 0) {
                        window.advance(any + 1);
                        map.headMap(any, true).clear();
                        while (!map.isEmpty() && map.firstEntry().getValue().state == Window.ACKED) {
                            map.pollFirstEntry();
                        }
                    }
                }
            }
            assertSame(map, window, next);
        }
    }

    private static void assertSame(TreeMap<Long, Popped> map, Window window, long next) {
        assertEquals(next, window.next());
        // Acked records at the head stay until the next advance.
        assertEquals(map.isEmpty() ? next : map.firstKey(), window.first());
        assertEquals(
                map.values().stream()
                        .filter(each -> each.state != Window.ACKED && each.state != Window.REQUEUED)
                        .count(),
                window.unacked());
        assertEquals(
                map.values().stream()
                        .filter(each -> each.state == Window.REQUEUED)
                        .count(),
                window.requeued());
        if (next % 16 == 0) {
            map.forEach((offset, popped) -> {
                assertEquals(popped.state, window.state(offset));
                assertEquals(popped.attempts, window.attempts(offset));
            });
        }
    }
}
