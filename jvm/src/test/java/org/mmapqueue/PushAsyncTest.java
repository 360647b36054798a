package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.async.AsyncPusher;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.ReadOnlyException;
import org.mmapqueue.errors.TooLargeException;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** Pushes that the caller does not wait for. */
@Timeout(120)
class PushAsyncTest {
    private static final int LENGTH = 8 << 20;

    @TempDir(factory = QuickDirectory.class)
    Path directory;

    private MmapQueue queue;

    @BeforeEach
    void open() {
        queue = MmapQueue.open(QueueConfig.builder(directory)
                .segmentSize("4m")
                .queueCapacitySegments(5)
                .maxEventSize(LENGTH)
                .flushPeriod(Duration.ofHours(1))
                .build());
    }

    @AfterEach
    void close() {
        queue.close();
    }

    private static <T> T result(CompletableFuture<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    private static Throwable failure(CompletableFuture<?> future) {
        return assertThrows(CompletionException.class, future::join).getCause();
    }

    /** Fills the ring to the last byte; returns the number of records. */
    private int fill() {
        int count = 0;
        for (int length = LENGTH; length > 0; length /= 2) {
            while (queue.offer(new byte[length]).isPresent()) {
                count++;
            }
        }
        return count;
    }

    @Test
    void withSpaceTheFutureIsDoneOnReturn() {
        for (long i = 0; i < 100; i++) {
            CompletableFuture<Long> future = queue.pushAsync(Payload.numbered(i, 30));
            assertTrue(future.isDone());
            assertEquals(i, future.join());
        }
        for (long i = 0; i < 100; i++) {
            assertEquals(i, Payload.numberOf(queue.consumer().pop().data()));
        }
    }

    @Test
    void withSyncTheRecordIsDurableWhenTheFutureIsDone() throws Exception {
        List<CompletableFuture<Long>> futures = new ArrayList<>();
        List<Long> done = Collections.synchronizedList(new ArrayList<>());
        for (long i = 0; i < 50; i++) {
            long end = i;
            CompletableFuture<Long> future = queue.pushAsync(Payload.numbered(i, 30), true);
            futures.add(future.thenApply(offset -> {
                done.add(offset);
                assertTrue(queue.stats().watermarkPosition() >= end * 40, "the recovery point is after the record");
                return offset;
            }));
        }
        for (int i = 0; i < futures.size(); i++) {
            assertEquals(i, result(futures.get(i)));
        }
        assertEquals(LongStream.range(0, 50).boxed().toList(), done);
        assertEquals(queue.stats().writingPosition(), queue.stats().watermarkPosition());
    }

    @Test
    void withoutSpaceTheyWaitInOrder() throws Exception {
        int count = fill();
        List<CompletableFuture<Long>> futures = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            futures.add(queue.pushAsync(Payload.numbered(i, 100), i % 3 == 0));
        }
        assertFalse(futures.stream().anyMatch(CompletableFuture::isDone));
        Payload.drain(queue);
        queue.consumer().ackUpTo(count - 1);
        for (int i = 0; i < futures.size(); i++) {
            assertEquals(count + i, result(futures.get(i)));
        }
        for (int i = 0; i < futures.size(); i++) {
            assertEquals(i, Payload.numberOf(queue.consumer().pop().data()));
        }
    }

    @Test
    void whatWaitsIsLimitedInBytes() throws Exception {
        int count = fill();
        List<CompletableFuture<Long>> waiting =
                List.of(queue.pushAsync(new byte[LENGTH]), queue.pushAsync(new byte[LENGTH]));
        CompletableFuture<Long> beyond = queue.pushAsync(new byte[1]);
        assertInstanceOf(FullException.class, failure(beyond));
        for (CompletableFuture<Long> each : waiting) {
            assertFalse(each.isDone());
            Payload.drain(queue);
            queue.consumer().ackUpTo(queue.endOffset() - 1);
            assertEquals(count++, result(each));
        }
        Payload.drain(queue);
        queue.consumer().ackUpTo(queue.endOffset() - 1);
        assertEquals(count, result(queue.pushAsync(new byte[1])), "there is space again");
    }

    @Test
    void dependentsMayCallTheQueueAndCloseIt() throws Exception {
        int count = fill();
        CompletableFuture<Thread> thread = queue.pushAsync(new byte[3], true).thenApply(offset -> {
            assertEquals(count, queue.consumer().pop().offset());
            queue.push(new byte[4]);
            queue.flush();
            queue.close();
            return Thread.currentThread();
        });
        Payload.drain(queue);
        queue.consumer().ackUpTo(count - 1);
        assertNotSame(Thread.currentThread(), result(thread));
        assertThrows(ClosedException.class, () -> queue.push(new byte[1]));
        open();
        assertEquals(count + 2, queue.endOffset());
    }

