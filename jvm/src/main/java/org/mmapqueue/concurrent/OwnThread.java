package org.mmapqueue.concurrent;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.mmapqueue.io.Threads;

/**
 * A background thread with one life: new, running, ending, ended, and no way back. After {@link #end} it cannot be
 * started. An interrupt by other code ends a pause, is logged, and ends nothing else. Safe for any number of threads.
 */
public final class OwnThread {
    /** The maximum wait after an interrupt. */
    private static final long LAST_NANOS = TimeUnit.SECONDS.toNanos(1);

    private enum State {
        NEW,
        RUNNING,
        ENDING,
        ENDED
    }

    private final Thread thread;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    // Guarded by the lock.
    private final List<Runnable> atEnd = new ArrayList<>();
    private boolean woken;
    private volatile State state = State.NEW;

    /**
     * Makes a daemon thread that does not run yet.
     *
     * @param body returns soon after {@link #isEnding}
     */
    public OwnThread(String name, Runnable body) {
        this.thread = new Thread(() -> run(body), name);
        this.thread.setDaemon(true);
    }

    private void run(Runnable body) {
        try {
            body.run();
        } finally {
            List<Runnable> last;
            lock.lock();
            try {
                state = State.ENDED;
                last = List.copyOf(atEnd);
                changed.signalAll();
            } finally {
                lock.unlock();
            }
            last.forEach(Runnable::run);
        }
    }

    /** Starts the thread; returns false, without an effect, if it was started or its end was requested. */
    public boolean start() {
        lock.lock();
        try {
            if (state != State.NEW) {
                return false;
            }
            state = State.RUNNING;
            boolean started = false;
            try {
                thread.start();
                started = true;
            } finally {
                state = started ? State.RUNNING : State.NEW;
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Whether the end was requested. */
    public boolean isEnding() {
        return state == State.ENDING || state == State.ENDED;
    }

    /** Whether the thread has ended, or can never start. */
    public boolean hasEnded() {
        return state == State.ENDED;
    }

    /**
     * Requests the end, and ends a pause. Does not wait.
     *
     * @return whether this call has ended a thread that was never started
     */
    public boolean end() {
        lock.lock();
        try {
            boolean wasNew = state == State.NEW;
            if (state == State.RUNNING) {
                state = State.ENDING;
            } else if (wasNew) {
                state = State.ENDED;
            }
            changed.signalAll();
            return wasNew;
        } finally {
            lock.unlock();
        }
    }

    /** Ends the present pause, or the next one. */
    public void wake() {
        lock.lock();
        try {
            woken = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Returns after a time, a {@link #wake}, a request to end, or an interrupt. Only for the thread itself. */
    public void pause(long nanos) {
        boolean isInterrupted = false;
        lock.lock();
        try {
            long left = nanos;
            while (state == State.RUNNING && !woken && left > 0) {
                left = changed.awaitNanos(left);
            }
            woken = false;
        } catch (InterruptedException e) {
            isInterrupted = state == State.RUNNING;
        } finally {
            lock.unlock();
        }
        if (isInterrupted) {
            Threads.wasInterrupted(); // without the lock: the log is the program's code, and may push
        }
    }

    /** Requests the end, and waits for it. Interrupts of the caller are dropped, as those of an own thread that ends. */
    public void endAndJoin() {
        end();
        boolean joined = false;
        while (!joined) {
            try {
                joined = hasEnded(Long.MAX_VALUE);
            } catch (InterruptedException e) {
                // the caller was interrupted to end a call of a file system, and waits for this thread
            }
        }
    }

    /**
     * Requests the end and waits for it; then interrupts the thread and waits for one more second. An interrupt of the
     * caller ends the first wait, and stays pending.
     *
     * @param most the maximum wait before the interrupt
     * @param abort called before the interrupt
     * @return whether the thread has ended
     */
    public boolean close(Duration most, Runnable abort) {
        end();
        boolean interrupted = false;
        boolean ended = false;
        try {
            ended = hasEnded(most.toNanos());
        } catch (InterruptedException e) {
            interrupted = true;
        }
        try {
            if (!ended) {
                abort.run();
                thread.interrupt();
                ended = hasEnded(LAST_NANOS);
            }
        } catch (InterruptedException e) {
            interrupted = true;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return ended || hasEnded();
    }

    private boolean hasEnded(long nanos) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long left = nanos;
            while (state != State.ENDED && left > 0) {
                left = changed.awaitNanos(left);
            }
            return state == State.ENDED;
        } finally {
            lock.unlock();
        }
    }

    /** Interrupts the thread, to end a call of a file system. */
    public void interrupt() {
        thread.interrupt();
    }

    /** Runs something on the thread when it has ended; here and now if it has ended. */
    public void whenEnded(Runnable last) {
        lock.lock();
        try {
            if (state != State.ENDED) {
                atEnd.add(last);
                return;
            }
        } finally {
            lock.unlock();
        }
        last.run();
    }
}
