package org.mmapqueue.bench;

import java.util.concurrent.atomic.AtomicInteger;
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
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.Control;

/**
 * Durable pushes: each returns when its record is durable. One thread shows the cost of an fsync; many threads show the
 * gain of sharing one. The ring is drained between iterations, untimed.
 */
@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
public class SyncBenchmark {
    private static final int FIRST_RECORDS = 256;

    /** Producers: JMH needs the same number in {@code -t}. */
    @Param({"1"})
    public int threads;

    private final AtomicInteger queued = new AtomicInteger();

    @Setup(Level.Trial)
    public void wrap(SubjectState subject, BenchmarkParams parameters) {
        if (parameters.getThreads() != threads) {
            throw new IllegalArgumentException("-t " + parameters.getThreads() + ": expected threads = " + threads);
        }
        // A queue chooses the blocks of its files by the pushes that it has seen: durable ones come before the wrap.
        for (int i = 0; i < FIRST_RECORDS; i++) {
            subject.writer().pushSync(subject.record);
        }
        subject.addQueued(FIRST_RECORDS);
        subject.drain();
        if (!subject.subject.equals(Subjects.SYNCED_WRITE)) {
            subject.wrap();
        }
    }

    @TearDown(Level.Iteration)
    public void drain(SubjectState subject) {
        subject.addQueued(queued.getAndSet(0));
        subject.drain();
    }

    /** One thread's writer. */
    @State(Scope.Thread)
    public static class Producer {
        private Subject.Writer writer;

        @Setup(Level.Trial)
        public void open(SubjectState subject, SyncBenchmark benchmark) {
            writer = subject.threadWriter();
        }
    }

    /** Pushes one record. */
    @Benchmark
    public void pushSync(SubjectState subject, Producer producer, ThreadCounters counters, Control control) {
        if (!producer.writer.pushSync(subject.record)) {
            throw new IllegalStateException("full with " + queued + " records");
        }
        queued.incrementAndGet();
        counters.add(1, control);
    }
}
