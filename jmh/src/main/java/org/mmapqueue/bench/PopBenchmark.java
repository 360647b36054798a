package org.mmapqueue.bench;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/**
 * One consumer alone, checksums verified, acks included. The ring is filled before each invocation, untimed; the
 * invocation pops all of it.
 */
public class PopBenchmark extends Course {
    @Param({"1000"})
    public int batch;

    @Setup(Level.Invocation)
    public void fillRing() {
        drain();
        fill(records);
    }

    /** Pops without an allocation, one call for each record. */
    @Benchmark
    public void pop(Tally tally) {
        tally.begin();
        take(records);
        tally.end(records);
    }

    /** Pops objects that the caller may keep. */
    @Benchmark
    public void popMessage(Tally tally) {
        tally.begin();
        for (int i = 0; i < records; i++) {
            if (!reader.popMessage()) {
                throw new IllegalStateException("empty after " + i + " records of " + records);
            }
            if (i % ACK_EVERY == ACK_EVERY - 1) {
                reader.ack();
            }
        }
        reader.ack();
        inside -= records;
        tally.end(records);
    }

    /** Pops up to {@code batch} records with each call, without an allocation. */
    @Benchmark
    public void popBatch(Tally tally) {
        tally.begin();
        int taken = 0;
        while (taken < records) {
            taken += reader.popBatch(batch);
            reader.ack();
        }
        inside -= taken;
        tally.end(taken);
    }
}
