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

/** A queue that lies on the disk and holds so many bytes, and what is done to it from outside, by JVMs of 32 MiB. */
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

    /** Fills and empties it; returns what {@link FillRun} has written. */
    String fillAndDrain() throws IOException {
        return run(FillRun.class);
    }

    /** Fills it, and has the ring go round once, so that its files are there. */
    void prepare() throws IOException {
        run(PairsRun.class, PairsRun.bursts(ScaleQueue.MARGIN_BYTES));
    }

    /** Measures pairs; returns what {@link PairsRun} has written. */
    String pairs() throws IOException {
        settleDisk();
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

    /** Opens it here and closes it; returns how many milliseconds opening takes. */
    double open() throws IOException {
        settleDisk();
        return open(-1);
    }

    /** Has its writer killed with so many bytes that were not flushed, opens it here; returns milliseconds. */
    double recover(long tail) throws IOException {
        settleDisk();
        return open(kill(tail));
    }

    // What fsyncs pages waits for whatever else the disk has to write, such as what was acked by the run before.
    private static void settleDisk() throws IOException {
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
        ScaleQueue lane = new ScaleQueue(directory, segment, capacity, false);
        long nanos = System.nanoTime() - start;
        try (lane) {
            long end = lane.queue.endOffset();
            // A kill loses nothing that was pushed: a shorter tail would be a cheaper recovery than the one measured.
            if (expectedEnd >= 0 && end != expectedEnd) {
                throw new IllegalStateException(end + " records are there of " + expectedEnd);
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
