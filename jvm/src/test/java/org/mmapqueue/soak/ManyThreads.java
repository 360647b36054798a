package org.mmapqueue.soak;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.QueueStats;
import org.mmapqueue.support.Directories;

/**
 * Pushes messages of 1 KiB through one queue with several producers and consumers at once, and counts each one: exactly
 * once, and in the order of its producer ({@code make soak}). The heap is as small as the documentation allows.
 * Arguments: messages (default 10 million), directory (default a temporary one).
 */
public final class ManyThreads {
    private static final int PRODUCERS = 4;
    private static final int CONSUMERS = 4;
    private static final int PAYLOAD = 1024;
    private static final String CAPACITY_SEGMENTS = "8192";
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private final long each;
    private final MmapQueue queue;
    private final BitSet[] seen = new BitSet[PRODUCERS];
    private final AtomicLong left;
    private final Queue<Batch> batches = new ConcurrentLinkedQueue<>();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();

    private ManyThreads(long messages, MmapQueue queue) {
        this.each = messages / PRODUCERS;
        this.queue = queue;
        this.left = new AtomicLong(each * PRODUCERS);
        for (int i = 0; i < PRODUCERS; i++) {
            seen[i] = new BitSet();
        }
    }

    /** The exit status is 1 if a message is lost, duplicated or out of order. */
    public static void main(String[] arguments) throws Exception {
        long messages = arguments.length > 0 ? Long.parseLong(arguments[0]) : 10_000_000;
        Path directory = arguments.length > 1 ? Path.of(arguments[1]) : Files.createTempDirectory("mmapqueue-soak");
        QueueConfig config = QueueConfig.of(Map.of(
                "queue_dir",
                directory.resolve("queue").toString(),
                "segment_size",
                "128k",
                "queue_capacity_segments",
                CAPACITY_SEGMENTS));
        boolean good = false;
        try (MmapQueue queue = MmapQueue.open(config)) {
            good = new ManyThreads(messages, queue).run();
        } finally {
            Directories.delete(directory.resolve("queue"));
        }
        System.exit(good ? 0 : 1);
    }

    private boolean run() throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        long start = System.nanoTime();
        for (int i = 0; i < PRODUCERS; i++) {
            int producer = i;
            threads.add(thread("producer-" + i, () -> produce(producer)));
        }
        Consumer consumer = queue.consumer();
        for (int i = 0; i < CONSUMERS; i++) {
            threads.add(thread("consumer-" + i, () -> consume(consumer)));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        QueueStats stats = queue.stats();
        long missing = 0;
        for (BitSet set : seen) {
            missing += each - set.cardinality();
        }
        Throwable thrown = failure.get();
        if (thrown != null) {
            thrown.printStackTrace();
        }
        Runtime runtime = Runtime.getRuntime();
        System.out.printf(
                "%,d messages of %d B, %d producers, %d consumers: %.1f s, %,.0f MB/s%n",
                each * PRODUCERS, PAYLOAD, PRODUCERS, CONSUMERS, seconds, each * PRODUCERS * PAYLOAD / seconds / 1e6);
        long disordered = outOfOrder();
        System.out.printf(
                "missing %d, out of order %d, peak of mapped segments %d, heap used %d of at most %d MiB%n",
                missing,
                disordered,
                stats.peakMappedSegments(),
                runtime.totalMemory() - runtime.freeMemory() >> 20,
                runtime.maxMemory() >> 20);
        boolean good = thrown == null && missing == 0 && disordered == 0;
        System.out.println(good ? "1 passed, 0 failed" : "0 passed, 1 failed");
        return good;
    }

    private interface Work {
        void run() throws InterruptedException;
    }

    private Thread thread(String name, Work work) {
        Thread thread = new Thread(
                () -> {
                    try {
                        work.run();
                    } catch (Throwable e) {
                        failure.compareAndSet(null, e);
                    }
                },
                name);
        thread.start();
        return thread;
    }

    private void produce(int producer) throws InterruptedException {
        byte[] payload = new byte[PAYLOAD];
        ByteBuffer head = ByteBuffer.wrap(payload);
        for (long i = 0; i < each && failure.get() == null; i++) {
            head.putInt(0, producer).putLong(4, i).putLong(PAYLOAD - 8, i);
            queue.push(payload, LIMIT);
        }
    }

    private void consume(Consumer consumer) throws InterruptedException {
        long[] numbers = new long[2 * PRODUCERS];
        long[] lastOffset = {-1};
        while (left.get() > 0 && failure.get() == null) {
            Arrays.fill(numbers, -1);
            int count = consumer.popBatch(
                    500, 1 << 20, Duration.ofMillis(200), (offset, time, buffer, at, length, attempts) -> {
                        ByteBuffer head = ByteBuffer.wrap(buffer, at, length);
                        int producer = head.getInt(at);
                        long number = head.getLong(at + 4);
                        if (length != PAYLOAD || head.getLong(at + PAYLOAD - 8) != number) {
                            throw new IllegalStateException(
                                    "the message at offset " + offset + " is not what was pushed");
                        }
                        note(producer, number, numbers);
                        lastOffset[0] = offset;
                    });
            if (count > 0) {
                batches.add(new Batch(lastOffset[0], numbers.clone()));
                left.addAndGet(-count);
                consumer.ackUpTo(lastOffset[0]);
            }
        }
    }

    private void note(int producer, long number, long[] numbers) {
        if (number <= numbers[2 * producer + 1]) {
            throw new IllegalStateException(
                    "producer " + producer + ": message " + number + " after " + numbers[2 * producer + 1]);
        }
        numbers[2 * producer + 1] = number;
        if (numbers[2 * producer] < 0) {
            numbers[2 * producer] = number;
        }
        synchronized (seen[producer]) {
            if (seen[producer].get((int) number)) {
                throw new IllegalStateException("producer " + producer + ": message " + number + " twice");
            }
            seen[producer].set((int) number);
        }
    }

    /** A batch is a stretch of the log: for each producer the first and the last number in it, or -1. */
    private record Batch(long lastOffset, long[] numbers) {}

    private long outOfOrder() {
        List<Batch> inOrder = new ArrayList<>(batches);
        inOrder.sort(Comparator.comparingLong(Batch::lastOffset));
        long[] last = new long[PRODUCERS];
        Arrays.fill(last, -1);
        long wrong = 0;
        for (Batch batch : inOrder) {
            for (int i = 0; i < PRODUCERS; i++) {
                if (batch.numbers[2 * i] >= 0) {
                    wrong += batch.numbers[2 * i] == last[i] + 1 ? 0 : 1;
                    last[i] = batch.numbers[2 * i + 1];
                }
            }
        }
        return wrong;
    }
}
