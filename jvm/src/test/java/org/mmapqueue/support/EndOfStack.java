package org.mmapqueue.support;

import static org.junit.jupiter.api.Assertions.assertTrue;

/** Runs a step in each frame from the end of a stack upwards, until no step overflows the stack. */
public final class EndOfStack {
    private static final int ENOUGH = 40;
    private static final long STACK_BYTES = 256 << 10;

    private final Step step;
    private int overflows;
    private Throwable failure;

    private EndOfStack(Step step) {
        this.step = step;
    }

    /** What is done in a frame. It fails with a VirtualMachineError where there is no room for it. */
    @FunctionalInterface
    public interface Step {
        void run() throws Exception;
    }

    /** Runs the steps; some have failed. Returns what else one of them has thrown, which ends it; else null. */
    public static Throwable reach(Step step) throws InterruptedException {
        EndOfStack end = new EndOfStack(step);
        Thread thread = new Thread(null, end::run, "deep", STACK_BYTES);
        thread.start();
        thread.join();
        assertTrue(end.overflows > 0);
        return end.failure;
    }

    private void run() {
        try {
            recurse();
        } catch (Throwable e) {
            failure = e;
        }
    }

    @SuppressWarnings("InfiniteRecursion") // to the end of the stack
    private int recurse() throws Exception {
        int succeeded = 0;
        try {
            succeeded = recurse();
        } catch (VirtualMachineError e) {
            overflows++; // or an InternalError that has one as its cause
        }
        if (succeeded > ENOUGH) {
            return succeeded;
        }
        try {
            step.run();
            succeeded++;
        } catch (VirtualMachineError e) {
            overflows++;
            succeeded = 0;
        }
        return succeeded;
    }
}
