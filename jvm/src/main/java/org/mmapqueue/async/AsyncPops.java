package org.mmapqueue.async;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.mmapqueue.Message;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.Threads;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The asynchronous pops of a consumer. One thread pops for the futures in the order of the calls, and completes them
 * without a lock; without a pending future it ends after a while. No future is completed in the calling thread: a
 * dependent that pops again would recurse. Safe for any number of threads.
 */
public final class AsyncPops {
    private static final Logger LOG = LoggerFactory.getLogger(AsyncPops.class);
    private static final long IDLE_SECONDS = 10;

    /** The consumer. Once it is closed, both methods throw. */
    public interface Source {
        /** Waits for the first record; returns an empty list once {@code isCancelled} is true. */
        List<Message> pop(int maxRecords, long maxBytes, BooleanSupplier isCancelled) throws InterruptedException;

        /** Releases popped records. */
        void release(long[] offsets);
    }

    private final Source source;
    private final ThreadPoolExecutor thread;

    /**
     * Starts no thread before the first pop.
     *
     * @param name the thread's name
     */
    public AsyncPops(Source source, String name) {
        this.source = source;
        this.thread =
                new ThreadPoolExecutor(1, 1, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), body -> {
                    Thread made = new Thread(body, name);
                    made.setDaemon(true);
                    return made;
                });
        thread.allowCoreThreadTimeOut(true);
    }

    /**
     * Pops records once the earlier futures are done; every failure completes the future.
     *
     * @param result makes the future's result of the records, of which there is at least one
     */
    public <T> CompletableFuture<T> pop(int maxRecords, long maxBytes, Function<List<Message>, T> result) {
        CompletableFuture<T> future = new CompletableFuture<>();
        try {
            thread.execute(() -> complete(future, maxRecords, maxBytes, result));
        } catch (RejectedExecutionException e) {
            future.completeExceptionally(new ClosedException("the consumer, or its handle of the queue, is closed"));
        } catch (OutOfMemoryError e) { // also if no thread can be started
            future.completeExceptionally(e);
        }
        return future;
    }

    /**
     * Lets the thread end once the pending futures are done, which fail if the consumer is closed. Waits for nothing: a
     * dependent may call it.
     */
    public void close() {
        thread.shutdown();
    }

    private <T> void complete(
            CompletableFuture<T> future, int maxRecords, long maxBytes, Function<List<Message>, T> result) {
        while (!future.isDone()) {
            try {
                List<Message> popped = source.pop(maxRecords, maxBytes, future::isDone);
                if (!popped.isEmpty() && !future.complete(result.apply(popped))) {
                    release(popped);
                }
            } catch (InterruptedException e) {
                Threads.wasInterrupted();
            } catch (RuntimeException | Error e) {
                future.completeExceptionally(e);
            }
        }
    }

    // The caller has cancelled the future, or its time is over.
    private void release(List<Message> popped) {
        try {
            source.release(popped.stream().mapToLong(Message::offset).toArray());
        } catch (MmapQueueException e) {
            LOG.debug("the consumer was closed or moved, which has released the records of a cancelled pop", e);
        }
    }
}
