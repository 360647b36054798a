package org.mmapqueue.bench;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * One consumer alone, checksums verified, acks included. The ring is filled before each invocation, untimed; the
 * invocation pops all records.
 */
@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
public class PopBenchmark {
    /** The most records of a call of {@link #popBatch}. */
    @Param({"1000"})
    public int batch;

    @Setup(Level.Trial)
    public void wrap(SubjectState subject) {
        subject.wrap();
    }

    @Setup(Level.Invocation)
    public void fill(SubjectState subject) {
        subject.drain();
        subject.fill(subject.records);
    }

    /** Pops without an allocation, one call for each record. */
    @Benchmark
    public void pop(SubjectState subject, RecordCounters counters) {
        counters.begin();
        subject.take(subject.records);
        counters.end(subject.records);
    }

    /** Pops objects that the caller may keep. */
    @Benchmark
    public void popMessage(SubjectState subject, RecordCounters counters) {
        counters.begin();
        int records = subject.records;
        Subject.Reader reader = subject.reader();
        for (int i = 0; i < records; i++) {
            if (!reader.popMessage()) {
                throw new IllegalStateException("empty after " + i + " records of " + records);
            }
            if (i % SubjectState.ACK_EVERY == SubjectState.ACK_EVERY - 1) {
                reader.ack();
            }
        }
        reader.ack();
        subject.addQueued(-records);
        counters.end(records);
    }

    /** Pops up to {@code batch} records with each call, without an allocation. */
    @Benchmark
    public void popBatch(SubjectState subject, RecordCounters counters) {
        counters.begin();
        Subject.Reader reader = subject.reader();
        int popped = 0;
        while (popped < subject.records) {
            popped += reader.popBatch(batch);
            reader.ack();
        }
        subject.addQueued(-popped);
        counters.end(popped);
    }
}
