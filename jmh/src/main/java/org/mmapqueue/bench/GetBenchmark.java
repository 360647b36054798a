package org.mmapqueue.bench;

import java.util.SplittableRandom;
import org.mmapqueue.MessageHandler;
import org.openjdk.jmh.annotations.Benchmark;

/** Reads at random offsets of a full queue, one record with each call. The queue alone: the others have no index. */
public class GetBenchmark extends Course implements MessageHandler {
    private static final int GETS = 20_000;
    private final SplittableRandom random = new SplittableRandom(1);
    private QueueContender queue;
    private long first;
    private long bytes;

    @Override
    void opened() {
        queue = (QueueContender) subject;
        first = queue.endOffset();
        fill(records);
    }

    @Override
    public void onMessage(long offset, long timestampMicros, byte[] buffer, int start, int length, int attempts) {
        bytes += length;
    }

    /** Gets records as objects that the caller may keep. */
    @Benchmark
    public void get(Tally tally) {
        tally.begin();
        long sum = 0;
        for (int i = 0; i < GETS; i++) {
            sum += queue.get(first + random.nextInt(records));
        }
        check(sum);
        tally.end(GETS);
    }

    /** Gets them into the handler's hands, without an object for each. */
    @Benchmark
    public void getHandled(Tally tally) {
        tally.begin();
        bytes = 0;
        for (int i = 0; i < GETS; i++) {
            queue.get(first + random.nextInt(records), this);
        }
        check(bytes);
        tally.end(GETS);
    }

    private void check(long sum) {
        if (sum != (long) GETS * payload) {
            throw new IllegalStateException(sum + " bytes in " + GETS + " records of " + payload);
        }
    }
}
