package org.mmapqueue.bigqueue;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** The behaviours that bigqueue's unit tests demand of a queue. */
@Timeout(120)
@SuppressWarnings("FutureReturnValueIgnored") // the dependents are what is tested
class BigQueueTest {
    private static final int PAGE = BigArrayImpl.MINIMUM_DATA_PAGE_SIZE;

    @TempDir(factory = QuickDirectory.class)
    Path directory;

    private IBigQueue queue;

    @BeforeEach
    void open() throws IOException {
        queue = new BigQueueImpl(directory.toString(), "queue", PAGE);
    }

    @AfterEach
    void close() throws IOException {
        queue.close();
    }

    private void enqueue(String item) throws IOException {
        queue.enqueue(item.getBytes(UTF_8));
    }

    private static String text(byte[] item) {
        return item == null ? null : new String(item, UTF_8);
    }

    private void assertSize(long size) {
        assertEquals(size, queue.size());
        assertEquals(size == 0, queue.isEmpty());
    }

    @Test
    void itemsAreDequeuedOnce() throws IOException {
        for (int open = 0; open < 2; open++) {
            for (int round = 0; round < 3; round++) {
                assertSize(0);
                assertNull(queue.dequeue());
                assertNull(queue.peek());
                enqueue("hello");
                assertSize(1);
                assertEquals("hello", text(queue.peek()));
                assertEquals("hello", text(queue.dequeue()));
                assertNull(queue.dequeue());
                enqueue("world");
                queue.flush();
                assertSize(1);
                assertEquals("world", text(queue.dequeue()));
                assertNull(queue.dequeue());
            }
            queue.close();
            open();
        }
    }

    @Test
    void aQueueIsTheSameAfterAReopen() throws IOException {
        int items = 2000;
        for (int i = 0; i < items; i++) {
            enqueue(Integer.toString(i));
            assertSize(i + 1);
            assertEquals("0", text(queue.peek()));
        }
        queue.close();
        open();
        assertSize(items);
        for (int i = 0; i < items; i++) {
            assertEquals(Integer.toString(i), text(queue.dequeue()));
            assertSize(items - i - 1);
            if (i == items / 2) {
                queue.close();
                open();
            }
        }
        queue.gc();
        assertSize(0);
        enqueue("after gc");
        assertEquals("after gc", text(queue.dequeue()));
    }

    @Test
    void aPageSizeBelowTheLeastThrows() throws IOException {
        String root = directory.toString();
        assertThrows(IllegalArgumentException.class, () -> new BigQueueImpl(root, "small", PAGE - 1));
        try (IBigQueue other = new BigQueueImpl(root, "other")) {
            assertTrue(other.isEmpty());
        }
    }

    @Test
    void applyForEachLeavesTheItems() throws IOException {
        for (String each : List.of("gone", "1", "2", "3")) {
            enqueue(each);
        }
        queue.dequeue();
        List<String> seen = new ArrayList<>();
        queue.applyForEach(item -> seen.add(text(item)));
        assertEquals(List.of("1", "2", "3"), seen);
        IOException failure = new IOException("enough");
        assertSame(
                failure,
                assertThrows(
                        IOException.class,
                        () -> queue.applyForEach(item -> {
                            throw failure;
                        })));
        assertSize(3);
        for (String each : seen) {
            assertEquals(each, text(queue.dequeue()));
        }
    }

    @Test
    void applyForEachSeesItemsInOrderBesideOtherThreads() throws Exception {
        int items = 20_000;
        Waiting.Running<Integer> publisher = Waiting.start(() -> {
            for (int i = 0; i < items; i++) {
                enqueue(Integer.toString(i));
            }
            return items;
        });
        Waiting.Running<Integer> subscriber = Waiting.start(() -> {
            int next = 0;
            while (next < items) {
                byte[] item = queue.dequeue();
                if (item != null) {
                    assertEquals(next++, Integer.parseInt(text(item)));
                }
            }
            return next;
        });
        while (!publisher.isDone() || !subscriber.isDone()) {
            AtomicInteger last = new AtomicInteger(-1);
            queue.applyForEach(item -> {
                int value = Integer.parseInt(text(item));
                assertTrue(value > last.getAndSet(value));
            });
        }
        assertEquals(items, publisher.result());
        assertEquals(items, subscriber.result());
        assertSize(0);
    }

    @Test
    void eachItemIsDequeuedByOneThread() throws Exception {
        int items = 20_000;
        for (int i = 0; i < items; i++) {
            enqueue(Integer.toString(i));
        }
        List<Waiting.Running<Long>> running = new ArrayList<>();
        for (int thread = 0; thread < 3; thread++) {
            running.add(Waiting.start(() -> {
                long sum = 0;
                for (byte[] item = queue.dequeue(); item != null; item = queue.dequeue()) {
                    sum += Integer.parseInt(text(item));
                }
                return sum;
            }));
        }
        long sum = 0;
        for (Waiting.Running<Long> each : running) {
            sum += each.result();
        }
        assertEquals(items * (items - 1L) / 2, sum);
    }

