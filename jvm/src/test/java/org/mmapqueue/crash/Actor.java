package org.mmapqueue.crash;

import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import org.mmapqueue.MmapQueue;

/** One thread of a process that will be killed: it does one thing after another until it is told to stop. */
abstract class Actor {
    /** The thread's number in the journal. */
    final int number;

    final Journal journal;
    final SplittableRandom random;

    Actor(int number, Journal journal, SplittableRandom random) {
        this.number = number;
        this.journal = journal;
        this.random = random;
    }

    /** Does one thing. */
    abstract void step(MmapQueue queue) throws InterruptedException;

    final boolean oneIn(int times) {
        return random.nextInt(times) == 0;
    }

    final void pause(int mostMicros) {
        if (mostMicros > 0) {
            LockSupport.parkNanos(random.nextLong(1000L * mostMicros));
        }
    }
}
