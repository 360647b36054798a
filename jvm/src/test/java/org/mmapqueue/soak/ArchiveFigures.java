package org.mmapqueue.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.RecordReader;
import org.mmapqueue.StartAt;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.ArchivePartition;
import org.mmapqueue.archive.ArchiveReader;
import org.mmapqueue.archive.Compaction;
import org.mmapqueue.archive.PartitionEntry;
import org.mmapqueue.archive.files.LocalFiles;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.support.Directories;

/**
 * Measures an archive on {@code file:} ({@code make archive}): planning over many runs, a refresh, reading against the
 * queue that was shipped, compaction, shipping, pushes that wait for the archive. Argument: a directory (default a temporary one).
 */
public final class ArchiveFigures {
    private static final int RECORDS_OF_RUN = 1000;
    private static final int REFRESHES = 200;
    private static final int ROUNDS = 5;
    private static final long READ_BYTES = 200 << 20;
    private static final long SHIP_BYTES = 600 << 20;
    private static final int WARM_UP = 50;
    private static final int SHIPPED_PUSHES = 200;

    private final Path directory;

    private ArchiveFigures(Path directory) {
        this.directory = directory;
    }

    public static void main(String[] arguments) throws Exception {
        Locale.setDefault(Locale.ROOT);
        Path parent = arguments.length > 0 ? Path.of(arguments[0]) : Files.createTempDirectory("mmapqueue-archive");
        ArchiveFigures figures = new ArchiveFigures(parent.resolve("figures"));
        try {
            System.out.printf(
                    "%-10s %12s %12s %12s %12s %14s%n",
                    "runs", "open, ms", "plan, ms", "again, ms", "find, ms", "refresh, ms");
            // The first one warms up. The last bucket has a tenth of the others' 10,000 runs, nine tenths, or none.
            for (int runs : new int[] {1000, 100, 1000, 9000, 20_000, 50_000, 91_000, 99_000, 100_000}) {
                figures.plan(runs);
            }
            System.out.printf("%n%-36s %12s %12s%n", "read", "records/s", "MB/s");
            figures.read(1024, ArchiveCodec.NONE);
            figures.read(100, ArchiveCodec.NONE);
            figures.read(1024, ArchiveCodec.ZSTD);
            System.out.printf("%n%-36s %12s %12s%n", "ship", "records/s", "MB/s");
            figures.ship(ArchiveCodec.NONE, "8m");
            figures.ship(ArchiveCodec.NONE, "64m");
            figures.ship(ArchiveCodec.ZSTD, "8m");
            System.out.printf("%n%-10s %12s %12s %12s %12s%n", "threads", "p50, ms", "p99, ms", "pushes/s", "runs/s");
            figures.await(1, 0);
            figures.await(1, 100);
            figures.await(16, 0);
        } finally {
            if (Files.exists(figures.directory)) {
                Directories.delete(figures.directory);
            }
            if (arguments.length == 0) {
                Files.delete(parent);
            }
        }
    }

    private interface Step {
        void run() throws Exception;
    }

    private static double millis(Step step) throws Exception {
        long start = System.nanoTime();
        step.run();
        return (System.nanoTime() - start) / 1e6;
    }

    // Runs of records that are one millisecond apart; the files are empty: planning opens none.
    private void plan(int runs) throws Exception {
        Path root = directory.resolve("plan");
        try (Archive archive = Archive.create(new LocalFiles(root))) {
            PartitionEntry entry = archive.register(new UUID(1, 1), 0, "host");
            for (int i = 0; i < runs; i++) {
                store(root, run(i));
            }
            ArchivePartition[] partition = new ArchivePartition[1];
            double open = millis(() -> {
                partition[0] = archive.partition(entry);
                partition[0].refresh();
            });
            long end = partition[0].endOffset();
            double first = millis(() -> partition[0].split(0, end, 128 << 20));
            double again = millis(() -> partition[0].split(0, end, 128 << 20));
            double find = millis(() -> partition[0].runs(end / 2, end / 2 + 1));
            double[] refreshes = new double[REFRESHES];
            for (int i = 0; i < REFRESHES; i++) {
                store(root, run(runs + i));
                refreshes[i] = millis(partition[0]::refresh);
            }
            Arrays.sort(refreshes);
            System.out.printf(
                    "%-,10d %12.1f %12.1f %12.1f %12.2f %6.2f (max %.1f)%n",
                    runs, open, first, again, find, refreshes[REFRESHES / 2], refreshes[REFRESHES - 1]);
        } finally {
            Directories.delete(root);
        }
    }

