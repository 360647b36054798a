package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** Pops that the caller does not wait for. */
@Timeout(120)
class PopAsyncTest {
    private static final int MOST_UNACKED = 1000;

    @TempDir(factory = QuickDirectory.class)
    Path directory;

    private MmapQueue queue;
    private Consumer consumer;

    @BeforeEach
    void open() {
        queue = MmapQueue.open(QueueConfig.builder(directory)
                .segmentSize("1m")
                .maxUnacked(MOST_UNACKED)
                .build());
        consumer = queue.consumer("a", StartAt.EARLIEST);
    }

    @AfterEach
    void close() {
        queue.close();
    }

    private static <T> T result(CompletableFuture<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    private static void assertIsClosed(CompletableFuture<?> future) {
        assertInstanceOf(
                ClosedException.class,
                assertThrows(ExecutionException.class, () -> result(future)).getCause());
    }

    private void push(int count) {
        for (int i = 0; i < count; i++) {
            queue.push(Payload.numbered(queue.endOffset(), 30));
        }
    }

    @Test
    void futuresGetTheRecordsInTheOrderOfTheCalls() throws Exception {
        List<CompletableFuture<Message>> futures = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            futures.add(consumer.popAsync());
        }
        assertFalse(futures.stream().anyMatch(CompletableFuture::isDone), "the queue is empty");
        push(20);
        for (int i = 0; i < 20; i++) {
            Message message = result(futures.get(i));
            assertEquals(i, message.offset());
            consumer.ackUpTo(message);
        }
        assertEquals(0, consumer.lag());
    }

    @Test
    void aBatchHasWhatIsAvailable() throws Exception {
        push(5);
        assertEquals(3, result(consumer.popBatchAsync(3, Long.MAX_VALUE)).size());
        assertEquals(2, result(consumer.popBatchAsync(100, Long.MAX_VALUE)).size());
        assertThrows(IllegalArgumentException.class, () -> consumer.popBatchAsync(0, 1));
    }

    /** A future that was done on return would recurse. */
    @Test
    void aDependentMayPopAgainAnyNumberOfTimes() throws Exception {
        int count = 50_000;
        CompletableFuture<Thread> end = new CompletableFuture<>();
        for (int i = 0; i < count; i++) {
            queue.push(new byte[8]);
        }
        popUpTo(count - 1, end);
        assertNotSame(Thread.currentThread(), result(end));
        assertEquals(0, consumer.lag());
    }

    private void popUpTo(long last, CompletableFuture<Thread> end) {
        consumer.popAsync()
                .thenAccept(message -> {
                    consumer.ackUpTo(message);
                    if (message.offset() == last) {
                        end.complete(Thread.currentThread());
                    } else {
                        popUpTo(last, end);
                    }
                })
                .exceptionally(failure -> {
                    end.completeExceptionally(failure);
                    return null;
                });
    }

    @Test
    void aFutureThatIsCancelledOrTimedOutTakesNoRecord() throws Exception {
        CompletableFuture<Message> cancelled = consumer.popAsync();
        CompletableFuture<Message> late = consumer.popAsync().orTimeout(1, TimeUnit.MILLISECONDS);
        assertInstanceOf(
                TimeoutException.class,
                assertThrows(CompletionException.class, late::join).getCause());
        cancelled.cancel(false);
        CompletableFuture<Message> next = consumer.popAsync();
        push(1);
        assertEquals(0, result(next).offset());
        assertEquals(1, consumer.unacked());
    }

    /** The thread may have popped the record when its future is cancelled. */
    @Test
    void recordsOfACancelledFutureStayInTheQueue() throws Exception {
        for (int round = 0; round < 200; round++) {
            CompletableFuture<Message> future = consumer.popAsync();
            Thread cancels = new Thread(() -> future.cancel(false));
            cancels.start();
            push(1);
            cancels.join();
            int expected = round;
            if (future.isCancelled()) {
                Message message = consumer.pop(Waiting.LONG);
                assertEquals(expected, message.offset());
                assertEquals(1, message.attempts());
                consumer.ackUpTo(message);
            } else {
                consumer.ackUpTo(result(future));
            }
        }
    }

    @Test
    void closingTheConsumerFailsWhatWaits() {
        List<CompletableFuture<Message>> waiting = List.of(consumer.popAsync(), consumer.popAsync());
        consumer.close();
        waiting.forEach(PopAsyncTest::assertIsClosed);
        assertIsClosed(consumer.popAsync());
    }

