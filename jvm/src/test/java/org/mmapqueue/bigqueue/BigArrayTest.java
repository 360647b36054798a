package org.mmapqueue.bigqueue;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** The behaviours that bigqueue's unit tests demand of an array. */
@Timeout(120)
class BigArrayTest {
    private static final int PAGE = BigArrayImpl.MINIMUM_DATA_PAGE_SIZE;

    @TempDir(factory = QuickDirectory.class)
    Path directory;

    private IBigArray array;

    @BeforeEach
    void open() throws IOException {
        array = new BigArrayImpl(directory.toString(), "array", PAGE);
    }

    @AfterEach
    void close() throws IOException {
        array.close();
    }

    private void append(int from, int to) throws IOException {
        for (int i = from; i < to; i++) {
            assertEquals(i, array.append(Integer.toString(i).getBytes(UTF_8)));
        }
    }

    private String text(long index) throws IOException {
        return new String(array.get(index), UTF_8);
    }

    private void assertRange(long tail, long head) {
        assertEquals(tail, array.getTailIndex());
        assertEquals(head, array.getHeadIndex());
        assertEquals(head - tail, array.size());
        assertEquals(head == tail, array.isEmpty());
        assertFalse(array.isFull());
        for (long outside : new long[] {tail - 1, head, head + 1, Long.MIN_VALUE, Long.MAX_VALUE}) {
            assertThrows(IndexOutOfBoundsException.class, () -> array.get(outside), "index " + outside);
            assertThrows(IndexOutOfBoundsException.class, () -> array.getTimestamp(outside));
            assertThrows(IndexOutOfBoundsException.class, () -> array.getItemLength(outside));
            assertThrows(IndexOutOfBoundsException.class, () -> array.removeBeforeIndex(outside));
        }
    }

    @Test
    void itemsHaveIndexesFromZeroAgainAfterEachRemoval() throws IOException {
        for (int round = 0; round < 3; round++) {
            assertRange(0, 0);
            append(0, 1);
            assertRange(0, 1);
            array.flush();
            append(1, 2);
            assertRange(0, 2);
            assertEquals("0", text(0));
            assertEquals("1", text(1));
            array.removeAll();
        }
        assertRange(0, 0);
    }

    @Test
    void anArrayIsTheSameAfterAReopen() throws IOException {
        append(0, 3);
        array.removeAll();
        append(0, 1000);
        array.removeBeforeIndex(10);
        array.close();
        open();
        assertRange(10, 1000);
        append(1000, 1010);
        assertRange(10, 1010);
        for (int i = 10; i < 1010; i++) {
            assertEquals(Integer.toString(i), text(i));
        }
    }

    @Test
    void timestampsRise() throws IOException {
        long last = System.currentTimeMillis() - 1; // the queue's clock may be a tick late
        for (int i = 0; i < 1000; i++) {
            append(i, i + 1);
            long time = array.getTimestamp(i);
            assertTrue(time >= last && time <= System.currentTimeMillis() + 1);
            last = time;
        }
    }

