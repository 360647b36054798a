package org.mmapqueue.core;

import java.io.Closeable;
import java.util.concurrent.TimeUnit;
import org.mmapqueue.concurrent.OwnThread;

/**
 * Saves in-flight records every flush_period in a process that only reads, which has no flusher. The thread starts with
 * the first consumer. Safe for any number of threads.
 */
final class InFlightSaver implements Closeable {
    private final OwnThread thread;

    /** @param save saves all consumers, and throws nothing */
    InFlightSaver(String name, Runnable save, long periodMillis) {
        long nanos = TimeUnit.MILLISECONDS.toNanos(periodMillis);
        OwnThread[] self = {null};
        self[0] = new OwnThread(name, () -> {
            while (!self[0].isEnding()) {
                self[0].pause(nanos);
                save.run();
            }
        });
        this.thread = self[0];
    }

    void start() {
        thread.start();
    }

    /** Ends the thread; does not wait for a running call, which a close of its consumer waits for. */
    @Override
    public void close() {
        thread.end();
    }
}
