package org.mmapqueue.support;

import static org.junit.jupiter.api.Assertions.fail;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import org.mmapqueue.concurrent.Signal;

/** Calls in other threads, and waiting for conditions; the limits only catch hangs. */
public final class Waiting {
    /** Longer than any wait that ends. */
    public static final Duration LONG = Duration.ofSeconds(60);

    private Waiting() {}

    /** A call in a thread of its own. */
    public static final class Running<T> {
        private final FutureTask<T> task;
        private final Thread thread;

        private Running(Callable<T> call) {
            this.task = new FutureTask<>(call);
            this.thread = new Thread(task, "test-call");
            this.thread.setDaemon(true);
            this.thread.start();
        }

        public Thread thread() {
            return thread;
        }

        public boolean isDone() {
            return task.isDone();
        }

        /** What the call returned; what it threw is thrown here. */
        public T result() throws Exception {
            try {
                return task.get(LONG.toSeconds(), TimeUnit.SECONDS);
            } catch (ExecutionException e) {
                if (e.getCause() instanceof Exception) {
                    throw (Exception) e.getCause();
                }
                throw (Error) e.getCause();
            } catch (TimeoutException e) {
                AssertionError hang = new AssertionError("the call hangs");
                hang.setStackTrace(thread.getStackTrace());
                throw hang;
            }
        }

        /** Returns when the call waits for a signal. */
        public Running<T> untilItWaits() {
            return untilItIsIn(Signal.class, "awaitNanos");
        }

        /** Returns when the call is in a method that a class calls. */
        public Running<T> untilItIsIn(Class<?> caller, String called) {
            until("the call waits or ends", () -> task.isDone() || isIn(thread, caller, called));
            return this;
        }
    }

    public static <T> Running<T> start(Callable<T> call) {
        return new Running<>(call);
    }

    /** Whether a thread is in a method that a class calls. Its state alone does not say what it waits for. */
    public static boolean isIn(Thread thread, Class<?> caller, String called) {
        StackTraceElement[] stack = thread.getStackTrace();
        for (int i = 1; i < stack.length; i++) {
            if (stack[i].getClassName().equals(caller.getName())) {
                return stack[i - 1].getMethodName().equals(called);
            }
        }
        return false;
    }

    public static void until(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + LONG.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                fail("not within the time limit: " + what);
            }
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                fail("interrupted while waiting until " + what);
            }
        }
    }
}