    @Test
    void anEnqueueCompletesTheFuture() throws Exception {
        CompletableFuture<byte[]> future = queue.dequeueAsync();
        AtomicInteger calls = new AtomicInteger();
        future.thenRun(calls::incrementAndGet);
        future.thenRun(calls::incrementAndGet);
        assertEquals(0, calls.get());
        enqueue("test");
        enqueue("test2");
        assertTrue(future.isDone());
        assertEquals("test", text(future.get()));
        assertEquals(2, calls.get());
        CompletableFuture<byte[]> second = queue.dequeueAsync();
        assertTrue(second.isDone());
        assertEquals("test2", text(second.get(5, TimeUnit.SECONDS)));
        assertSize(0);
    }

    @Test
    void aDependentThatComesLaterIsCalled() throws IOException {
        enqueue("test");
        AtomicInteger calls = new AtomicInteger();
        queue.dequeueAsync().thenRun(calls::incrementAndGet);
        assertEquals(1, calls.get());
    }

    @Test
    void eachItemNeedsAFutureOfItsOwn() throws IOException {
        enqueue("test");
        assertTrue(queue.dequeueAsync().isDone());
        CompletableFuture<byte[]> next = queue.dequeueAsync();
        assertFalse(next.isDone());
        assertSame(next, queue.dequeueAsync());
        enqueue("test");
        assertTrue(next.isDone());
        enqueue("for nobody");
        assertSize(1);
    }

    @Test
    void closeCancelsTheFutures() throws IOException {
        CompletableFuture<byte[]> dequeue = queue.dequeueAsync();
        CompletableFuture<byte[]> peek = queue.peekAsync();
        AtomicInteger calls = new AtomicInteger();
        dequeue.whenComplete((item, failure) -> calls.incrementAndGet());
        queue.close();
        assertTrue(dequeue.isCancelled());
        assertTrue(peek.isCancelled());
        assertEquals(1, calls.get());
    }

    @Test
    void futuresWorkAfterAReopen() throws Exception {
        enqueue("test");
        queue.close();
        open();
        assertEquals("test", text(queue.dequeueAsync().get(5, TimeUnit.SECONDS)));
    }

    @Test
    void futuresWorkAfterTheRemovalOfAllItems() throws IOException {
        enqueue("test");
        enqueue("test");
        assertTrue(queue.dequeueAsync().isDone());
        queue.removeAll();
        assertSize(0);
        CompletableFuture<byte[]> future = queue.dequeueAsync();
        assertFalse(future.isDone());
        enqueue("new");
        assertEquals("new", text(future.join()));
        assertNull(queue.dequeue());
    }

    @Test
    void aPeekAndADequeueGetTheSameItem() throws IOException {
        CompletableFuture<byte[]> dequeue = queue.dequeueAsync();
        CompletableFuture<byte[]> peek = queue.peekAsync();
        enqueue("Test1");
        assertEquals("Test1", text(dequeue.join()));
        assertEquals("Test1", text(peek.join()));
        assertSize(0);
    }

    @Test
    void peeksLeaveTheItem() throws IOException {
        CompletableFuture<byte[]> first = queue.peekAsync();
        enqueue("Test1");
        for (CompletableFuture<byte[]> each : List.of(first, queue.peekAsync(), queue.peekAsync())) {
            assertTrue(each.isDone());
            assertArrayEquals("Test1".getBytes(UTF_8), each.join());
        }
        assertSize(1);
    }

    @Test
    void dependentsThatAskForTheNextItemGetAllBesideAWriter() throws Exception {
        int items = 2000;
        CompletableFuture<Integer> done = new CompletableFuture<>();
        class Next implements java.util.function.Consumer<byte[]> {
            private int count;

            @Override
            public void accept(byte[] item) {
                assertEquals(count++, Integer.parseInt(text(item)));
                if (count == items) {
                    done.complete(count);
                } else {
                    queue.dequeueAsync().thenAcceptAsync(this);
                }
            }
        }
        queue.dequeueAsync().thenAcceptAsync(new Next());
        Waiting.Running<Integer> writer = Waiting.start(() -> {
            for (int i = 0; i < items; i++) {
                enqueue(Integer.toString(i));
            }
            return items;
        });
        assertEquals(items, done.get(60, TimeUnit.SECONDS));
        assertEquals(items, writer.result());
        assertSize(0);
    }

    @Test
    void aCancelledFutureTakesNoItem() throws IOException {
        assertTrue(queue.dequeueAsync().cancel(false));
        enqueue("test");
        assertSize(1);
        assertEquals("test", text(queue.dequeue()));
    }

    /** Is cancelled while it gets its item; another future is made then, and finds the queue empty. */
    private final class CancelledLate extends CompletableFuture<byte[]> {
        private CompletableFuture<byte[]> next;

        @Override
        public boolean complete(byte[] item) {
            cancel(false);
            next = queue.dequeueAsync();
            return super.complete(item);
        }
    }

    @Test
    void theItemOfAFutureThatIsCancelledLateGoesToTheNextOne() throws Exception {
        CancelledLate cancelled = new CancelledLate();
        Field dequeued = BigQueueImpl.class.getDeclaredField("dequeued");
        dequeued.setAccessible(true);
        dequeued.set(queue, cancelled);
        enqueue("test");
        assertEquals("test", text(cancelled.next.getNow(null)));
        assertSize(0);
    }

    @Test
    void aClosedQueueThrows() throws IOException {
        queue.close();
        queue.close();
        assertThrows(IOException.class, () -> enqueue("late"));
        assertThrows(IOException.class, queue::dequeue);
        assertThrows(ClosedException.class, queue::size);
        assertTrue(queue.dequeueAsync().isCompletedExceptionally());
    }
}