    @Test
    void itemsAreReadInAnyOrder() throws IOException {
        append(0, 5000);
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 5000; i++) {
            int index = random.nextInt(5000);
            assertEquals(Integer.toString(index), text(index));
        }
    }

    @Test
    void theItemsBeforeAnIndexAreRemoved() throws IOException {
        append(0, 1000);
        array.removeBeforeIndex(500);
        assertRange(500, 1000);
        assertEquals("500", text(500));
        array.removeBeforeIndex(999);
        assertRange(999, 1000);
        assertEquals("999", text(999));
    }

    @Test
    void theItemsBeforeATimeAreRemoved() throws IOException {
        append(0, 500);
        long between = array.getTimestamp(499) + 2;
        Waiting.until("the clock is later", () -> System.currentTimeMillis() > between);
        append(500, 1000);
        int first = 500;
        while (array.getTimestamp(first) < between) { // the clock of records may lag
            first++;
        }
        array.removeBefore(between);
        assertRange(first, 1000);
        array.removeBefore(0);
        assertRange(first, 1000);
        array.removeBefore(System.currentTimeMillis() + 1000);
        assertRange(1000, 1000);
    }

    @Test
    void theClosestIndexIsThatOfTheClosestTime() throws IOException {
        assertEquals(IBigArray.NOT_FOUND, array.findClosestIndex(System.currentTimeMillis()));
        long[] times = new long[30];
        for (int i = 0; i < times.length; i++) {
            append(i, i + 1);
            times[i] = array.getTimestamp(i);
            long next = times[i] + 10;
            Waiting.until("the clock is later", () -> System.currentTimeMillis() >= next);
        }
        for (int i = 0; i < times.length; i++) {
            for (int distance = -3; distance <= 3; distance++) {
                assertEquals(i, array.findClosestIndex(times[i] + distance));
            }
        }
        assertEquals(0, array.findClosestIndex(0));
        assertEquals(times.length - 1, array.findClosestIndex(Long.MAX_VALUE / 2));
        array.removeBeforeIndex(7);
        assertEquals(7, array.findClosestIndex(times[3]));
    }

    @Test
    void itemsHaveLengths() throws IOException {
        for (int i = 0; i <= 100; i++) {
            array.append(new byte[i]);
        }
        for (int i = 0; i <= 100; i++) {
            assertEquals(i, array.getItemLength(i));
        }
    }

    @Test
    void anItemMayBeAsLargeAsAPage() throws IOException {
        byte[] item = new byte[PAGE];
        new SplittableRandom(1).nextBytes(item);
        assertEquals(0, array.append(item));
        assertArrayEquals(item, array.get(0));
        assertThrows(IOException.class, () -> array.append(new byte[PAGE + 1]));
        assertRange(0, 1);
    }

    @Test
    void theFilesHaveASizeThatRemovalsReduce() throws IOException {
        assertEquals(0, array.getBackFileSize());
        append(0, 1);
        long one = array.getBackFileSize();
        assertTrue(one > 0);
        array.limitBackFileSize(PAGE);
        assertEquals(one, array.getBackFileSize(), "no effect");
        int items = 100;
        for (int i = 1; i < items; i++) {
            array.append(new byte[1 << 20]);
        }
        long whole = array.getBackFileSize();
        assertTrue(whole >= items - 1 << 20 && whole < (items << 20) + (16 << 20));
        array.limitBackFileSize(PAGE - 1);
        assertEquals(whole, array.getBackFileSize(), "ignored");
        long tail = 0;
        for (long limit : new long[] {3L * PAGE, 2L * PAGE, PAGE}) {
            array.limitBackFileSize(limit);
            assertTrue(array.getBackFileSize() <= limit && array.getBackFileSize() > limit - PAGE);
            assertTrue(array.getTailIndex() >= tail && array.getHeadIndex() == items);
            tail = array.getTailIndex();
            assertEquals(1 << 20, array.getItemLength(tail));
        }
        assertTrue(tail > 0);
        assertEquals(items, array.append(new byte[1]));
        assertEquals(tail, array.getTailIndex());
        array.removeAll();
        assertEquals(0, array.getBackFileSize());
    }

    @Test
    void aPageSizeBelowTheLeastThrows() throws IOException {
        String root = directory.toString();
        assertThrows(IllegalArgumentException.class, () -> new BigArrayImpl(root, "small", PAGE - 1));
        assertEquals(PAGE, array.getDataPageSize());
        try (IBigArray other = new BigArrayImpl(root, "other")) {
            assertEquals(BigArrayImpl.DEFAULT_DATA_PAGE_SIZE, other.getDataPageSize());
        }
    }

    @Test
    void itemsStayWholeWhileTheFilesAreLimited() throws Exception {
        int items = 3000;
        AtomicInteger rounds = new AtomicInteger();
        Waiting.Running<Integer> limiting = Waiting.start(() -> {
            while (array.getHeadIndex() < items) {
                array.limitBackFileSize(PAGE);
                rounds.incrementAndGet();
            }
            return rounds.get();
        });
        Waiting.until("the other thread limits the files", () -> rounds.get() > 0 || limiting.isDone());
        for (int i = 0; i < items; i++) {
            byte[] item = new byte[64 << 10];
            Arrays.fill(item, (byte) i);
            assertEquals(i, array.append(item));
        }
        assertTrue(limiting.result() > 0);
        array.limitBackFileSize(PAGE);
        assertTrue(array.getTailIndex() > 0 && array.size() > 0);
        for (long i = array.getTailIndex(); i < items; i++) {
            byte[] item = array.get(i);
            assertEquals(64 << 10, item.length);
            assertTrue(item[0] == (byte) i && item[item.length - 1] == (byte) i);
        }
    }

    @Test
    void aClosedArrayThrows() throws IOException {
        array.close();
        array.close();
        assertThrows(IOException.class, () -> array.append(new byte[1]));
        assertThrows(ClosedException.class, array::size);
    }
}
