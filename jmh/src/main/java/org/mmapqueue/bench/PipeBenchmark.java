package org.mmapqueue.bench;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Group;
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
 * Producers and consumers at once. The figure is the number of records that the consumers pop. Producers lead by at
 * most the records that fit into the ring. No invocation waits for another thread, so each thread can end an iteration
 * alone. The records queued at its end are drained, untimed, and none may be missing.
 */
@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
public class PipeBenchmark {
    /** The most records of an invocation with {@code batch} 1; a consumer acks as often. */
    private static final int STEP = SubjectState.ACK_EVERY;

    /** Threads that push: JMH needs the same number in {@code -tg consumers,producers}. */
    @Param({"1"})
    public int producers;

    /** Threads that pop. */
    @Param({"1"})
    public int consumers;

    /** Records of a call. */
    @Param({"1"})
    public int batch;

    private final AtomicInteger queued = new AtomicInteger();
    private int most;

    @Setup(Level.Trial)
    public void wrap(SubjectState subject, BenchmarkParams parameters) {
        int[] groups = parameters.getThreadGroups();
        if (!Arrays.equals(groups, new int[] {consumers, producers})) {
            throw new IllegalArgumentException("-tg " + Arrays.toString(groups) + ": expected consumers, producers = "
                    + consumers + ", " + producers);
        }
        most = subject.records - producers * Math.max(batch, STEP);
        subject.wrap();
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
        private List<byte[]> records;
        private Idle idle;

        @Setup(Level.Iteration)
        public void open(SubjectState subject, PipeBenchmark pipe) {
            if (writer == null) {
                writer = subject.threadWriter();
                records = Collections.nCopies(pipe.batch, subject.record);
            }
            idle = new Idle();
        }
    }

    /** One thread's reader. */
    @State(Scope.Thread)
    public static class Consumer {
        private Subject.Reader reader;
        private Idle idle;

        @Setup(Level.Iteration)
        public void open(SubjectState subject) {
            if (reader == null) {
                reader = subject.threadReader();
            }
            idle = new Idle();
        }
    }

    /** Pushes some records, or one batch; backs off when there is no room. */
    @Benchmark
    @Group("pipe")
    public void produce(SubjectState subject, Producer producer) {
        int pushed = 0;
        if (queued.get() < most) {
            pushed = batch == 1 ? push(producer.writer, subject.record) : pushBatch(producer);
            queued.addAndGet(pushed);
        }
        backOff(producer.idle, pushed);
    }

    private static int push(Subject.Writer writer, byte[] record) {
        int pushed = 0;
        while (pushed < STEP && writer.push(record)) {
            pushed++;
        }
        return pushed;
    }

    private int pushBatch(Producer producer) {
        return producer.writer.pushBatch(producer.records) ? batch : 0;
    }

    /** Pops some records, or one batch, and acks them; backs off when there is none. */
    @Benchmark
    @Group("pipe")
    public void consume(Consumer consumer, ThreadCounters counters, Control control) {
        Subject.Reader reader = consumer.reader;
        int popped = batch == 1 ? pop(reader) : popBatch(reader);
        if (popped > 0) {
            reader.ack();
            queued.addAndGet(-popped);
            counters.add(popped, control);
        }
        backOff(consumer.idle, popped);
    }

    private static int pop(Subject.Reader reader) {
        int popped = 0;
        while (popped < STEP && reader.pop()) {
            popped++;
        }
        return popped;
    }

    private int popBatch(Subject.Reader reader) {
        int popped = 0;
        int got;
        do {
            got = reader.popBatch(batch);
            popped += got;
        } while (got > 0 && popped < STEP);
        return popped;
    }

    private static void backOff(Idle idle, int moved) {
        if (moved == 0) {
            idle.idle();
        } else {
            idle.reset();
        }
    }
}
