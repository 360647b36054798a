package org.mmapqueue.bigqueue;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** The behaviours that bigqueue's unit tests demand of a fan-out queue. */
@Timeout(120)
class FanOutQueueTest {
    private static final int PAGE = BigArrayImpl.MINIMUM_DATA_PAGE_SIZE;

    @TempDir(factory = QuickDirectory.class)
    Path directory;

    private IFanOutQueue queue;

    @BeforeEach
    void open() throws IOException {
        queue = new FanOutQueueImpl(directory.toString(), "queue", PAGE);
    }

    @AfterEach
    void close() throws IOException {
        queue.close();
    }

    private void enqueue(int from, int to) throws IOException {
        for (int i = from; i < to; i++) {
            assertEquals(i, queue.enqueue(Integer.toString(i).getBytes(UTF_8)));
        }
    }

    private static String text(byte[] item) {
        return item == null ? null : new String(item, UTF_8);
    }

    private void assertLeft(String reader, long size) throws IOException {
        assertEquals(size, queue.size(reader));
        assertEquals(size == 0, queue.isEmpty(reader));
        assertEquals(queue.getRearIndex() - size, queue.getFrontIndex(reader));
    }

    @Test
    void itemsAreDequeuedOnceByAReader() throws IOException {
        for (int open = 0; open < 2; open++) {
            for (int round = 0; round < 3; round++) {
                assertLeft("reader", 0);
                assertNull(queue.dequeue("reader"));
                assertNull(queue.peek("reader"));
                assertEquals(-1, queue.peekLength("reader"));
                assertEquals(-1, queue.peekTimestamp("reader"));
                queue.enqueue("hello".getBytes(UTF_8));
                queue.flush();
                assertLeft("reader", 1);
                assertEquals("hello", text(queue.peek("reader")));
                assertEquals(5, queue.peekLength("reader"));
                assertEquals("hello", text(queue.dequeue("reader")));
                assertNull(queue.dequeue("reader"));
            }
            queue.close();
            open();
        }
    }

    @Test
    void itemsAreReadByIndex() throws IOException {
        assertTrue(queue.isEmpty());
        for (int i = 0; i < 1000; i++) {
            enqueue(i, i + 1);
            assertEquals(i + 1, queue.size());
            assertEquals(Integer.toString(i), text(queue.get(i)));
            assertEquals(text(queue.get(i)).length(), queue.getLength(i));
            assertTrue(queue.getTimestamp(i) > 0);
        }
        assertThrows(IndexOutOfBoundsException.class, () -> queue.get(1000));
        assertThrows(IndexOutOfBoundsException.class, () -> queue.getLength(-1));
        assertThrows(IndexOutOfBoundsException.class, () -> queue.getTimestamp(1000));
    }

    @Test
    void readersAreIndependentAndSurviveAReopen() throws IOException {
        int items = 1000;
        enqueue(0, 1);
        long time = queue.peekTimestamp("one");
        enqueue(1, items);
        assertLeft("one", items);
        assertEquals(time, queue.peekTimestamp("one"));
        assertEquals(time, queue.getTimestamp(0));
        queue.close();
        open();
        assertLeft("one", items);
        for (int i = 0; i < items; i++) {
            assertEquals(Integer.toString(i), text(queue.dequeue("one")));
            assertLeft("one", items - i - 1);
        }
        for (int i = 0; i < items; i++) {
            assertEquals(Integer.toString(i), text(queue.peek("two")));
            assertEquals(Integer.toString(i), text(queue.dequeue("two")));
            assertLeft("two", items - i - 1);
        }
        assertEquals(items, queue.size());
        assertEquals(0, queue.getFrontIndex());
    }

    @Test
    void aPageSizeBelowTheLeastThrows() throws IOException {
        String root = directory.toString();
        assertThrows(IllegalArgumentException.class, () -> new FanOutQueueImpl(root, "small", PAGE - 1));
        new FanOutQueueImpl(root, "other").close();
    }

    @Test
    void aReadersNameIsChecked() {
        for (String bad : List.of("", "a/b", ".", "a b", BigArrayImpl.TAIL)) {
            assertThrows(IllegalArgumentException.class, () -> queue.size(bad), bad);
        }
    }

