package org.mmapqueue.bench;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/**
 * Counts records and allocated bytes of the timed part alone; JMH reports the fields as rates by the second. The GC
 * profiler would count the untimed part as well, where the ring is filled or drained.
 */
@AuxCounters(AuxCounters.Type.OPERATIONS)
@State(Scope.Thread)
public class RecordCounters {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /** Records pushed, popped, or passed from producers to consumers. */
    public long records;
    /** Bytes that all threads of the JVM allocated in the timed part. */
    public long allocated;

    private long before;

    /** Starts the timed part of an invocation. */
    void begin() {
        before = allocatedByAll();
    }

    /** Ends it. */
    void end(long moved) {
        records += moved;
        allocated += Math.max(0, allocatedByAll() - before);
    }

    static long allocatedByAll() {
        long sum = 0;
        for (long bytes : THREADS.getThreadAllocatedBytes(THREADS.getAllThreadIds())) {
            sum += Math.max(0, bytes);
        }
        return sum;
    }
}