    private static RunName run(long number) {
        long first = number * RECORDS_OF_RUN;
        return new RunName(
                first,
                first + RECORDS_OF_RUN,
                1,
                1_700_000_000_000_000L + first * 1000,
                1_700_000_000_000_000L + (first + RECORDS_OF_RUN - 1) * 1000,
                1 << 20,
                0);
    }

    private static void store(Path root, RunName run) throws IOException {
        Path file = root.resolve(run.file(0));
        Files.createDirectories(file.getParent());
        Files.createFile(file);
    }

    private void read(int payload, ArchiveCodec codec) throws Exception {
        Path root = directory.resolve("archive");
        String what = payload + " B, " + codec.key();
        long records = READ_BYTES / payload;
        try (MmapQueue queue = MmapQueue.open(QueueConfig.of(Map.of(
                "queue_dir",
                directory.resolve("queue").toString(),
                "segment_size",
                "16m",
                "queue_capacity_segments",
                "24",
                "archive_uri",
                root.toUri().toString(),
                "archive_codec",
                codec.key(),
                "ship_bytes",
                "1m",
                "retain_bytes",
                "300m")))) {
            double shipped = millis(() -> {
                fill(queue, payload, records);
                if (!queue.awaitShipped(records - 1, Duration.ofMinutes(5))) {
                    throw new IllegalStateException("not shipped");
                }
            });
            report(what + ", push and ship", records, payload, shipped);
            double[] local = new double[ROUNDS];
            double[] archived = new double[ROUNDS];
            for (int i = 0; i < ROUNDS; i++) {
                local[i] = millis(() -> readQueue(queue, records));
                archived[i] = millis(() -> readArchive(root, records));
            }
            report(what + ", queue", records, payload, median(local));
            report(what + ", archive, runs as shipped", records, payload, median(archived));
        }
        try (Archive archive = Archive.open(new LocalFiles(root))) {
            Compaction compaction = new Compaction(archive, archive.partitions().get(0), codec, Duration.ZERO);
            double compacted = millis(() -> {
                while (compaction.step(false)) {
                    // merges and deletes
                }
            });
            report(what + ", compaction", records, payload, compacted);
        }
        double[] archived = new double[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            archived[i] = millis(() -> readArchive(root, records));
        }
        report(what + ", archive, compacted", records, payload, median(archived));
        Directories.delete(directory);
    }

    // Ships a queue that was filled before, in each round into another archive.
    private void ship(ArchiveCodec codec, String bytes) throws Exception {
        Path queue = directory.resolve("queue");
        Map<String, String> config = Map.of(
                "queue_dir",
                queue.toString(),
                "segment_size",
                "64m",
                "queue_capacity_segments",
                "16",
                "gc_on_idle",
                "0");
        long records = SHIP_BYTES / 1024;
        try (MmapQueue filled = MmapQueue.open(QueueConfig.of(config))) {
            filled.createConsumer("reader", StartAt.EARLIEST); // retains the records for the next round
            fill(filled, 1024, records);
            filled.flush();
        }
        double[] rounds = new double[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            Path root = directory.resolve("archive-" + i);
            Map<String, String> shipping = new HashMap<>(config);
            shipping.put("archive_uri", root.toUri().toString());
            shipping.put("archive_codec", codec.key());
            shipping.put("ship_bytes", bytes);
            rounds[i] = millis(() -> {
                try (MmapQueue shipped = MmapQueue.open(QueueConfig.of(shipping))) {
                    if (!shipped.awaitShipped(records - 1, Duration.ofMinutes(5))) {
                        throw new IllegalStateException("not shipped");
                    }
                }
            });
            Directories.delete(root);
            MmapQueue.leaveArchive(queue);
            try (MmapQueue left = MmapQueue.open(QueueConfig.of(config))) {
                left.deleteConsumer("ship");
            }
        }
        report("1024 B, " + codec.key() + ", ship_bytes " + bytes, records, 1024, median(rounds));
        Directories.delete(directory);
    }

