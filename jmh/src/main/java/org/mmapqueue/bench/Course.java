package org.mmapqueue.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What all benchmarks share: the contender, its sizes, and the steady state of a recycled ring. An invocation moves as
 * many records as fit the ring, or some millions; what must not count (making room, filling) is done between
 * invocations, which JMH leaves out of the time. That is exact here, as an invocation takes milliseconds; around single
 * pushes of 50 ns it would measure the clock. Before the first iteration the whole ring has been written and read once,
 * so that no measured record meets a file that has never been written.
 *
 * <p>JMH's primary score is invocations per second; {@link Tally} adds records per second.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
public abstract class Course {
    /** A reader lets go of what it has read every so many records. */
    static final int ACK_EVERY = 256;
    // The first lap of a larger ring would wait for the disk for minutes; such a ring is measured as it is new.
    private static final long BEYOND_CACHE = 4L << 30;
    private static final int STEP = 100;

    @Param({"queue", "ring"})
    public String contender;

    @Param({"100", "1024", "8192"})
    public int payload;

    @Param({"67108864"})
    public int segment;

    @Param({"16"})
    public int capacity;

    @Param({"16"})
    public int mapped;

    @Param({"10000"})
    public int ceiling;

    @Param({"true"})
    public boolean timestamps;

    Contender subject;
    Contender.Writer writer;
    Contender.Reader reader;
    byte[] record;
    int records;
    /** How many records have been pushed and not popped. */
    int inside;

    private Path directory;
    private Shape shape;

    @Setup(Level.Trial)
    public void open() throws IOException {
        shape = new Shape(payload, segment, capacity, mapped, ceiling, timestamps);
        directory = BenchDirectory.create(contender);
        reopen();
        record = new byte[payload];
        new Random(payload).nextBytes(record);
        records = shape.records();
        if (recycled() && shape.ringBytes() <= BEYOND_CACHE) {
            begin();
            for (long bytes = 0; bytes < shape.ringBytes(); bytes += (long) STEP * payload) {
                fill(STEP);
                drain();
            }
        }
        opened();
    }

    @TearDown(Level.Trial)
    public void close() throws IOException {
        closing();
        subject.close();
        BenchDirectory.delete(directory);
    }

    /** Opens the contender on whatever is in the directory. */
    final void reopen() throws IOException {
        subject = Contenders.open(contender, shape, directory.resolve("lane"));
        writer = subject.writer();
        reader = subject.reader();
    }

    final Path directory() {
        return directory;
    }

    /** Whether the ring is written and read once before anything is measured. */
    boolean recycled() {
        return true;
    }

    /** What comes before that: a queue makes its files as they suit the use that it sees. */
    void begin() {}

    /** What a benchmark makes ready once, after the contender: JMH promises no order of two setups. */
    void opened() {}

    /** The reverse. */
    void closing() {}

    final void fill(int count) {
        Contender.Writer to = writer;
        byte[] bytes = record;
        Idle idle = new Idle();
        for (int i = 0; i < count; i++) {
            push(to, bytes, idle);
        }
        inside += count;
    }

    /** Pops one by one; to pop nothing may mean that a segment is not mapped yet. */
    final void take(int count) {
        Contender.Reader from = reader;
        Idle idle = new Idle();
        for (int i = 0; i < count; i++) {
            pop(from, idle);
            if (i % ACK_EVERY == ACK_EVERY - 1) {
                from.ack();
            }
        }
        from.ack();
        inside -= count;
    }

    static void push(Contender.Writer to, byte[] bytes, Idle idle) {
        if (!to.push(bytes)) {
            do {
                idle.idle();
            } while (!to.push(bytes));
            idle.reset();
        }
    }

    static void pop(Contender.Reader from, Idle idle) {
        if (!from.pop()) {
            do {
                idle.idle();
            } while (!from.pop());
            idle.reset();
        }
    }

    static void pushBatch(Contender.Writer to, List<byte[]> group, Idle idle) {
        if (!to.pushBatch(group)) {
            do {
                idle.idle();
            } while (!to.pushBatch(group));
            idle.reset();
        }
    }

    /** Takes out all there is and gives the room back. */
    final void drain() {
        take(inside);
    }
}
