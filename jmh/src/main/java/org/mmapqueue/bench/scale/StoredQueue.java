package org.mmapqueue.bench.scale;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.bench.BenchChild;

/** A closed queue on the disk that holds {@code bytes}; JVMs of 32 MiB work on it. */
final class StoredQueue {
    static final List<String> FLAGS = List.of("-Xmx32m");
    private static final double MILLI = 1e6;

    private final Path directory;
    private final Path result;
    private final long bytes;
    private final int segment;
    private final int capacity;

    StoredQueue(Path parent, long bytes, int segment) {
        this.directory = parent.resolve("queue-" + bytes);
        this.result = parent.resolve("result");
        this.bytes = bytes;
        this.segment = segment;
        this.capacity = ScaleQueue.capacity(bytes, segment);
    }

    long bytes() {
        return bytes;
    }

    /** Fills and drains the queue; returns the output of {@link FillRun}. */
    String fillAndDrain() throws IOException {
        return run(FillRun.class);
    }

    /** Fills the queue, then wraps the ring once, so that all its files exist. */
    void fill() throws IOException {
        run(PairsRun.class, PairsRun.bursts(ScaleQueue.MARGIN_BYTES));
    }

    /** Measures pairs; returns the output of {@link PairsRun}. */
    String pairs() throws IOException {
        sync();
        return run(PairsRun.class, PairsRun.WARM_UP);
    }

    private String run(Class<?> main, Object... more) throws IOException {
        List<String> arguments = arguments(bytes, result);
        for (Object each : more) {
            arguments.add(each.toString());
        }
        BenchChild.run(main, FLAGS, arguments);
        return Files.readString(result, StandardCharsets.UTF_8);
    }

    /** Opens the queue in this JVM and closes it; returns the duration of the open in ms. */
    double open() throws IOException {
        sync();
        return open(-1);
    }

    /** Kills a writer that has pushed {@code tail} bytes without a flush, then opens the queue; returns ms. */
    double recover(long tail) throws IOException {
        sync();
        return open(kill(tail));
    }

    // An fsync would wait for other dirty pages, such as those of the run before.
    private static void sync() throws IOException {
        try {
            new ProcessBuilder("sync").inheritIO().start().waitFor();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private long kill(long tail) throws IOException {
        Process writer = BenchChild.start(TailWriter.class, FLAGS, arguments(bytes, Long.toString(tail)));
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(writer.getInputStream(), StandardCharsets.UTF_8))) {
            String end = out.readLine();
            // SIGKILL.
            writer.destroyForcibly().waitFor();
            if (end == null) {
                throw new IllegalStateException("the writer of the tail ended with " + writer.exitValue());
            }
            return Long.parseLong(end);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private double open(long expectedEnd) {
        long start = System.nanoTime();
        ScaleQueue queue = new ScaleQueue(directory, segment, capacity, false);
        long nanos = System.nanoTime() - start;
        try (queue) {
            long end = queue.opened.endOffset();
            // A shorter tail would be a cheaper recovery than the one measured.
            if (expectedEnd >= 0 && end != expectedEnd) {
                throw new IllegalStateException(end + " records found, expected " + expectedEnd);
            }
        }
        return nanos / MILLI;
    }

    private List<String> arguments(Object... more) {
        List<String> all = new ArrayList<>(ScaleQueue.arguments(directory, segment, capacity));
        for (Object each : more) {
            all.add(each.toString());
        }
        return all;
    }
}