    // Each thread pushes a record, waits for the archive, and pauses. With the default ship_period of 1 s.
    private void await(int threads, long pauseMillis) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try (MmapQueue queue = MmapQueue.open(QueueConfig.of(Map.of(
                "queue_dir",
                directory.resolve("queue").toString(),
                "archive_uri",
                directory.resolve("archive").toUri().toString())))) {
            shippedPushes(queue, WARM_UP, pauseMillis);
            long runs = queue.shipStats().orElseThrow().runs();
            List<Future<double[]>> results = new ArrayList<>();
            double millis = millis(() -> {
                for (int i = 0; i < threads; i++) {
                    results.add(pool.submit(() -> shippedPushes(queue, SHIPPED_PUSHES, pauseMillis)));
                }
                for (Future<double[]> each : results) {
                    each.get();
                }
            });
            double[] all = new double[threads * SHIPPED_PUSHES];
            for (int i = 0; i < threads; i++) {
                System.arraycopy(results.get(i).get(), 0, all, i * SHIPPED_PUSHES, SHIPPED_PUSHES);
            }
            Arrays.sort(all);
            System.out.printf(
                    "%-10s %12.1f %12.1f %,12.0f %12.1f%n",
                    threads + (pauseMillis > 0 ? ", pauses" : ""),
                    all[all.length / 2],
                    all[all.length * 99 / 100],
                    all.length / millis * 1e3,
                    (queue.shipStats().orElseThrow().runs() - runs) / millis * 1e3);
        } finally {
            pool.shutdown();
            Directories.delete(directory);
        }
    }

    private static double[] shippedPushes(MmapQueue queue, int count, long pauseMillis) throws Exception {
        double[] durations = new double[count];
        byte[] payload = new byte[1024];
        for (int i = 0; i < count; i++) {
            durations[i] = millis(() -> {
                if (!queue.awaitShipped(queue.push(payload), Duration.ofMinutes(5))) {
                    throw new IllegalStateException("not shipped");
                }
            });
            Thread.sleep(pauseMillis);
        }
        return durations;
    }

    private static double median(double[] values) {
        Arrays.sort(values);
        return values[values.length / 2];
    }

    private static void report(String what, long records, int payload, double millis) {
        System.out.printf("%-36s %,12.0f %,12.0f%n", what, records / millis * 1e3, records / millis * payload / 1e3);
    }

    // Half of each payload is random, so that it compresses by about half.
    private static void fill(MmapQueue queue, int payload, long records) throws InterruptedException {
        SplittableRandom random = new SplittableRandom(1);
        byte[][] batch = new byte[256][payload];
        for (long number = 0; number < records; number += batch.length) {
            for (byte[] each : batch) {
                random.nextBytes(each);
                Arrays.fill(each, payload / 2, payload, (byte) ' ');
            }
            List<byte[]> next = Arrays.asList(batch).subList(0, (int) Math.min(batch.length, records - number));
            queue.pushBatch(next, Duration.ofSeconds(60));
        }
    }

    private static void readQueue(MmapQueue queue, long records) {
        Counter counter = new Counter();
        try (RecordReader reader = queue.reader(0, records)) {
            while (reader.read(1000, 1 << 20, counter) > 0) {
                // the next ones
            }
        }
        counter.check(records);
    }

    private static void readArchive(Path root, long records) throws IOException {
        Counter counter = new Counter();
        try (Archive archive = Archive.open(new LocalFiles(root))) {
            ArchivePartition partition = archive.partition(archive.partitions().get(0));
            partition.refresh();
            try (ArchiveReader reader = partition.reader(0, records, false)) {
                while (reader.read(1000, 1 << 20, counter) > 0) {
                    // the next ones
                }
            }
        }
        counter.check(records);
    }

    private static final class Counter implements MessageHandler {
        private long next;
        private long sum;

        @Override
        public void onMessage(long offset, long timestamp, byte[] buffer, int start, int length, int attempts) {
            if (offset != next++) {
                throw new IllegalStateException("record " + offset + " after " + (next - 2));
            }
            sum += buffer[start] + timestamp;
        }

        void check(long records) {
            if (next != records || sum == 0) {
                throw new IllegalStateException(next + " records; expected " + records);
            }
        }
    }
}
