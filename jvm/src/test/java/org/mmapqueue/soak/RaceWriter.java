package org.mmapqueue.soak;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.harness.Tally;

/** The writer of a race: pushes at full speed, may have a consumer that acks at once, and may call gc. */
final class RaceWriter implements AutoCloseable {
    /** Longer than any wait that ends. */
    static final Duration LIMIT = Duration.ofSeconds(60);

    private final Tally tally;
    private final MmapQueue queue;
    private final List<Thread> threads = new ArrayList<>();
    private int pauseEach = Integer.MAX_VALUE;
    private volatile boolean stopped;

    RaceWriter(QueueConfig config, Tally tally) {
        this.tally = tally;
        this.queue = MmapQueue.open(config);
    }

    static RaceWriter on(Path directory, int capacity, Tally tally) {
        return new RaceWriter(RaceRecords.writer(directory, capacity).build(), tally);
    }

    MmapQueue queue() {
        return queue;
    }

    /** Pauses for 1 ms after this many records; else a consumer with a lag limit would be dropped all the time. */
    RaceWriter pacing(int records) {
        pauseEach = records;
        return this;
    }

    /** Starts pushing without end. {@code gcEach} is the number of records between two calls of gc, 0 for no calls. */
    RaceWriter pushing(int gcEach) {
        return pushing(gcEach, Long.MAX_VALUE);
    }

    /** Starts pushing, up to an offset. */
    RaceWriter pushing(int gcEach, long end) {
        start("pusher", () -> {
            for (long next = queue.endOffset(); !stopped && next < end; next++) {
                push(next);
                if (next % pauseEach == pauseEach - 1) {
                    Thread.sleep(1);
                }
                if (gcEach > 0 && next % gcEach == 0) {
                    tally.add("bytes deleted", queue.gc());
                }
            }
        });
        return this;
    }

    // Waits in slices: the race may end while the ring is full.
    private void push(long next) throws InterruptedException {
        long deadline = System.nanoTime() + LIMIT.toNanos();
        while (!stopped) {
            try {
                byte[] record = RaceRecords.of(next);
                Duration slice = Duration.ofMillis(200);
                // At times each push is synced, which preallocates segment files differently.
                boolean sync = next / RaceRecords.GENERATION % 4 == 3;
                long offset = sync ? queue.pushSync(record, slice) : queue.push(record, slice);
                RaceRecords.require(offset == next, "push returned " + offset + " for " + next);
                return;
            } catch (FullException e) {
                if (System.nanoTime() - deadline > 0) {
                    tally.fault("the ring stays full; consumers " + queue.consumerStats(), e);
                    deadline = Long.MAX_VALUE / 2 + System.nanoTime();
                }
            }
        }
    }

    /** Starts popping and acking with the default consumer. */
    RaceWriter acking() {
        start("acker", () -> {
            Consumer consumer = queue.consumer();
            long next = consumer.readOffset();
            while (!stopped) {
                for (Message message : consumer.popBatch(64, Long.MAX_VALUE, Duration.ofMillis(50))) {
                    RaceRecords.check(message, next++);
                }
                if (next > 0) {
                    consumer.ackUpTo(next - 1);
                }
            }
        });
        return this;
    }

    private interface Work {
        void run() throws InterruptedException;
    }

    private void start(String name, Work work) {
        Thread thread = new Thread(
                () -> {
                    try {
                        work.run();
                    } catch (InterruptedException | RuntimeException e) {
                        tally.fault("the writer's " + name, e);
                    }
                },
                name);
        threads.add(thread);
        thread.start();
    }

    /** Stops. The default consumer, if it exists, must find every remaining record. */
    @Override
    public void close() {
        stopped = true;
        threads.forEach(RaceWriter::join);
        tally.add("records pushed", queue.endOffset());
        tally.add(
                "generations",
                queue.stats().writingPosition()
                        / RaceRecords.SEGMENT
                        / queue.stats().capacitySegments());
        try {
            drain();
        } catch (RuntimeException e) {
            tally.fault("at the end", e);
        } finally {
            queue.close();
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void drain() {
        if (!queue.consumers().contains("default")) {
            return;
        }
        Consumer consumer = queue.consumer("default", StartAt.EARLIEST);
        long next = consumer.readOffset();
        for (Message message = consumer.poll(); message != null; message = consumer.poll()) {
            RaceRecords.check(message, next++);
        }
        if (next != queue.endOffset()) {
            throw new MmapQueueException(
                    "the default consumer ends at " + next + ", the queue at " + queue.endOffset());
        }
    }
}