    private List<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(each -> each.getName().equals("mmapqueue-" + directory.getFileName() + "-a-pops"))
                .toList();
    }

    @Test
    void closingEndsTheThread() throws Exception {
        push(2);
        result(consumer.popAsync());
        assertEquals(1, threads().size());
        consumer.close();
        Waiting.until("the thread has ended with the consumer", () -> threads().isEmpty());
        consumer = queue.consumer("a", StartAt.EARLIEST);
        result(consumer.popAsync());
        assertEquals(1, threads().size());
        queue.close();
        Waiting.until("the thread has ended with the handle", () -> threads().isEmpty());
        assertIsClosed(consumer.popAsync());
        assertTrue(threads().isEmpty());
    }

    @Test
    void closingTheHandleFailsWhatWaits() {
        try (MmapQueue other = MmapQueue.openToRead(directory)) {
            CompletableFuture<Message> waiting = consumer.popAsync();
            queue.close();
            assertIsClosed(waiting);
            assertEquals(0, other.endOffset());
        }
    }

    @Test
    void atMaxUnackedTheyWaitForAnAck() throws Exception {
        push(MOST_UNACKED + 1);
        assertEquals(
                MOST_UNACKED, consumer.pollBatch(MOST_UNACKED, Long.MAX_VALUE).size());
        CompletableFuture<Message> waiting = consumer.popAsync();
        assertFalse(waiting.isDone());
        consumer.ackUpTo(0);
        assertEquals(MOST_UNACKED, result(waiting).offset());
    }

    @Test
    void anInterruptOfTheThreadFailsNothing() throws Exception {
        CompletableFuture<Message> waiting = consumer.popAsync();
        Thread thread = threads().get(0);
        thread.interrupt();
        Waiting.until("the interrupt is dropped", () -> !thread.isInterrupted());
        assertFalse(waiting.isDone());
        push(1);
        assertEquals(0, result(waiting).offset());
    }

    // ---- the other forms of a pop

    @Test
    void aTimedPollReturnsNullOrTheRecord() throws Exception {
        assertNull(consumer.poll(Duration.ZERO));
        assertNull(consumer.poll(Duration.ofMillis(1)));
        CompletableFuture<Message> polled = CompletableFuture.supplyAsync(() -> {
            try {
                return consumer.poll(Waiting.LONG);
            } catch (InterruptedException e) {
                throw new CompletionException(e);
            }
        });
        push(1);
        assertEquals(0, result(polled).offset());
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> consumer.poll(Waiting.LONG));
    }

    @Test
    void aLoopEndsAtTheLogEndAndContinuesThere() {
        for (int round = 0; round < 3; round++) {
            push(4);
            long expected = round * 4L;
            for (Message message : consumer.messages(Duration.ZERO)) {
                assertEquals(expected++, message.offset());
                consumer.ackUpTo(message);
            }
            assertEquals(queue.endOffset(), expected);
        }
    }

    @Test
    void aLoopThatIsLeftHasPoppedOnlyWhatItGot() {
        push(4);
        for (Message message : consumer.messages(Waiting.LONG)) {
            if (message.offset() == 1) {
                break;
            }
        }
        assertEquals(2, consumer.unacked());
        assertEquals(2, consumer.poll().offset());
    }

    @Test
    void anInterruptEndsALoopAndStaysPending() {
        push(2);
        int count = 0;
        for (Message message : consumer.messages(Waiting.LONG)) {
            count++;
            consumer.nack(message);
            Thread.currentThread().interrupt();
        }
        assertTrue(Thread.interrupted());
        assertEquals(1, count);
    }

    @Test
    void messagesAreAckedAndNackedAsTheirOffsets() {
        push(5);
        List<Message> popped = consumer.pollBatch(5, Long.MAX_VALUE);
        consumer.ack(popped.get(3));
        consumer.ackUpTo(popped.get(1));
        assertEquals(2, consumer.committedOffset());
        consumer.nack(popped.get(4));
        consumer.nack(popped.get(2), Duration.ZERO);
        List<Long> again = consumer.pollBatch(5, Long.MAX_VALUE).stream()
                .map(Message::offset)
                .toList();
        assertEquals(List.of(2L, 4L), again.stream().sorted().toList());
        consumer.ackUpTo(popped.get(4));
        assertEquals(5, consumer.committedOffset());
    }
}
