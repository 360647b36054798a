package org.mmapqueue.cost;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Function;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;

/**
 * The counted operations, by name. Those of one kind stay in one segment, and the background threads are idle. {@link
 * CountingLoader} loads this class, so the test uses it by interfaces of the JDK alone.
 */
public final class Work implements Function<Path, Map<String, Runnable>> {
    /** Operations in each work. */
    static final int COUNT = 1000;

    static final int BATCH = 100;

    private final byte[] record = new byte[100];
    private MmapQueue queue;
    private Consumer consumer;
    private long last;

    @Override
    public Map<String, Runnable> apply(Path directory) {
        queue = MmapQueue.open(QueueConfig.builder(directory)
                .segmentSize("16m")
                .queueCapacitySegments(4)
                .maxInMemSegments(4)
                .flushPeriod(Duration.ofMinutes(10))
                .flushCeilingNum(1_000_000_000)
                .build());
        consumer = queue.consumer();
        byte[][] batch = new byte[BATCH][];
        Arrays.fill(batch, record);
        return Map.of(
                "push",
                () -> repeat(COUNT, () -> queue.push(record)),
                "pushBatch",
                () -> repeat(COUNT / BATCH, () -> queue.pushBatch(Arrays.asList(batch))),
                "poll",
                () -> repeat(COUNT, this::poll),
                "popBatch",
                () -> repeat(COUNT / BATCH, this::popBatch),
                "ack",
                () -> consumer.ackUpTo(last),
                "get",
                () -> repeat(COUNT, () -> queue.get(last)),
                "close",
                queue::close);
    }

    private static void repeat(int count, Runnable work) {
        for (int i = 0; i < count; i++) {
            work.run();
        }
    }

    private void poll() {
        if (!consumer.poll((offset, timestamp, buffer, start, length, attempts) -> last = offset)) {
            throw new AssertionError("no record is left to pop");
        }
    }

    private void popBatch() {
        try {
            int count = consumer.popBatch(
                    BATCH,
                    Long.MAX_VALUE,
                    Duration.ZERO,
                    (offset, timestamp, buffer, start, length, attempts) -> last = offset);
            if (count != BATCH) {
                throw new AssertionError("a batch of " + count);
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
