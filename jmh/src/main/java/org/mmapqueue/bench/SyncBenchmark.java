package org.mmapqueue.bench;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/**
 * Durable pushes: each returns when its record is on the disk. One thread shows what an fsync costs; many show what it
 * is worth to share one.
 */
public class SyncBenchmark extends Course {
    private static final int RECORDS_PER_THREAD = 256;
    private static final int MOST_RECORDS = 4096;

    /** Producers at once. */
    @Param({"1"})
    public int threads;

    private Crew crew;
    private int each;

    @Override
    void begin() {
        for (int i = 0; i < RECORDS_PER_THREAD; i++) {
            writer.pushSync(record);
        }
        inside += RECORDS_PER_THREAD;
        drain();
    }

    @Override
    void opened() {
        each = Math.min(RECORDS_PER_THREAD, MOST_RECORDS / threads);
        crew = new Crew();
        for (int i = 0; i < threads; i++) {
            Contender.Writer mine = i == 0 ? writer : subject.writer();
            crew.add("producer-" + i, () -> produce(mine));
        }
    }

    @Override
    void closing() {
        crew.dismiss();
    }

    @Override
    boolean recycled() {
        return !contender.equals("write+force");
    }

    @Setup(Level.Invocation)
    public void makeRoom() {
        if (recycled()) {
            drain();
        }
    }

    /** Pushes some hundred records, or some thousand, divided among the threads. */
    @Benchmark
    public void pushSync(Tally tally) {
        tally.begin();
        crew.work();
        inside += each * threads;
        tally.end((long) each * threads);
    }

    private void produce(Contender.Writer mine) {
        for (int i = 0; i < each; i++) {
            if (!mine.pushSync(record)) {
                throw new IllegalStateException("full after " + i + " records");
            }
        }
    }
}
