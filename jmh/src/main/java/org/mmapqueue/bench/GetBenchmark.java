package org.mmapqueue.bench;

import java.util.SplittableRandom;
import org.mmapqueue.MessageHandler;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** Reads at random offsets of a full queue, one record with each call. The baselines have no such reads. */
@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
public class GetBenchmark implements MessageHandler {
    private static final int GETS = 20_000;
    private final SplittableRandom random = new SplittableRandom(1);
    private QueueSubject queue;
    private long first;
    private long bytes;

    @Setup(Level.Trial)
    public void fill(SubjectState subject) {
        subject.wrap();
        queue = subject.queue();
        first = queue.endOffset();
        subject.fill(subject.records);
    }

    @Override
    public void onMessage(long offset, long timestampMicros, byte[] buffer, int start, int length, int attempts) {
        bytes += length;
    }

    /** Gets records as objects that the caller may keep. */
    @Benchmark
    public void get(SubjectState subject, RecordCounters counters) {
        counters.begin();
        long sum = 0;
        for (int i = 0; i < GETS; i++) {
            sum += queue.get(first + random.nextInt(subject.records));
        }
        check(sum, subject.payload);
        counters.end(GETS);
    }

    /** Gets records by a handler, without an object for each. */
    @Benchmark
    public void getHandled(SubjectState subject, RecordCounters counters) {
        counters.begin();
        bytes = 0;
        for (int i = 0; i < GETS; i++) {
            queue.get(first + random.nextInt(subject.records), this);
        }
        check(bytes, subject.payload);
        counters.end(GETS);
    }

    private static void check(long sum, int payload) {
        if (sum != (long) GETS * payload) {
            throw new IllegalStateException(sum + " bytes in " + GETS + " records of " + payload);
        }
    }
}
