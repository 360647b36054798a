package org.mmapqueue.bench;

import java.io.IOException;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A new subject for each invocation: each record is the first of its pages and files. An invocation moves as many
 * records as fit into the ring. Opening and closing are untimed.
 */
@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
public class NewRingBenchmark {

    /** An empty subject for each invocation. */
    @State(Scope.Benchmark)
    public static class Empty {
        @Setup(Level.Invocation)
        public void renew(SubjectState subject) throws IOException {
            subject.renew();
        }
    }

    /** A new subject with the records of an invocation. */
    @State(Scope.Benchmark)
    public static class Filled {
        @Setup(Level.Invocation)
        public void renew(SubjectState subject) throws IOException {
            subject.renew();
            subject.fill(subject.records);
        }
    }

    /** Pushes one by one. */
    @Benchmark
    public void push(SubjectState subject, Empty empty, RecordCounters counters) {
        counters.begin();
        subject.fill(subject.records);
        counters.end(subject.records);
    }

    /** Pops one by one what was just pushed. */
    @Benchmark
    public void pop(SubjectState subject, Filled filled, RecordCounters counters) {
        counters.begin();
        subject.take(subject.records);
        counters.end(subject.records);
    }

    /** One thread pushes while another one pops. */
    @Benchmark
    public void pipe(SubjectState subject, Empty empty, RecordCounters counters) throws InterruptedException {
        counters.begin();
        subject.addQueued(subject.records);
        Thread producer = new Thread(() -> subject.push(subject.records));
        producer.start();
        subject.take(subject.records);
        producer.join();
        counters.end(subject.records);
    }
}
