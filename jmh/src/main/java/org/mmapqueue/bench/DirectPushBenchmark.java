package org.mmapqueue.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.mmapqueue.MmapQueue;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A payload outside of the heap, as network code has it, beside one in the heap. Time of one push, in ns. An invocation
 * pushes a part of the ring; all of it is acked untimed before.
 */
@State(Scope.Benchmark)
@Fork(1)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class DirectPushBenchmark {
    private static final int PUSHES = 1000;
    private static final int SEGMENT = 1 << 24;
    private static final int CAPACITY = 16;

    /** Bytes of a record. */
    @Param({"100", "1024", "8192", "65536"})
    public int payload;

    private Path directory;
    private MmapQueue queue;
    private byte[] array;
    private ByteBuffer direct;

    @Setup(Level.Trial)
    public void open() throws IOException {
        directory = BenchDirectory.create("direct");
        Shape shape = new Shape(payload, SEGMENT, CAPACITY, CAPACITY, Shape.NO_FLUSHER, true);
        queue = MmapQueue.open(QueueSubject.config(directory.resolve("queue"), shape));
        array = new byte[payload];
        new Random(payload).nextBytes(array);
        direct = ByteBuffer.allocateDirect(payload).put(array).flip();
    }

    @TearDown(Level.Trial)
    public void close() throws IOException {
        queue.close();
        BenchDirectory.delete(directory);
    }

    @Setup(Level.Invocation)
    public void ack() {
        while (queue.consumer().poll((offset, micros, buffer, start, length, attempts) -> {})) {
            queue.consumer().ackUpTo(queue.consumer().readOffset() - 1);
        }
    }

    /** Pushes the array. */
    @Benchmark
    @OperationsPerInvocation(PUSHES)
    public void heap() {
        for (int i = 0; i < PUSHES; i++) {
            queue.push(array);
        }
    }

    /** Pushes the buffer. */
    @Benchmark
    @OperationsPerInvocation(PUSHES)
    public void direct() {
        for (int i = 0; i < PUSHES; i++) {
            queue.push(direct.rewind());
        }
    }
}
