package org.mmapqueue.bench;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** One thread that pushes a record and pops it, repeatedly: SkyWalking Satellite's BenchmarkPushAndPop. */
@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
public class PushPopBenchmark {

    @Setup(Level.Trial)
    public void wrap(SubjectState subject) {
        subject.wrap();
    }

    /** One push and one pop for each record. */
    @Benchmark
    public void pushPop(SubjectState subject, RecordCounters counters) {
        counters.begin();
        Idle idle = new Idle();
        Subject.Writer writer = subject.writer();
        Subject.Reader reader = subject.reader();
        int records = subject.records;
        for (int i = 0; i < records; i++) {
            SubjectState.push(writer, subject.record, idle);
            SubjectState.pop(reader, idle);
            if (i % SubjectState.ACK_EVERY == SubjectState.ACK_EVERY - 1) {
                reader.ack();
            }
        }
        reader.ack();
        counters.end(records);
    }
}