    @Test
    void aFrontMovesToAnyIndex() throws IOException {
        int items = 1000;
        enqueue(0, items);
        assertEquals("0", text(queue.peek("reader")));
        for (int index : new int[] {1, 234, items - 1, 0}) {
            queue.resetQueueFrontIndex("reader", index);
            assertEquals(Integer.toString(index), text(queue.peek("reader")));
            assertEquals(index, queue.getFrontIndex("reader"));
        }
        queue.resetQueueFrontIndex("reader", items);
        assertNull(queue.peek("reader"));
        for (long outside : new long[] {items + 1, -1}) {
            assertThrows(IndexOutOfBoundsException.class, () -> queue.resetQueueFrontIndex("reader", outside));
        }
        assertLeft("reader", 0);
    }

    @Test
    void aRemovalMovesEveryFront() throws IOException {
        enqueue(0, 100);
        assertLeft("reader", 100);
        assertLeft("closed", 100);
        queue.resetQueueFrontIndex("ahead", 90);
        long between = queue.getTimestamp(99) + 2;
        queue.close();
        open();
        Waiting.until("the clock is later", () -> System.currentTimeMillis() > between);
        enqueue(100, 150);
        queue.resetQueueFrontIndex("ahead", 120);
        queue.removeBefore(between);
        assertEquals(100, queue.getFrontIndex());
        assertEquals(50, queue.size());
        assertEquals("100", text(queue.peek("reader")));
        assertLeft("closed", 50);
        assertLeft("new", 50);
        assertLeft("ahead", 30);
        assertThrows(IndexOutOfBoundsException.class, () -> queue.resetQueueFrontIndex("reader", 99));
    }

    @Test
    void theClosestIndexIsFoundByTime() throws IOException {
        assertEquals(IBigArray.NOT_FOUND, queue.findClosestIndex(System.currentTimeMillis()));
        long[] times = new long[20];
        for (int i = 0; i < times.length; i++) {
            enqueue(i, i + 1);
            times[i] = queue.getTimestamp(i);
            long next = times[i] + 5;
            Waiting.until("the clock is later", () -> System.currentTimeMillis() >= next);
        }
        for (int i = 0; i < times.length; i++) {
            assertEquals(i, queue.findClosestIndex(times[i]));
        }
        assertEquals(0, queue.findClosestIndex(times[0] - 500));
        assertEquals(times.length - 1, queue.findClosestIndex(times[times.length - 1] + 500));
        assertEquals(0, queue.findClosestIndex(IFanOutQueue.EARLIEST));
        assertEquals(times.length, queue.findClosestIndex(IFanOutQueue.LATEST));
    }

    @Test
    void theFilesAreLimitedForEveryReader() throws IOException {
        for (int i = 0; i < 100; i++) {
            queue.enqueue(new byte[1 << 20]);
        }
        assertLeft("reader", 100);
        queue.dequeue("reader");
        assertEquals(100, queue.size());
        long last = 0;
        for (long limit : new long[] {2L * PAGE, PAGE}) {
            queue.limitBackFileSize(limit);
            assertTrue(queue.getBackFileSize() <= limit);
            assertTrue(queue.getFrontIndex() > last);
            last = queue.getFrontIndex();
            assertLeft("reader", 100 - last);
            assertEquals(1 << 20, queue.dequeue("reader").length);
        }
        queue.limitBackFileSize(PAGE - 1);
        assertEquals(last, queue.getFrontIndex(), "ignored");
    }

    @Test
    void theRemovalOfAllItemsBeginsAnew() throws IOException {
        enqueue(0, 100);
        queue.dequeue("one");
        queue.peek("two");
        queue.removeAll();
        assertTrue(queue.isEmpty());
        assertEquals(0, queue.getBackFileSize());
        assertEquals(0, queue.getRearIndex());
        assertLeft("one", 0);
        enqueue(0, 2);
        queue.close();
        open();
        assertEquals("0", text(queue.dequeue("one")));
        assertLeft("two", 2);
        assertLeft("new", 2);
        assertEquals(2, queue.size());
    }
}
