package org.mmapqueue.soak;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.zip.CRC32C;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.support.Directories;

/**
 * Measures several consumers that each read all records in a thread of their own, against one ({@code make fanout}).
 * The records are in the page cache. The baseline, in the same rounds, is the same number of threads that copy each
 * record out of a mapping and compute its CRC32C. If consumers contend, a record costs more processor time than with
 * one; if only processors are short, it does not. Arguments: rounds (default 15), directory (default a temporary one).
 */
public final class FanOut {
    private static final int SEGMENT_SIZE = 64 << 20;
    private static final int SEGMENTS = 8;
    /** Payload in each queue; the ring has room for it with all headers. */
    private static final long BYTES = 320L << 20;

    private static final int[] SIZES = {1024, 100};
    private static final int[] THREADS = {1, 2, 4};
    private static final int BATCH = 1000;

    private final MmapQueue queue;
    private final Path directory;
    private final int size;
    private final long records;
    private final List<MappedByteBuffer> segments = new ArrayList<>();
    private final AtomicLong cpuNanos = new AtomicLong();
    private int consumers;

    private FanOut(MmapQueue queue, Path directory, int size) {
        this.queue = queue;
        this.directory = directory;
        this.size = size;
        this.records = BYTES / size;
    }

    /** Prints a table. A wrong record ends the run. */
    public static void main(String[] arguments) throws Exception {
        int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 15;
        Path parent = arguments.length > 1 ? Path.of(arguments[1]) : Files.createTempDirectory("mmapqueue-fanout");
        System.out.printf(
                "%d cores, %d rounds, medians; segments of %d MiB x %d%n",
                Runtime.getRuntime().availableProcessors(), rounds, SEGMENT_SIZE >> 20, SEGMENTS);
        for (int size : SIZES) {
            Path directory = parent.resolve("queue-" + size);
            // Each round has its own consumers, which stay open; they start at the offset of the default one.
            QueueConfig config = QueueConfig.builder(directory)
                    .segmentSize(SEGMENT_SIZE)
                    .queueCapacitySegments(SEGMENTS)
                    .flushPeriod(Duration.ofMillis(Integer.MAX_VALUE))
                    .maxInMemSegments(4 + Arrays.stream(THREADS).sum() * (rounds + 1))
                    .build();
            try (MmapQueue queue = MmapQueue.open(config)) {
                new FanOut(queue, directory, size).run(rounds);
            } finally {
                Directories.delete(directory);
            }
        }
        if (arguments.length <= 1) {
            Files.delete(parent);
        }
    }

    private void run(int rounds) throws Exception {
        byte[] payload = new byte[size];
        for (long i = 0; i < records; i++) {
            payload[0] = (byte) i;
            payload[size - 1] = (byte) i;
            queue.push(payload);
        }
        queue.flush();
        mapSegments();
        double[][] reading = new double[THREADS.length][rounds];
        double[][] copying = new double[THREADS.length][rounds];
        double[][] effort = new double[THREADS.length][rounds];
        for (int round = -1; round < rounds; round++) {
            for (int i = 0; i < THREADS.length; i++) {
                List<Work> consumers = consumers(THREADS[i]);
                double read = seconds(THREADS[i], consumers);
                double cpu = cpuNanos.getAndSet(0);
                double copied = seconds(THREADS[i], copies(THREADS[i]));
                cpuNanos.set(0);
                if (round >= 0) { // the first round warms up
                    effort[i][round] = cpu / THREADS[i] / records;
                    reading[i][round] = THREADS[i] * records / read;
                    copying[i][round] = THREADS[i] * records / copied;
                }
            }
        }
        for (int i = 0; i < THREADS.length; i++) {
            double read = median(reading[i]);
            double copied = median(copying[i]);
            System.out.printf(
                    "%4d B, %d consumers: %,11.0f records/s, %6.0f MB/s, x %.2f of one, %.0f ns of processor time a"
                            + " record; copy + CRC32C, %d threads: %6.0f MB/s, x %.2f of one%n",
                    size,
                    THREADS[i],
                    read,
                    read * size / 1e6,
                    read / median(reading[0]),
                    median(effort[i]),
                    THREADS[i],
                    copied * size / 1e6,
                    copied / median(copying[0]));
        }
    }

    private interface Work {
        void run() throws Exception;
    }

    private List<Work> consumers(int count) {
        List<Work> work = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Consumer consumer = queue.consumer("reader-" + consumers++, StartAt.EARLIEST);
            work.add(() -> consume(consumer));
        }
        return work;
    }

    private void consume(Consumer consumer) throws InterruptedException {
        long[] next = {0};
        while (next[0] < records) {
            int count = consumer.popBatch(
                    BATCH, Long.MAX_VALUE, Duration.ZERO, (offset, time, buffer, at, length, attempts) -> {
                        byte mark = (byte) next[0];
                        if (offset != next[0]
                                || length != size
                                || buffer[at] != mark
                                || buffer[at + length - 1] != mark) {
                            throw new IllegalStateException("record " + offset + " is not what was pushed");
                        }
                        next[0]++;
                    });
            if (count == 0) {
                throw new IllegalStateException("the records end at " + next[0] + ", expected " + records);
            }
            consumer.ackUpTo(next[0] - 1);
        }
    }

    // Mapped once, like a segment of the queue: the page faults are in the round that does not count.
    private void mapSegments() throws IOException {
        for (long done = 0, id = 0; done < BYTES; done += SEGMENT_SIZE, id++) {
            try (FileChannel file = FileChannel.open(directory.resolve(id + "_segment.dat"))) {
                segments.add(file.map(FileChannel.MapMode.READ_ONLY, 0, SEGMENT_SIZE));
            }
        }
    }

    private List<Work> copies(int count) {
        return Collections.nCopies(count, this::copy);
    }

    private void copy() {
        byte[] target = new byte[size];
        CRC32C crc = new CRC32C();
        long left = records;
        long sum = 0;
        for (MappedByteBuffer segment : segments) {
            for (int at = 0; at <= SEGMENT_SIZE - size && left > 0; at += size, left--) {
                segment.get(at, target, 0, size);
                crc.reset();
                crc.update(target, 0, size);
                sum += crc.getValue();
            }
        }
        if (left > SEGMENTS || sum == 0) {
            throw new IllegalStateException(left + " pieces were not copied");
        }
    }

    private double seconds(int threads, List<Work> work) throws InterruptedException {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        CountDownLatch begin = new CountDownLatch(1);
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Work own = work.get(i);
            Thread thread = new Thread(() -> {
                try {
                    begin.await();
                    long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
                    own.run();
                    cpuNanos.addAndGet(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before);
                } catch (Throwable e) {
                    failure.compareAndSet(null, e);
                }
            });
            all.add(thread);
            thread.start();
        }
        long start = System.nanoTime();
        begin.countDown();
        for (Thread thread : all) {
            thread.join();
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        if (failure.get() != null) {
            throw new IllegalStateException("a thread failed", failure.get());
        }
        return seconds;
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
