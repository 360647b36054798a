package org.mmapqueue.async;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.io.Threads;
import org.mmapqueue.write.RoomWait;
import org.mmapqueue.write.Writer;

/**
 * The asynchronous pushes of a handle. The caller's thread appends a record if the ring has space and no other push
 * waits. One thread of the handle appends the waiting records in the order of the calls, and fsyncs once for all that
 * wait. It completes futures without holding a lock. An Error fails all pushes that wait. Safe for any number of threads.
 */
public final class AsyncPusher {
    private static final long NONE = -1;

    /** The maximum number of payload bytes that may wait for space. */
    static final long MOST_BYTES = 16 << 20;

    private static final long SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private record Push(byte[] data, boolean sync, CompletableFuture<Long> future) {}

    /** A future to complete, with the offset or with the failure. */
    private record Completion(
            CompletableFuture<Long> future,
            long offset,
            @Nullable Throwable failure) {
        void run() {
            if (failure == null) {
                future.complete(offset);
            } else {
                future.completeExceptionally(failure);
            }
        }
    }

    private final Writer writer;
    private final String name;
    // The monitor of this object guards all fields below.
    private final Deque<Push> waiting = new ArrayDeque<>();
    private List<Completion> unsynced = new ArrayList<>();
    private long waitingBytes;
    /** Whether the thread appends or fsyncs; it runs no code of the caller then. */
    private boolean working;

    private boolean started;
    private volatile boolean stopped;
    /** The pushes that the thread fsyncs; used by the thread alone. */
    private List<Completion> syncing = List.of();
    /** The wait of the first waiting push, since the last one had room; used by the thread alone. */
    private @Nullable RoomWait wait;

    /**
     * Starts no thread before a push has to wait.
     *
     * @param name the thread's name
     */
    public AsyncPusher(Writer writer, String name) {
        this.writer = writer;
        this.name = name;
    }

    /** Pushes a record; every failure completes the future. */
    public CompletableFuture<Long> push(byte[] data, boolean sync) {
        CompletableFuture<Long> future = new CompletableFuture<>();
        Completion done;
        try {
            done = append(new Push(data, sync, future));
        } catch (RuntimeException | OutOfMemoryError e) { // also if no thread can be started
            done = new Completion(future, NONE, e);
        }
        if (done != null) {
            done.run();
        }
        return future;
    }

    // Returns null if the thread will complete the future.
    private synchronized @Nullable Completion append(Push push) {
        if (stopped) {
            throw new ClosedException("this handle of the queue is closed");
        }
        if (push.sync) {
            start(); // first: if that fails, nothing is stored
        }
        long offset = waiting.isEmpty() ? writer.offer(push.data, 0, push.data.length) : NONE;
        if (offset == NONE) {
            start();
            await(push);
        } else if (push.sync) {
            unsynced.add(new Completion(push.future, offset, null));
        } else {
            return new Completion(push.future, offset, null);
        }
        notifyAll();
        return null;
    }

    private void await(Push push) {
        if (!waiting.isEmpty() && waitingBytes + push.data.length > MOST_BYTES) {
            throw new FullException("the ring is full, and " + waitingBytes
                    + " bytes of asynchronous pushes wait for space; allowed: " + MOST_BYTES);
        }
        waiting.add(push);
        waitingBytes += push.data.length;
    }

    private void start() {
        if (!started) {
            Thread thread = new Thread(this::run, name);
            thread.setDaemon(true);
            thread.start();
            started = true;
        }
    }

    private void run() {
        while (hasWork()) {
            List<Completion> done = List.of();
            Throwable failure = null;
            try {
                done = work();
            } catch (RuntimeException | Error e) { // mostly OutOfMemoryError
                failure = e;
            } finally {
                synchronized (this) {
                    working = false;
                    notifyAll();
                }
            }
            done.forEach(Completion::run);
            if (wait != null) {
                wait.goesOn(); // may run code of the caller: here a close does not wait for this thread
            }
            if (failure != null) {
                failAll(failure);
            }
            syncing = List.of();
        }
    }

    // Waits for work; returns false once the handle is closed.
    private synchronized boolean hasWork() {
        while (!stopped && waiting.isEmpty() && unsynced.isEmpty()) {
            awaitChange();
        }
        working = !stopped;
        return working;
    }

    private List<Completion> work() {
        Push next;
        synchronized (this) {
            syncing = takeUnsynced();
            next = waiting.peek();
        }
        List<Completion> done = new ArrayList<>(syncing.size() + 1); // so that append allocates no room
        done.addAll(synced(syncing));
        if (next == null) {
            wait = null;
        } else {
            append(next, done);
        }
        return done;
    }

    // Fails all pushes of the handle; their records may be in the log. The thread continues with later ones.
    private void failAll(Throwable failure) {
        syncing.forEach(each -> each.future.completeExceptionally(failure));
        for (CompletableFuture<Long> next = takeAny(); next != null; next = takeAny()) {
            next.completeExceptionally(failure);
        }
    }

    private synchronized @Nullable CompletableFuture<Long> takeAny() {
        Push next = waiting.poll();
        if (next != null) {
            waitingBytes -= next.data.length;
            return next.future;
        }
        return unsynced.isEmpty() ? null : unsynced.remove(unsynced.size() - 1).future;
    }

    @SuppressWarnings("WaitNotInLoop") // the callers loop
    private void awaitChange() {
        try {
            wait();
        } catch (InterruptedException e) {
            Threads.wasInterrupted();
        }
    }

    private List<Completion> takeUnsynced() {
        List<Completion> taken = unsynced;
        unsynced = new ArrayList<>();
        return taken;
    }

    private List<Completion> synced(List<Completion> appended) {
        if (appended.isEmpty()) {
            return appended;
        }
        try {
            writer.awaitDurable();
            return appended;
        } catch (RuntimeException | Error e) {
            return appended.stream()
                    .map(each -> new Completion(each.future, each.offset, e))
                    .toList();
        }
    }

    // Waits for space only for a moment, since other records may have to be fsynced.
    private void append(Push push, List<Completion> done) {
        long offset = NONE;
        Throwable failure = null;
        try {
            offset = writer.offer(push.data, 0, push.data.length, SLICE_NANOS, () -> stopped);
        } catch (InterruptedException e) {
            Threads.wasInterrupted();
            return;
        } catch (RuntimeException | Error e) {
            failure = e;
        }
        if (offset == NONE && failure == null) {
            if (wait == null) {
                wait = writer.newWait();
            }
            return;
        }
        wait = null;
        Completion completion = new Completion(push.future, offset, failure);
        boolean syncs = push.sync && failure == null;
        synchronized (this) {
            if (syncs) {
                unsynced.add(completion); // first: if this runs out of memory, the push still waits, and fails
            }
            waiting.remove();
            waitingBytes -= push.data.length;
        }
        if (!syncs) {
            done.add(completion);
        }
    }

    /**
     * Ends the thread: pushes that wait for space fail, those that wait for an fsync succeed. The queue must still be
     * open.
     */
    public void close() {
        List<Completion> syncing;
        List<Push> dropped;
        synchronized (this) {
            stopped = true;
            notifyAll();
            awaitEndOfWork();
            syncing = takeUnsynced();
            dropped = List.copyOf(waiting);
            waiting.clear();
        }
        synced(syncing).forEach(Completion::run);
        dropped.forEach(each -> each.future.completeExceptionally(
                new ClosedException("this handle of the queue was closed before the ring had space")));
    }

    // Waits until the thread has ended its append or fsync, which runs no code of the caller.
    private void awaitEndOfWork() {
        boolean interrupted = false;
        while (working) {
            try {
                wait();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
