package org.mmapqueue.spark.write.sink;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueStats;
import org.mmapqueue.Records;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.TooLargeException;
import org.mmapqueue.io.Storage;
import org.mmapqueue.spark.write.staging.Manifest;
import org.mmapqueue.spark.write.staging.StagedFile;
import org.mmapqueue.spark.write.staging.StagedFiles;
import org.mmapqueue.spark.write.staging.StagedRecords;

/** Pushes the staged rows of a manifest: one push for each partition, several partitions in parallel. */
final class ManifestPusher {
    private final Storage storage;
    private final List<MmapQueue> partitions;
    private final Path directory;
    private final Manifest manifest;
    private final String what;
    private final Push push;

    /**
     * Makes a pusher.
     *
     * @param storage the file system
     * @param directory the directory of the files, which the caller has verified
     * @param what name of the write, for messages
     */
    ManifestPusher(
            Storage storage, List<MmapQueue> partitions, Path directory, Manifest manifest, String what, Push push) {
        this.storage = storage;
        this.partitions = partitions;
        this.directory = directory;
        this.manifest = manifest;
        this.what = what;
        this.push = push;
    }

    /**
     * Pushes the rows. A partition that already has them is skipped.
     *
     * @param parts the files by partition
     * @throws FullException if there was no room in time; other partitions may have received their rows
     * @throws TooLargeException if the rows can never fit
     */
    void push(SortedMap<Integer, List<StagedFile>> parts) throws IOException, InterruptedException {
        if (parts.size() == 1) {
            push(partitions.get(parts.firstKey()), parts.get(parts.firstKey()));
            return;
        }
        int threads = Math.min(parts.size(), Runtime.getRuntime().availableProcessors());
        ExecutorService executor = Executors.newFixedThreadPool(threads, StagedFiles::daemon);
        List<Future<?>> running = new ArrayList<>();
        try {
            for (Map.Entry<Integer, List<StagedFile>> part : parts.entrySet()) {
                running.add(executor.submit(() -> {
                    push(partitions.get(part.getKey()), part.getValue());
                    return null;
                }));
            }
            join(running);
        } finally {
            end(executor);
        }
    }

    private static void join(List<Future<?>> running) throws IOException, InterruptedException {
        Throwable failure = null;
        for (Future<?> each : running) {
            try {
                each.get();
            } catch (ExecutionException e) {
                if (failure == null) {
                    failure = e.getCause();
                } else {
                    failure.addSuppressed(e.getCause());
                }
            }
        }
        if (failure instanceof Error error) {
            throw error;
        }
        if (failure instanceof RuntimeException error) {
            throw error;
        }
        if (failure instanceof InterruptedException error) {
            throw error;
        }
        if (failure != null) {
            throw new IOException(failure);
        }
    }

    // All pushes must have ended before the manifest is read again; a push that waits for room is cancelled.
    private static void end(ExecutorService executor) {
        executor.shutdownNow();
        boolean interrupted = false;
        while (true) {
            try {
                if (executor.awaitTermination(1, TimeUnit.MINUTES)) {
                    break;
                }
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void push(MmapQueue queue, List<StagedFile> files) throws InterruptedException {
        try (StagedRecords staged = new StagedRecords(storage, directory, files)) {
            long before = queue.stats().writingPosition();
            push(queue, staged.records());
            QueueStats after = queue.stats();
            long bytes = after.writingPosition() - before;
            if (bytes > 0) {
                long size = after.segmentSize();
                push.figures()
                        .pushed(
                                files.stream().mapToLong(StagedFile::count).sum(),
                                bytes,
                                (after.writingPosition() - 1) / size - before / size + 1);
            }
        } catch (FullException e) {
            throw new Room(queue, files, what).full(push.timeout(), e);
        } catch (TooLargeException e) {
            throw new Room(queue, files, what).tooLarge(e);
        }
    }

    // Two steps, to measure the wait for room and the push separately.
    private void push(MmapQueue queue, Records records) throws InterruptedException {
        try {
            push(queue, records, Duration.ZERO);
        } catch (FullException e) {
            if (push.timeout().isZero()) {
                throw e;
            }
            long start = System.nanoTime();
            try {
                push(queue, records, push.timeout());
            } finally {
                push.figures().waitedForRoom(System.nanoTime() - start);
            }
        }
    }

    private void push(MmapQueue queue, Records records, Duration timeout) throws InterruptedException {
        if (manifest.digest() == null) {
            queue.pushOnce(manifest.producer(), manifest.sequence(), records, timeout, push.sync());
        } else {
            queue.pushOnce(manifest.producer(), manifest.sequence(), manifest.digest(), records, timeout, push.sync());
        }
    }
}