    @Test
    void closeFailsWhatWaitsForSpaceAndSyncsTheRest() throws Exception {
        CompletableFuture<Long> synced = queue.pushAsync(new byte[9], true);
        int count = 1 + fill();
        CompletableFuture<Long> waiting = queue.pushAsync(new byte[LENGTH], true);
        CompletableFuture<Long> second = queue.pushAsync(new byte[1]);
        queue.close();
        assertEquals(0, result(synced));
        assertInstanceOf(ClosedException.class, failure(waiting));
        assertInstanceOf(ClosedException.class, failure(second));
        open();
        assertEquals(count, queue.endOffset());
    }

    /** A list in which the thread of the pushes runs out of memory once. */
    private static final class NoMemory extends ArrayList<Object> {
        private static final long serialVersionUID = 1L;

        @Override
        public Object[] toArray() {
            throw new OutOfMemoryError("injected");
        }
    }

    @Test
    void anErrorOfTheThreadFailsWhatWaitsAndLaterPushesWork() throws Exception {
        int count = fill();
        Field unsynced = AsyncPusher.class.getDeclaredField("unsynced");
        unsynced.setAccessible(true);
        List<CompletableFuture<Long>> waiting = new ArrayList<>();
        AsyncPusher pusher = queue.async();
        synchronized (pusher) {
            unsynced.set(pusher, new NoMemory());
            for (int i = 0; i < 4; i++) {
                waiting.add(queue.pushAsync(new byte[LENGTH / 4], i % 2 == 0));
            }
        }
        for (CompletableFuture<Long> each : waiting) {
            ExecutionException e = assertThrows(ExecutionException.class, () -> result(each));
            assertInstanceOf(OutOfMemoryError.class, e.getCause());
        }
        Payload.drain(queue);
        queue.consumer().ackUpTo(count - 1);
        assertEquals(count, result(queue.pushAsync(new byte[1], true)));
    }

    /** A thread without a name cannot be made, as one without memory. */
    @Test
    void withoutItsThreadAPushFailsAndStoresNothing() throws Exception {
        AsyncPusher pusher = new AsyncPusher(queue.core().writer(), null);
        assertInstanceOf(NullPointerException.class, failure(pusher.push(new byte[1], true)));
        assertEquals(0, queue.endOffset());
        long end = fill();
        assertInstanceOf(NullPointerException.class, failure(pusher.push(new byte[LENGTH], false)));
        for (Message message : Payload.drain(queue)) {
            queue.consumer().ack(message);
        }
        assertEquals(end, result(pusher.push(new byte[1], false)));
        pusher.close();
    }

    @Test
    void closingOneHandleLeavesTheOthers() throws Exception {
        MmapQueue other = MmapQueue.open(QueueConfig.builder(directory).build());
        CompletableFuture<Long> synced = other.pushAsync(new byte[9], true);
        other.close();
        assertEquals(0, result(synced));
        assertEquals(1, result(queue.pushAsync(new byte[9], true)));
    }

    @Test
    void failuresAreThoseOfTheFuture() {
        assertInstanceOf(TooLargeException.class, failure(queue.pushAsync(new byte[LENGTH + 1])));
        try (MmapQueue reading = MmapQueue.openToRead(directory)) {
            assertInstanceOf(ReadOnlyException.class, failure(reading.pushAsync(new byte[1])));
        }
        queue.close();
        assertInstanceOf(ClosedException.class, failure(queue.pushAsync(new byte[1])));
        assertThrows(NullPointerException.class, () -> queue.pushAsync(null));
    }

    @Test
    void eachThreadsRecordsKeepTheirOrder() throws Exception {
        int threads = 4;
        int records = 2000;
        List<Waiting.Running<List<CompletableFuture<Long>>>> running = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            long first = (long) t * records;
            running.add(Waiting.start(() -> {
                List<CompletableFuture<Long>> futures = new ArrayList<>();
                for (int i = 0; i < records; i++) {
                    futures.add(queue.pushAsync(Payload.numbered(first + i, 30), i % 7 == 0));
                }
                return futures;
            }));
        }
        for (int t = 0; t < threads; t++) {
            long last = -1;
            List<CompletableFuture<Long>> futures = running.get(t).result();
            for (int i = 0; i < records; i++) {
                long offset = result(futures.get(i));
                assertTrue(offset > last);
                assertEquals(
                        (long) t * records + i,
                        Payload.numberOf(queue.get(offset).data()));
                last = offset;
            }
        }
        assertEquals((long) threads * records, queue.endOffset());
    }
}
