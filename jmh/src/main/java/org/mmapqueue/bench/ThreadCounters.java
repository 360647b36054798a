package org.mmapqueue.bench;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.infra.Control;

/**
 * Counts the records and the allocated bytes of one of several benchmark threads; JMH adds their rates up. Named as in
 * {@link RecordCounters}, without the subject's own threads.
 */
@AuxCounters(AuxCounters.Type.OPERATIONS)
@State(Scope.Thread)
public class ThreadCounters {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /** Records that this thread counts: a consumer those that it pops, a producer of durable pushes its own. */
    public long records;
    /** Bytes that this thread allocated. */
    public long allocated;

    private long before;

    @Setup(Level.Iteration)
    public void begin() {
        before = allocatedByThread();
    }

    @TearDown(Level.Iteration)
    public void end() {
        allocated = allocatedByThread() - before;
    }

    /** Counts records of an invocation, unless it is one before or after the measurement, while threads wait. */
    void add(int moved, Control control) {
        if (control.startMeasurement && !control.stopMeasurement) {
            records += moved;
        }
    }

    private static long allocatedByThread() {
        return THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
    }
}
