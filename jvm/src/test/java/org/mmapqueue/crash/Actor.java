package org.mmapqueue.crash;

import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import org.mmapqueue.MmapQueue;

/** One thread of a process that will be killed: it repeats its step until the process closes the queue. */
abstract class Actor {
    /** Identifies the thread in the journal. */
    final int number;

    final Journal journal;
    final SplittableRandom random;

    Actor(int number, Journal journal, SplittableRandom random) {
        this.number = number;
        this.journal = journal;
        this.random = random;
    }

    abstract void step(MmapQueue queue) throws InterruptedException;

    /** True with a probability of 1 / n. */
    final boolean oneIn(int n) {
        return random.nextInt(n) == 0;
    }

    final void pause(int maxMicros) {
        if (maxMicros > 0) {
            LockSupport.parkNanos(random.nextLong(1000L * maxMicros));
        }
    }
}
