package org.mmapqueue.archive;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * Reads the queue while its shipper stores a run, on a thread of its own, which the first task starts. For the shipper's
 * thread alone.
 */
final class RunCollector {
    private final ExecutorService thread = Executors.newSingleThreadExecutor(task -> {
        Thread started = new Thread(task, Thread.currentThread().getName() + "-collector");
        started.setDaemon(true);
        return started;
    });

    private @Nullable Future<?> running;

    /** Starts a task. The one before must have been awaited. */
    void start(Runnable task) {
        running = thread.submit(task);
    }

    /**
     * Waits for the task, if one was started. An interrupt of the caller stays pending: a task reads memory, and ends
     * soon. An exception of the task is dropped, as the caller repeats the read that has thrown; an Error is thrown.
     */
    void await() {
        Future<?> task = running;
        running = null;
        boolean interrupted = false;
        while (task != null) {
            try {
                task.get();
                task = null;
            } catch (InterruptedException e) {
                interrupted = true;
            } catch (ExecutionException e) {
                task = null;
                if (e.getCause() instanceof Error error) {
                    throw error;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits for the task, and ends the thread. */
    void close() {
        thread.shutdown();
        await();
    }
}
