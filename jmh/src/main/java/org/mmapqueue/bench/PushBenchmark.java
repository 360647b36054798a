package org.mmapqueue.bench;

import java.util.Collections;
import java.util.List;
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
 * One producer alone. An invocation pushes as many records as fit into the ring, which is drained before, untimed. No
 * consumer runs; the subject's own threads do: preallocation, flusher. The segments preallocated before the clock starts
 * are a small share of the ring, the same share for the roofline.
 */
@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
public class PushBenchmark {
    /** Records of a call. */
    @Param({"1"})
    public int batch;

    private List<byte[]> records;

    @Setup(Level.Trial)
    public void wrap(SubjectState subject) {
        records = Collections.nCopies(batch, subject.record);
        subject.wrap();
    }

    @Setup(Level.Invocation)
    public void drain(SubjectState subject) {
        subject.drain();
    }

    /** Pushes records one by one, or in batches. */
    @Benchmark
    public void push(SubjectState subject, RecordCounters counters) {
        counters.begin();
        if (batch == 1) {
            subject.fill(subject.records);
            counters.end(subject.records);
        } else {
            int batches = subject.records / batch;
            pushBatches(subject.writer(), batches);
            subject.addQueued(batches * batch);
            counters.end((long) batches * batch);
        }
    }

    private void pushBatches(Subject.Writer writer, int batches) {
        Idle idle = new Idle();
        for (int i = 0; i < batches; i++) {
            SubjectState.pushBatch(writer, records, idle);
        }
    }
}
