package org.mmapqueue.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.mmapqueue.MmapQueue;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Opens a queue that holds {@code size} bytes. It was closed cleanly or, with a {@code tail}, its writer in another JVM was
 * killed after pushing the tail without a flush. Recovery reads the tail, and nothing before it.
 */
@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
public class OpenBenchmark {
    @Param({"1024"})
    public int payload;

    @Param({"67108864"})
    public int segment;

    @Param({"64"})
    public int capacity;

    @Param({"64"})
    public int mapped;

    /** Bytes that were flushed. */
    @Param({"67108864"})
    public long size;

    /** Bytes that were not flushed; 0 to close cleanly. */
    @Param({"0"})
    public long tail;

    private Path directory;
    private Shape shape;
    private MmapQueue queue;
    private long expected;

    @Setup(Level.Trial)
    public void fill() throws IOException {
        shape = new Shape(payload, segment, capacity, mapped, Shape.NO_FLUSHER, true);
        directory = BenchDirectory.create("open");
        runFiller(0);
        expected = size / payload;
    }

    @TearDown(Level.Trial)
    public void delete() {
        BenchDirectory.delete(directory);
    }

    @Setup(Level.Invocation)
    public void write() throws IOException {
        if (tail > 0) {
            runFiller(tail);
            expected += tail / payload;
        }
    }

    @TearDown(Level.Invocation)
    public void close() {
        long end = queue.endOffset();
        queue.close();
        // A shorter tail would be a cheaper recovery than the one measured.
        if (end != expected) {
            throw new IllegalStateException(end + " records found, expected " + expected);
        }
    }

    /** Opens the queue. */
    @Benchmark
    public void open(RecordCounters counters) {
        counters.begin();
        queue = MmapQueue.open(QueueSubject.config(queueDirectory(), shape));
        counters.end(1);
    }

    private void runFiller(long unflushed) throws IOException {
        BenchChild.run(
                Filler.class,
                List.of(),
                List.of(
                        queueDirectory().toString(),
                        Integer.toString(payload),
                        Integer.toString(segment),
                        Integer.toString(capacity),
                        Integer.toString(mapped),
                        Long.toString(size),
                        Long.toString(unflushed)));
    }

    private Path queueDirectory() {
        return directory.resolve("queue");
    }
}
