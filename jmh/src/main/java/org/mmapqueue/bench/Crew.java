package org.mmapqueue.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Phaser;

/** Threads that all do their job once whenever they are told to. */
final class Crew {
    private static final long PATIENCE_MILLIS = 1000;
    private final Phaser phaser = new Phaser(1);
    private final List<Thread> threads = new ArrayList<>();
    private volatile Throwable failure;

    void add(String name, Runnable job) {
        phaser.register();
        Thread thread = new Thread(() -> live(job), name);
        thread.setDaemon(true);
        threads.add(thread);
        thread.start();
    }

    /** Returns when each has done its job; raises what one of them has raised. */
    void work() {
        phaser.arriveAndAwaitAdvance();
        phaser.arriveAndAwaitAdvance();
        if (failure != null) {
            throw new IllegalStateException("a thread of the benchmark has failed", failure);
        }
    }

    void dismiss() {
        phaser.forceTermination();
        boolean interrupted = false;
        for (Thread thread : threads) {
            try {
                thread.join(PATIENCE_MILLIS);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void live(Runnable job) {
        while (true) {
            phaser.arriveAndAwaitAdvance();
            if (phaser.isTerminated()) {
                return;
            }
            try {
                job.run();
            } catch (RuntimeException | Error e) {
                // The others may wait for ever for what this one has not done: the run is over.
                failure = e;
                e.printStackTrace();
                phaser.forceTermination();
                return;
            }
            phaser.arriveAndAwaitAdvance();
        }
    }
}
