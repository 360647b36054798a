package org.mmapqueue.bench;

import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/**
 * Producers and consumers at once. An invocation lets all of them go and ends when the last record has been popped, so
 * every record is counted and none is left behind. The threads live as long as the fork; to start them costs some
 * 100 µs of an invocation that takes tens of milliseconds.
 */
public class PipeBenchmark extends Course {
    @Param({"1"})
    public int producers;

    @Param({"1"})
    public int consumers;

    @Param({"1"})
    public int batch;

    private final AtomicLong popped = new AtomicLong();
    private Crew crew;
    private long goal;

    @Override
    void opened() {
        crew = new Crew();
        int each = records / producers / batch * batch;
        goal = (long) each * producers;
        for (int i = 0; i < producers; i++) {
            Contender.Writer mine = i == 0 ? writer : subject.writer();
            crew.add("producer-" + i, () -> produce(mine, each));
        }
        for (int i = 0; i < consumers; i++) {
            Contender.Reader mine = i == 0 ? reader : subject.reader();
            crew.add("consumer-" + i, () -> consume(mine));
        }
    }

    @Override
    void closing() {
        crew.dismiss();
    }

    /** Passes all records from the producers to the consumers. */
    @Benchmark
    public void pipe(Tally tally) {
        popped.set(0);
        tally.begin();
        crew.work();
        tally.end(goal);
        if (popped.get() != goal) {
            throw new IllegalStateException(popped.get() + " records came out of " + goal);
        }
    }

    private void produce(Contender.Writer mine, int count) {
        Idle idle = new Idle();
        if (batch == 1) {
            for (int i = 0; i < count; i++) {
                push(mine, record, idle);
            }
        } else {
            List<byte[]> group = Collections.nCopies(batch, record);
            for (int i = 0; i < count; i += batch) {
                pushBatch(mine, group, idle);
            }
        }
    }

    private void consume(Contender.Reader mine) {
        Idle idle = new Idle();
        int taken = 0;
        while (true) {
            int got = batch == 1 ? (mine.pop() ? 1 : 0) : mine.popBatch(batch);
            taken += got;
            if (got > 0 && taken < ACK_EVERY) {
                idle.reset();
                continue;
            }
            if (taken > 0) {
                mine.ack();
                popped.addAndGet(taken);
                taken = 0;
            }
            if (got == 0) {
                if (popped.get() >= goal) {
                    return;
                }
                idle.idle();
            }
        }
    }
}
