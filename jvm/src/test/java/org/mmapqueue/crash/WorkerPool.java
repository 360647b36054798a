package org.mmapqueue.crash;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;

/** Worker processes that are started ahead: the start of a JVM takes longer than a round. Thread-safe. */
final class WorkerPool implements AutoCloseable {
    private final Class<?> main;
    private final Deque<WorkerProcess> ready = new ArrayDeque<>();

    WorkerPool(Class<?> main, int ahead) throws IOException {
        this.main = main;
        for (int i = 0; i < ahead; i++) {
            ready.add(new WorkerProcess(main));
        }
    }

    /** Returns a process that waits for its orders, and starts another one. */
    WorkerProcess take() throws IOException, InterruptedException {
        WorkerProcess process;
        synchronized (this) {
            ready.add(new WorkerProcess(main));
            process = ready.remove();
        }
        process.awaitReady();
        return process;
    }

    @Override
    public synchronized void close() throws IOException {
        for (WorkerProcess process : ready) {
            process.close();
        }
        ready.clear();
    }
}
