package org.mmapqueue.bench;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/**
 * Counts what an invocation moved and what the heap paid for it, in the timed part alone. JMH turns the fields into
 * rates by the second of measured time. The GC profiler would count the untimed part as well, where the ring is filled
 * or drained.
 */
@AuxCounters(AuxCounters.Type.OPERATIONS)
@State(Scope.Thread)
public class Tally {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /** Records pushed, popped, or passed from one side to the other. */
    public long records;
    /** Bytes allocated meanwhile by all threads of the JVM. */
    public long allocated;

    private long before;

    void begin() {
        before = allocatedByAll();
    }

    void end(long moved) {
        records += moved;
        allocated += Math.max(0, allocatedByAll() - before);
    }

    private static long allocatedByAll() {
        long sum = 0;
        for (long bytes : THREADS.getThreadAllocatedBytes(THREADS.getAllThreadIds())) {
            sum += Math.max(0, bytes);
        }
        return sum;
    }
}
