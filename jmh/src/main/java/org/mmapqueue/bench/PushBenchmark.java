package org.mmapqueue.bench;

import java.util.Collections;
import java.util.List;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/**
 * One producer alone. An invocation pushes as many records as the ring takes; the ring is emptied before each, untimed,
 * so no consumer runs beside the producer. What runs beside it is the contender's own: preparing segments, flushing.
 * The few segments that were prepared before the clock starts are a small share of the ring, and the same share for the
 * roofline.
 */
public class PushBenchmark extends Course {
    @Param({"1"})
    public int batch;

    private List<byte[]> group;

    @Override
    void opened() {
        group = Collections.nCopies(batch, record);
    }

    @Setup(Level.Invocation)
    public void makeRoom() {
        drain();
    }

    /** Pushes single records, or groups of {@code batch}. */
    @Benchmark
    public void push(Tally tally) {
        tally.begin();
        if (batch == 1) {
            fill(records);
            tally.end(records);
        } else {
            int groups = records / batch;
            pushGroups(groups);
            tally.end((long) groups * batch);
        }
    }

    private void pushGroups(int groups) {
        Idle idle = new Idle();
        for (int i = 0; i < groups; i++) {
            pushBatch(writer, group, idle);
        }
        inside += groups * batch;
    }
}
